package nsys

import (
	"unsafe"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
)

// cameStack is a stack by what its rows say but for its id, and its number in the table of
// stacks. A program is found in few places again and again.
type cameStack struct {
	columns [cameColumns][]int64
	number  int32
}

const (
	cameColumns = 4
	cameBits    = 8
)

// columns are those that say which stack it is, and in which order its frames came.
func (f *frameRows) columns() [cameColumns]*sqlite.Vector {
	return [...]*sqlite.Vector{f.depths, f.symbols, f.modules, f.unresolved}
}

// cameAs returns where the stack in n rows from row i on is, if it came lately; nil where there
// are nulls among them, or too many of them.
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
	for _, symbol := range f.symbols.Int[i : i+min(n, 4)] { // those next to the leaf differ most
		h = h*factor + uint64(symbol)
	}
	return &c.came[h*factor>>(64-cameBits)]
}

// is reports whether n rows from row i on are the stack.
func (s *cameStack) is(f *frameRows, i, n int) bool {
	for k, v := range f.columns() {
		if len(s.columns[k]) != n || string(bytesOf(s.columns[k])) != string(bytesOf(v.Int[i:i+n])) {
			return false
		}
	}
	return true
}

// bytesOf returns numbers as bytes, which are compared all at a time.
func bytesOf(v []int64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 8*len(v)) }
