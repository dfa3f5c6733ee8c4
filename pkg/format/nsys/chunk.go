package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

const (
	// taskRows is the number of row ids that a task covers. A table has at most
	// maxTasks tasks; if it would need more, its tasks cover more ids.
	taskRows = 1 << 15
	maxTasks = 1 << 12
	// chunkRows is the most rows that the chunks of a sorter hold in total: few enough
	// to be written, sorted and packed in the second-level cache.
	chunkRows = 1 << 13
)

// The columns of events in runs, as package spill orders them.
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

// chunk holds rows of one process from one table, in the order of the table, as columns
// of numbers, until they are sorted and written as a run. Columns that the kind does
// not use stay empty.
type chunk struct {
	table *table

	start, end []int64 // ns on the report's clock
	seq        []int64 // place among the rows of all processes
	owner      []int64 // number of the row's track, if table.gpu, else thread
	name       []int64 // number in the string table, or a literal; for copies and synchronisations their kind
	class      []int64 // event.Class, none if there is none

	correlation []int64 // none if there is none
	node        []int64 // none if no graph replay ran the row; for samples and backtraces the stack in the report's table
	bytes       []int64 // of copies; for runs the CPU
	domain      []int64 // of ranges: the number that their process gave the domain
}

// len returns the number of rows.
func (c *chunk) len() int { return len(c.start) }

// columns returns all columns, by their place in runs.
func (c *chunk) columns() [numColumns]*[]int64 {
	return [...]*[]int64{&c.start, &c.end, &c.seq, &c.owner, &c.name, &c.class, &c.correlation, &c.node, &c.bytes, &c.domain}
}

// blank is a column of nones.
var blank = slices.Repeat([]int64{none}, chunkRows)

// afterTasks is an Order after the runs of all tasks.
const afterTasks = int64(1) << 62

// literal encodes the address in the store of a name that is not in the string table,
// as a number below noString.
func literal(at spill.Addr, length int) int64 { return noString - 1 - (int64(at)<<16 | int64(length)) }

// literalAt is the inverse of literal.
func literalAt(name int64) (at spill.Addr, length int) {
	code := noString - 1 - name
	return spill.Addr(code >> 16), int(code & 0xffff)
}

// task is a range of row ids of a table, both ends included.
type task struct {
	table     *table
	tag       int // first index of the table in eventTables
	number    int // in the order of the export
	low, high int64
}
