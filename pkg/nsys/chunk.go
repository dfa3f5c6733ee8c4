package nsys

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/sqlite"
)

// chunkRows is the number of row ids that one chunk of a table covers, and the
// most rows that one holds. A row is referred to by the number of its chunk and
// its place in it.
const (
	chunkBits = 16
	chunkRows = 1 << chunkBits
	chunkMask = chunkRows - 1
	maxChunks = 1 << 12 // of a table, before those that hold too many rows are split
)

// chunk holds some rows of a table of events, in the order of the table, as
// columns. Those that its kind of rows has no use for are nil.
type chunk struct {
	table *table

	start, end []int64 // ns on the report's clock
	owner      []int32 // number of the row's track, where table.gpu, or thread
	name       []int32 // number in the string table, or ^i for string i of own; of a copy or synchronisation its kind
	class      []int8  // code of its class, -1 for none

	correlation []int64 // none where it has none
	node        []int64 // none where no graph replay ran it
	bytes       []int64 // of copies
	domain      []int64 // of ranges: the number that their process gave it

	own stringTable // of ranges: those that no table holds
}

// len returns the number of rows.
func (p *chunk) len() int { return len(p.start) }

// str returns the string that a name of the chunk stands for.
func (p *chunk) str(shared *stringTable, name int32) []byte {
	if name < noString {
		return p.own.get(^name - 1)
	}
	return shared.get(name)
}

// newPart returns a chunk with room for some rows.
func newChunk(t *table, size int) *chunk {
	p := &chunk{table: t}
	column := func() []int64 { return make([]int64, 0, size) }
	p.start, p.end = column(), column()
	p.owner, p.name = make([]int32, 0, size), make([]int32, 0, size)
	if !t.gpu || t.kind == event.Kernel {
		p.class = make([]int8, 0, size)
	}
	if t.kind == event.NVTX {
		p.domain = column()
	} else {
		p.correlation = column()
	}
	if t.kind == event.Memcpy || t.kind == event.Memset {
		p.bytes = column()
	}
	return p
}

// task is a range of row ids of a table to read.
type task struct {
	table     *table
	low, high int64
	chunks    []*chunk // one, or more where the row ids are far apart
}

// chunk returns the chunk that the next rows, of a block of n, go to.
func (t *task) chunk(n int) *chunk {
	if k := len(t.chunks); k > 0 && t.chunks[k-1].len() < chunkRows {
		return t.chunks[k-1]
	}
	t.chunks = append(t.chunks, newChunk(t.table, t.size(n)))
	return t.chunks[len(t.chunks)-1]
}

// size is the number of rows to make room for in a chunk whose first block has n
// rows. Only the last block of a chunk is not full, so that a table with holes
// between its row ids does not take memory for the holes.
func (t *task) size(n int) int {
	if n < sqlite.BlockRows {
		return n
	}
	return int(min(t.high-t.low+1, chunkRows))
}
