package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is what the values of a column are, which decides how they are shown.
type Kind int8

// The kinds.
const (
	Words    Kind = iota // our own text
	Names                // names from traces
	Duration             // microseconds; a unit is chosen for the column and shown in its title
	Ratio                // a ratio, shown in percent
	Count                // an integer
	Figure               // a number without a unit, such as a mean count
)

// kinds are the names of the kinds in the argument of Columns.
var kinds = []string{"words", "names", "duration", "ratio", "count", "figure"}

// numeric reports whether values of a kind are numbers.
func (k Kind) numeric() bool { return k >= Duration }

// Column describes a column of a table.
type Column struct {
	Title string // without a unit; renderers add it
	Kind  Kind   // of all its cells
	// Minor says how early the column is left out if there is no room: largest first; 0
	// never.
	Minor int
	// Signed columns hold changes: growth has a plus sign.
	Signed bool
	// Adds: the values of several rows can be added up in the row that stands for those
	// not shown.
	Adds bool
	// Right aligns words to the right, like numbers.
	Right bool
}

// Columns parses columns: titles, each with a colon, the name of its kind, and
// optionally adds, right, signed and a number for Minor, as in "cause: names, per step:
// duration adds 1".
func Columns(text string) (all []Column) {
	for _, one := range strings.Split(text, ", ") {
		title, words, _ := strings.Cut(one, ": ")
		c := Column{Title: title}
		for _, word := range strings.Fields(words) {
			kind := slices.Index(kinds, word)
			switch {
			case kind >= 0:
				c.Kind = Kind(kind)
			case word == "adds":
				c.Adds = true
			case word == "right":
				c.Right = true
			case word == "signed":
				c.Signed = true
			default:
				minor, err := strconv.Atoi(word)
				if err != nil {
					panic("BUG: a column is " + word)
				}
				c.Minor = minor
			}
		}
		all = append(all, c)
	}
	return all
}

// Table is a table. If Top is set, rows are in order of importance.
type Table struct {
	Title   string   // "" if there is none
	Columns []Column // the first one says what a row is about
	Rows    [][]Cell // one cell per column (Row)
	// Top is how many rows are shown by default, 0 for all. If a column Adds, one more
	// row has the sum of the others.
	Top int
	// OneUnit shows all durations of the table in the same unit, so that columns can be
	// compared.
	OneUnit bool
	// More says where hidden rows can be seen, after "12 more rows".
	More string
}

// Row adds a row, with one cell per column.
func (t *Table) Row(cells ...Cell) {
	if len(cells) != len(t.Columns) {
		panic("BUG: a row has not as many cells as its table has columns")
	}
	t.Rows = append(t.Rows, cells)
}

// Cell is a value of a table. The zero value is missing and shown as "-".
type Cell struct {
	text      string
	low, high float64
	kind      cellKind
	tone      Tone
}

type cellKind int8

const (
	missing cellKind = iota
	words
	label // our own words, even in a column of names
	number
	interval
)

// Str returns a cell of words or of a name.
func Str(s string) Cell { return Cell{text: s, kind: words} }

// Label returns a cell of our own words in a column of names.
func Label(s string) Cell { return Cell{text: s, kind: label} }

// Num returns a number in the unit of its column. NaN is missing.
func Num(x float64) Cell {
	if math.IsNaN(x) {
		return Cell{}
	}
	return Cell{low: x, high: x, kind: number}
}

// Int returns an integer.
func Int[T int | int32 | int64](n T) Cell { return Num(float64(n)) }

// Opt returns a number, missing if x is nil.
func Opt(x *float64) Cell {
	if x == nil {
		return Cell{}
	}
	return Num(*x)
}

// Range returns an interval. An infinite end is unknown and shown as "?".
func Range(low, high float64) Cell { return Cell{low: low, high: high, kind: interval} }

// With returns the cell with a tone.
func (c Cell) With(t Tone) Cell {
	c.tone = t
	return c
}
