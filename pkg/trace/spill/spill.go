// Package spill is what goes to disk: it puts rows of whole numbers in order that
// may be more than memory holds, and writes files that appear whole or not at all (File).
//
// Rows come as columns, some ten thousand at a time, and are written as a run:
// sorted by its maker, cut into blocks of at most BlockRows rows and each column
// of a block packed into as few bytes a row as its values need. A row of a trace
// takes 12 to 20 bytes so. Runs go to a Store, which keeps so many bytes in
// memory as it may and puts all others into a temporary file. Merge reads runs
// side by side and hands out their rows in order, a block of each open run at a
// time: what it needs is in proportion to the runs that overlap, and where these
// are too many it merges some of them to longer ones first.
//
// Why sorting, and not sweeping over the input once more: finding out what an
// export holds takes reading all of it, and the rows it is made of are then at
// hand, in a fifth of the bytes that they take in SQLite. Writing and reading
// those costs a tenth of decoding the export a second time, and nothing depends
// on the order of the input being a good one: rows in any order take one pass
// more at the most for each thousandfold of memory.
//
// # Order
//
// The first three columns of all rows say their order: Key ascending, of equal
// ones Then descending, of equal ones those of the run with the lower Order
// first, and in runs of one Order, Seq ascending.
//
// # Blocks
//
// A block is the number of its rows and of its columns, 16 bits each, and then
// the columns one after the other: a byte with the number of bytes that a value
// takes, 0 to 8, plus nullable where None occurs; the least value, 64 bits; and
// the values less the least. In a nullable column 0 is None and all other values
// are one higher. Of Then the difference to Key is stored, of Seq that to the
// place in the block. Numbers have their low byte first; a block ends with eight
// bytes to spare, so that any value can be loaded as one number.
package spill

import "math"

// The columns that define the order of rows.
const (
	Key     = iota // rows are in ascending order of it
	Then           // larger first, for equal Keys
	Seq            // smaller first, within one Order
	Payload        // the first column that is not part of the order
)

// None stands for a missing value, in columns after Seq. It takes no more bytes than
// other values.
const None = int64(math.MinInt64)

// Default limits on what is kept in memory, in bytes.
const (
	DefaultBudget = 512 << 20 // of a process that reads traces
	DefaultMemory = 64 << 20  // of an analysis
)

// BlockRows is the most rows of a block.
const BlockRows = 1024

// Rows holds rows as columns of equal length. When written, a column after Seq may be
// nil, which means that all values are None. A nil Seq is the place in the run.
type Rows [][]int64

// Len returns the number of rows.
func (r Rows) Len() int { return len(r[Key]) }

// Slice returns rows i to j.
func (r Rows) Slice(i, j int) Rows {
	s := make(Rows, len(r))
	for c := range r {
		if r[c] != nil {
			s[c] = r[c][i:j]
		}
	}
	return s
}
