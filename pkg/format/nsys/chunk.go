package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

const (
	// taskRows is the number of row ids that one task covers, of maxTasks of a table
	// at the most: beyond, tasks cover more.
	taskRows = 1 << 15
	maxTasks = 1 << 12
	// chunkRows is the most rows that the chunks of a sorter hold together: few enough
	// for the second-level cache, where they are written, sorted and packed.
	chunkRows = 1 << 13
)

// The columns of events in runs, in the order of package spill.
const (
	colStart = spill.Key
	colEnd   = spill.Then
	colSeq   = spill.Seq
)
const (
	colOwner = iota + spill.Payload
	colName
	colClass
	colCorrelation
	colNode
	colBytes
	colDomain
	numColumns
)

// chunk holds rows of one process in a table of events, in the order of the table,
// as columns of numbers, until they are sorted and written as a run. Those that its
// kind of rows has no use for stay empty.
type chunk struct {
	table *table

	start, end []int64 // ns on the report's clock
	seq        []int64 // places among the rows of all processes
	owner      []int64 // number of the row's track, where table.gpu, or thread
	name       []int64 // number in the string table or of a literal; of a copy or synchronisation its kind
	class      []int64 // event.Class, none for none

	correlation []int64 // none where it has none
	node        []int64 // none where no graph replay ran it; of samples and backtraces the stack in the report's table
	bytes       []int64 // of copies; of runs the CPU
	domain      []int64 // of ranges: the number that their process gave it
}

// len returns the number of rows.
func (c *chunk) len() int { return len(c.start) }

// columns returns all columns by their place in runs.
func (c *chunk) columns() [numColumns]*[]int64 {
	return [...]*[]int64{&c.start, &c.end, &c.seq, &c.owner, &c.name, &c.class, &c.correlation, &c.node, &c.bytes, &c.domain}
}

// blank is a column without values.
var blank = slices.Repeat([]int64{none}, chunkRows)

// afterTasks is the order of runs after those of all tasks.
const afterTasks = int64(1) << 62

// literal is a name that is not in the string table: where in the store it is.
// Names below it stand for those, noString-1 for the first.
func literal(at spill.Addr, length int) int64 { return noString - 1 - (int64(at)<<16 | int64(length)) }

// literalAt is the inverse of literal.
func literalAt(name int64) (at spill.Addr, length int) {
	code := noString - 1 - name
	return spill.Addr(code >> 16), int(code & 0xffff)
}

// task is a range of row ids of a table to read.
type task struct {
	table     *table
	tag       int // the place of its table in eventTables
	number    int // in the order of the export
	low, high int64
}
