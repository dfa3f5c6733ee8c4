package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxLine is the widest that prose gets on a terminal: longer lines are hard to read.
const maxLine = 100

// Least widths of text before columns are left out. The first column says what a row is
// about; our own words are few.
const (
	minFirst = 30
	minName  = 20
	minShort = 8 // if no more columns can be left out
)

// inseparable are words that must not begin a line after a number.
var inseparable = map[string]bool{"%": true, "µs": true, "ms": true, "s": true}

// gutter is the space between columns.
const gutter = 2

// Terminal writes a document for a terminal: prose is wrapped, tables are aligned and
// fitted to opt.Width. In a table that is too wide, names and words are shortened and
// then columns left out, largest Minor first; a line says which.
func Terminal(w io.Writer, d *Document, opt Options) error {
	t := &terminal{opt: opt}
	t.prose(d.Title, "", sgrBold)
	for _, s := range d.shown(opt) {
		blocks := s.text()
		if s.Title != "" {
			t.WriteByte('\n')
			t.prose(Plain(s.Title), "", sgrBold)
		}
		for i, b := range blocks {
			if s.Title == "" || i > 0 {
				t.WriteByte('\n')
			}
			t.block(b)
		}
	}
	if left := d.left(opt); left != nil {
		t.WriteByte('\n')
		t.prose(left, "", sgrFaint)
	}
	if opt.Height > 0 && bytes.Count(t.Bytes(), []byte("\n")) >= opt.Height {
		last := d.Last
		if len(last) == 0 {
			last = d.Title
		}
		t.WriteByte('\n')
		t.prose(last, "", sgrBold)
	}
	_, err := w.Write(t.Bytes())
	return err
}

type terminal struct {
	bytes.Buffer
	opt Options
}

// SGR parameters that turn on bold type and colours.
const (
	sgrBold   = "1"
	sgrFaint  = "2"
	sgrRed    = "31"
	sgrGreen  = "32"
	sgrYellow = "33"
)

var toneColors = [...]string{Neutral: "", Good: sgrGreen, Warn: sgrYellow, Bad: sgrRed}

// paint gives text a colour or type, if wanted.
func (t *terminal) paint(text, sgr string) string {
	if !t.opt.Color || sgr == "" || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// block writes a block.
func (t *terminal) block(b Block) {
	switch b := b.(type) {
	case Paragraph:
		t.prose(Text(b), "", "")
	case *List:
		for i, item := range b.Items {
			mark := "- "
			if b.Ordered {
				mark = fmt.Sprintf("%d. ", i+1)
			}
			t.prose(item, mark, "")
		}
	case *Note:
		label := "note: "
		if b.Tone >= Warn {
			label = "warning: "
		}
		t.prose(append(Text{{text: label, style: strong, tone: b.Tone}}, b.Text...), "", "")
	case Code:
		for line := range strings.Lines(string(b)) {
			fmt.Fprintf(t, "    %s\n", printable(strings.TrimRight(line, "\r\n")))
		}
	case *Table:
		t.table(b.layout(t.opt.Top))
	}
}

// prose writes a text, wrapped, after a mark; later lines are indented by the width of
// the mark. base is the style of spans without their own.
func (t *terminal) prose(text Text, mark, base string) {
	limit := maxLine
	if t.opt.Width > 0 {
		limit = min(limit, t.opt.Width)
	}
	t.WriteString(mark)
	indent := strings.Repeat(" ", width(mark))
	at, first := width(mark), true
	for _, word := range t.words(text, base, limit-width(mark)) {
		switch {
		case first:
		case at+1+word.width > limit:
			t.WriteString("\n" + indent)
			at = width(indent)
		default:
			t.WriteByte(' ')
			at++
		}
		t.WriteString(word.text)
		at, first = at+word.width, false
	}
	t.WriteByte('\n')
}

// word is text without a line break in it.
type word struct {
	text  string // painted
	width int    // in character cells
}

// words splits a text. A word wider than a line is a name, and shortened.
func (t *terminal) words(text Text, base string, limit int) []word {
	var all []word
	open := false // the next span continues the last word
	for _, s := range text {
		sgr := base
		if s.style == strong {
			sgr = sgrBold
		}
		if c := toneColors[s.tone]; c != "" {
			sgr = strings.TrimPrefix(sgr+";"+c, ";")
		}
		shown := printable(s.text)
		if s.style == name {
			shown = shorten(shown, maxName, true)
		}
		for i, field := range strings.Split(shown, " ") {
			if field == "" {
				open = false
				continue
			}
			field = shorten(field, max(limit, 2), true)
			if between := " "; i == 0 && open || len(all) > 0 && inseparable[strings.TrimRight(field, ".,;:)")] {
				if i == 0 && open {
					between = ""
				}
				last := &all[len(all)-1]
				last.text += between + t.paint(field, sgr)
				last.width += width(between + field)
			} else {
				all = append(all, word{t.paint(field, sgr), width(field)})
			}
			open = true
		}
	}
	return all
}

// table writes a table.
func (t *terminal) table(g *grid) {
	if g.table.Title != "" {
		t.prose(Plain(g.table.Title+":"), "", "")
	}
	columns, widths, left := g.fit(t.opt.Width)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = t.cell(shorten(c.title, widths[i], false), widths[i], c.right(), sgrBold)
	}
	t.row(line)
	for i := range columns {
		line[i] = t.paint(strings.Repeat("─", widths[i]), sgrFaint)
	}
	t.row(line)
	for row := range g.columns[0].cells {
		for i, c := range columns {
			cell := c.cells[row]
			line[i] = t.cell(shorten(cell.text, widths[i], c.Kind == Names), widths[i], c.right(), toneColors[cell.tone])
		}
		t.row(line)
	}
	if g.more != "" {
		t.prose(Plain("… "+g.more), "", sgrFaint)
	}
	if len(left) > 0 {
		t.prose(Plain("(columns left out at this width: "+strings.Join(left, ", ")+")"), "", sgrFaint)
	}
}

// cell pads a text to a width; the padding has no colour.
func (t *terminal) cell(text string, to int, right bool, sgr string) string {
	space := strings.Repeat(" ", max(to-width(text), 0))
	if right {
		return space + t.paint(text, sgr)
	}
	return t.paint(text, sgr) + space
}

// row writes a line of cells.
func (t *terminal) row(cells []string) {
	line := strings.Join(cells, strings.Repeat(" ", gutter))
	t.WriteString(strings.TrimRight(line, " ") + "\n")
}

// fit returns the columns that fit on the terminal, their widths, and the titles of the
// others. Without a limit all fit.
func (g *grid) fit(limit int) (columns []*gridColumn, widths []int, left []string) {
	if limit <= 0 {
		limit = 1 << 30
	}
	byMinor := make([]int, len(g.columns))
	for i := range byMinor {
		byMinor[i] = i
	}
	slices.SortStableFunc(byMinor, func(a, b int) int { return g.columns[a].Minor - g.columns[b].Minor })
	chosen, least := make([]bool, len(g.columns)), -gutter
	for _, i := range byMinor {
		c := &g.columns[i]
		needs := c.least() + gutter
		if i == 0 || c.Kind == Words {
			needs = max(needs, min(c.natural(), minFirst)+gutter)
		}
		if c.Minor == 0 || least+needs <= limit {
			chosen[i], least = true, least+needs
		} else {
			left = append(left, c.title)
		}
	}
	for i := range g.columns {
		if chosen[i] {
			columns, widths = append(columns, &g.columns[i]), append(widths, g.columns[i].natural())
		}
	}
	slices.Reverse(left)
	shrink(columns, widths, limit, (*gridColumn).least)
	shrink(columns, widths, limit, (*gridColumn).shortest) // all of them are needed; better too wide than wrong
	return columns, widths, left
}

// shrink narrows the widest text columns until all fit, or none is wider than its least
// width.
func shrink(columns []*gridColumn, widths []int, limit int, least func(*gridColumn) int) {
	for {
		total, widest := -gutter, -1
		for i, c := range columns {
			total += widths[i] + gutter
			if widths[i] > least(c) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if total <= limit || widest < 0 {
			return
		}
		widths[widest]--
	}
}

// natural returns a column's width if there is room.
func (c *gridColumn) natural() int {
	w := width(c.title)
	for _, cell := range c.cells {
		w = max(w, width(cell.text))
	}
	if c.Kind == Names {
		w = min(w, max(width(c.title), maxName))
	}
	return w
}

// least returns how far a column can be narrowed. Figures are never cut.
func (c *gridColumn) least() int {
	w := c.natural()
	if c.Kind.numeric() || c.Right {
		return w
	}
	return min(w, max(minName, width(c.title)))
}

// shortest is least if even illegible text is acceptable.
func (c *gridColumn) shortest() int {
	w := c.least()
	if c.Kind.numeric() || c.Right {
		return w
	}
	return min(w, max(minShort, width(c.title)))
}
