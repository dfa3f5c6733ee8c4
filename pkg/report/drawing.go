package report

import "github.com/hostbound/hostbound/pkg/report/figure"

// Drawing is a figure with the table of what it shows. Text renderers show the table
// instead, or nothing.
type Drawing struct {
	Title string      // what it is about
	Alt   string      // what it shows, in a sentence, for readers who do not see it
	Plot  figure.Plot // what is drawn
	Table *Table      // the figures in the plot
	// Extra: the table has nothing that readers of text need.
	Extra bool
}

func (*Drawing) block() {}

// Figure adds a figure with its table, which text renderers show instead.
func (s *Section) Figure(title, alt string, plot figure.Plot, table *Table) {
	s.Blocks = append(s.Blocks, &Drawing{Title: title, Alt: alt, Plot: plot, Table: table})
}

// Extra adds a figure with its table; text renderers show neither.
func (s *Section) Extra(title, alt string, plot figure.Plot, table *Table) {
	s.Blocks = append(s.Blocks, &Drawing{Title: title, Alt: alt, Plot: plot, Table: table, Extra: true})
}

// text returns the blocks of a section without drawings.
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
