package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is what the values of a column are, and so how they are shown.
type Kind int8

// The kinds.
const (
	Words    Kind = iota // text of ours
	Names                // names out of traces
	Duration             // microseconds; the unit is chosen for the column, and stands in its head
	Ratio                // a share, shown in percent
	Count                // a whole number
	Figure               // a number without a unit, such as a mean count
)

// kinds are the names of the kinds in what Columns reads.
var kinds = []string{"words", "names", "duration", "ratio", "count", "figure"}

// numeric reports whether values of a kind are numbers.
func (k Kind) numeric() bool { return k >= Duration }

// Column describes a column of a table.
type Column struct {
	Title string // without a unit, which the renderers add
	Kind  Kind   // of all its cells
	// Minor says how soon the column is left out where there is no room: those with
	// the largest first, those with 0 never.
	Minor int
	// Signed columns hold changes: what grew has a plus sign.
	Signed bool
	// Adds says that the values of several rows can be added up, to those of a row
	// that stands for the ones not shown.
	Adds bool
	// Right sets words to the right, as numbers are.
	Right bool
}

// Columns reads columns: titles, each with a colon and the name of its kind, and after that adds,
// right, signed, and a number for Minor, as in "cause: names, per step: duration adds 1".
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

// Table is a table. Rows are in the order of importance where Top is set.
type Table struct {
	Title   string   // "" for none
	Columns []Column // the first one says what a row is about
	Rows    [][]Cell // as many cells each as there are columns (Row)
	// Top is how many rows are shown where the reader does not say, 0 for all. What
	// the others add up to is shown in one more row, where a column Adds.
	Top int
	// OneUnit shows all durations of the table in the same unit: those of different
	// columns are to be compared.
	OneUnit bool
	// More says where rows that are not shown can be seen, after "12 more rows".
	More string
}

// Row adds a row, a cell for each column.
func (t *Table) Row(cells ...Cell) {
	if len(cells) != len(t.Columns) {
		panic("BUG: a row has not as many cells as its table has columns")
	}
	t.Rows = append(t.Rows, cells)
}

// Cell is a value of a table. The zero value is missing, and shown as "-".
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
	label // words of ours, in a column of names, too
	number
	interval
)

// Str is a cell of words or of a name.
func Str(s string) Cell { return Cell{text: s, kind: words} }

// Label is a cell of our words in a column of names.
func Label(s string) Cell { return Cell{text: s, kind: label} }

// Num is a number, of the unit that its column says. NaN is missing.
func Num(x float64) Cell {
	if math.IsNaN(x) {
		return Cell{}
	}
	return Cell{low: x, high: x, kind: number}
}

// Int is a whole number.
func Int[T int | int32 | int64](n T) Cell { return Num(float64(n)) }

// Opt is a number that may be missing.
func Opt(x *float64) Cell {
	if x == nil {
		return Cell{}
	}
	return Num(*x)
}

// Range is an interval. An infinite end is not known, and shown as "?".
func Range(low, high float64) Cell { return Cell{low: low, high: high, kind: interval} }

// With returns the cell with a tone.
func (c Cell) With(t Tone) Cell {
	c.tone = t
	return c
}
