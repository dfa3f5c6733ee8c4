// Package spill is for data that goes to disk. It sorts rows of integers that may not
// fit into memory, and writes files that appear whole or not at all (File).
//
// Rows arrive as columns, some ten thousand at a time, and are written as a run: sorted
// by its maker, cut into blocks of at most BlockRows rows, each column of a block
// packed into as few bytes per row as its values need. A row of a trace then takes 12
// to 20 bytes. Runs go to a Store, which keeps a given number of bytes in memory and
// the rest in a temporary file. Merge reads runs side by side and returns their rows in
// order, a block of each open run at a time. Its memory is proportional to the number
// of runs that overlap; if they are too many, it first merges some of them into longer
// ones.
//
// Why sort instead of reading the input twice: finding out what an export holds takes
// reading all of it, and its rows are then at hand, in a fifth of their size in SQLite.
// Writing and reading them costs a tenth of decoding the export a second time. Nothing
// depends on a good order of the input: rows in any order take at most one more pass
// for each thousandfold of memory.
//
// # Order
//
// The first three columns of all rows define their order: Key ascending, then Then
// descending, then the run with the lower Order first, and, in runs with the same
// Order, Seq ascending.
//
// # Blocks
//
// A block has the number of its rows and of its columns, 16 bits each, and then the
// columns. A column has a byte with the bytes per value, 0 to 8, plus nullable if None
// occurs; the least value, 64 bits; and the values less the least one. In a nullable
// column 0 is None and all other values are one higher. Then is stored as its
// difference from Key, and Seq as its difference from the place in the block. Numbers
// are little-endian. A block ends with eight spare bytes, so that any value can be
// loaded as one number.
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
