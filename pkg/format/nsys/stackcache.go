package nsys

import (
	"unsafe"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
)

// cameStack is a recent stack by the contents of its rows, except its id, and its
// number in the stack table. Samples hit the same few stacks again and again.
type cameStack struct {
	columns [cameColumns][]int64
	number  int32
}

const (
	cameColumns = 4
	cameBits    = 8
)

// columns are those that define a stack and the order of its frames.
func (f *frameRows) columns() [cameColumns]*sqlite.Vector {
	return [...]*sqlite.Vector{f.depths, f.symbols, f.modules, f.unresolved}
}

// cameAs returns the cache slot of the stack in n rows from row i on, nil if the rows
// have nulls or are too many.
func (c *chains) cameAs(f *frameRows, i, n int) *cameStack {
	if n > maxStackDepth || !f.ids.Full {
		return nil
	}
	for _, v := range f.columns() {
		if !v.Full && v != absent {
			return nil
		}
	}
	if c.came == nil {
		c.came = new([1 << cameBits]cameStack)
	}
	const factor = 0x9e3779b97f4a7c15
	h := uint64(n)
	for _, symbol := range f.symbols.Int[i : i+min(n, 4)] { // frames next to the leaf differ most
		h = h*factor + uint64(symbol)
	}
	return &c.came[h*factor>>(64-cameBits)]
}

// is reports whether the n rows from row i on are the stack.
func (s *cameStack) is(f *frameRows, i, n int) bool {
	for k, v := range f.columns() {
		if len(s.columns[k]) != n || string(bytesOf(s.columns[k])) != string(bytesOf(v.Int[i:i+n])) {
			return false
		}
	}
	return true
}

// bytesOf returns the memory of numbers as bytes, for fast comparison.
func bytesOf(v []int64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 8*len(v)) }
