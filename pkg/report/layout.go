package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Options say how a document is rendered.
type Options struct {
	// Width is the terminal's width in character cells, 0 for no limit.
	Width int
	// Height is the terminal's number of lines, 0 for no limit. If a document is
	// longer, the answer is repeated at its end, which stays in sight.
	Height int
	// Color allows colours and bold type on a terminal.
	Color bool
	// Top is how many rows are shown of tables that have a limit, 0 for each table's
	// own limit.
	Top int
	// Brief leaves out sections that are details, and says so. More says how to see
	// them.
	Brief bool
	More  Text
}

// shown returns the sections of a text rendering.
func (d *Document) shown(opt Options) (all []*Section) {
	for _, s := range d.Sections {
		if len(s.text()) > 0 && !(s.Detail && opt.Brief) {
			all = append(all, s)
		}
	}
	return all
}

// left names the sections that a brief rendering leaves out, nil if there are none.
func (d *Document) left(opt Options) Text {
	var names []string
	for _, s := range d.Sections {
		if len(s.text()) > 0 && s.Detail && opt.Brief {
			title, _, _ := strings.Cut(s.Title, ": ")
			title, _, _ = strings.Cut(title, " (")
			names = append(names, title)
		}
	}
	if names == nil {
		return nil
	}
	return append(Plain("Not shown: "+strings.Join(names, ", ")+". "), opt.More...)
}

// Renderer writes documents in one format.
type Renderer func(io.Writer, *Document, Options) error

// grid is a table as it is shown: columns of strings with titles.
type grid struct {
	table   *Table
	columns []gridColumn
	more    string // what is not shown, "" if everything is
}

type gridColumn struct {
	*Column
	title string // with its unit
	cells []gridCell
}

// gridCell is a cell: printable, but not escaped.
type gridCell struct {
	text string
	tone Tone
	name bool // a name from a trace
}

// layout chooses the rows and formats their cells. top is Options.Top.
func (t *Table) layout(top int) *grid {
	rows, more := t.shown(top)
	g := &grid{table: t, more: more}
	var all []float64
	for i := range t.Columns {
		if t.Columns[i].Kind == Duration {
			all = numbers(rows, i, all)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Minor > 0 && !slices.ContainsFunc(rows, func(row []Cell) bool { return row[i].kind >= number || row[i].text != "" }) {
			continue
		}
		own := numbers(rows, i, nil)
		s := scaleOf(own, c.Kind == Duration)
		if t.OneUnit && c.Kind == Duration {
			s = scaleOf(all, true)
		}
		col := gridColumn{Column: c, title: printable(c.Title)}
		if c.Kind == Duration && len(own) > 0 {
			col.title += " (" + s.unit.name + ")"
		}
		for _, row := range rows {
			col.cells = append(col.cells, gridCell{s.cell(c, &row[i]), row[i].tone, c.Kind == Names && row[i].kind == words})
		}
		g.columns = append(g.columns, col)
	}
	return g
}

// numbers appends the numbers of a column.
func numbers(rows [][]Cell, column int, to []float64) []float64 {
	for _, row := range rows {
		if c := &row[column]; c.kind >= number {
			if to = append(to, c.low); c.high != c.low {
				to = append(to, c.high)
			}
		}
	}
	return to
}

// shown returns the rows to show, and a remark about the others.
func (t *Table) shown(top int) (rows [][]Cell, more string) {
	limit := t.Top
	if limit > 0 && top > 0 {
		limit = top
	}
	hidden := len(t.Rows) - limit
	if limit == 0 || hidden <= 1 { // one more row takes no more room than the remark
		return t.Rows, ""
	}
	rows = t.Rows[:limit:limit]
	if rest, ok := t.sum(t.Rows[limit:]); ok {
		return append(rows, rest), t.More
	}
	more = fmt.Sprintf("%d more rows", hidden)
	if t.More != "" {
		more += "; " + t.More
	}
	return rows, more
}

// sum returns one row for several, and whether any column adds up.
func (t *Table) sum(rows [][]Cell) ([]Cell, bool) {
	total, adds := make([]Cell, len(t.Columns)), false
	for i := range t.Columns {
		c := &t.Columns[i]
		if !c.Adds {
			if !c.Kind.numeric() {
				total[i] = Str("")
			}
			continue
		}
		adds = true
		for _, row := range rows {
			if row[i].kind == number {
				total[i] = Num(total[i].low + row[i].low)
			}
		}
	}
	if total[0].kind == words {
		total[0] = Label(fmt.Sprintf("(%d others)", len(rows)))
	}
	return total, adds
}

// right reports whether a column is right-aligned.
func (c *Column) right() bool { return c.Right || c.Kind.numeric() }

// cond makes widths independent of the locale: characters of ambiguous width are
// narrow.
var cond = &runewidth.Condition{StrictEmojiNeutral: true}

// width returns the number of terminal cells of a text.
func width(s string) int { return cond.StringWidth(s) }

// pad pads a text to a width.
func pad(s string, to int, right bool) string {
	if right {
		return cond.FillLeft(s, to)
	}
	return cond.FillRight(s, to)
}

// Short returns the name of a kernel, call or range for a sentence: a long one loses
// its middle. Tables, and data for programs, have full names.
func Short(name string) string { return shorten(name, maxName, true) }

// shorten cuts a text to a width: in the middle for a name, whose ends say most, else
// at the end.
func shorten(s string, to int, middle bool) string {
	const mark = "…"
	if width(s) <= to {
		return s
	}
	if !middle {
		return cond.Truncate(s, to, mark)
	}
	tail := (to - 1) / 2
	return cond.Truncate(s, to-tail, mark) + cond.TruncateLeft(s, width(s)-tail, "")
}
