package report

import "github.com/hostbound/hostbound/pkg/report/figure"

// Drawing is a figure with the table of what it shows. Renderers of text have the table
// in its place, or nothing.
type Drawing struct {
	Title string      // what it is of
	Alt   string      // what it shows, in a sentence, for those who do not see it
	Plot  figure.Plot // what is drawn
	Table *Table      // the figures that it shows
	// Extra says that the table has nothing that those who read text look for.
	Extra bool
}

func (*Drawing) block() {}

// Figure adds a figure with its table, which renderers of text show alone.
func (s *Section) Figure(title, alt string, plot figure.Plot, table *Table) {
	s.Blocks = append(s.Blocks, &Drawing{Title: title, Alt: alt, Plot: plot, Table: table})
}

// Extra adds a figure with its table, of which renderers of text show nothing.
func (s *Section) Extra(title, alt string, plot figure.Plot, table *Table) {
	s.Blocks = append(s.Blocks, &Drawing{Title: title, Alt: alt, Plot: plot, Table: table, Extra: true})
}

// text are the blocks of a section without drawings.
func (s *Section) text() (blocks []Block) {
	for _, b := range s.Blocks {
		f, ok := b.(*Drawing)
		switch {
		case !ok:
			blocks = append(blocks, b)
		case !f.Extra:
			blocks = append(blocks, f.Table)
		}
	}
	return blocks
}
