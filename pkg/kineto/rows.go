package kineto

import (
	"cmp"
	"slices"
)

// none stands for a number that is not there.
const none = int64(-1) << 63

// row is an event that was read.
type row struct {
	start, end  int64 // ns as in the document
	correlation int64 // none where there is none
	extra       int64 // of copies and memsets their bytes, of kernels the graph node; or none
	name        int32 // in names
	owner       int32 // in tracks or threads
	place       uint32
	category    category
}

// order is the order of the stream: by start, of equal ones the longer first, and
// then as in the document.
func order(a, b *row) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.place, b.place))
}

// chunkRows is the number of rows of a chunk.
const chunkRows = 1 << 15

// chunk is rows in their order.
type chunk []row

func (c chunk) sort() { slices.SortFunc(c, func(a, b row) int { return order(&a, &b) }) }

// merger gives out the rows of chunks in their order.
type merger struct {
	heads []chunk // a heap by the first row of each
}

func newMerger(chunks []chunk) *merger {
	m := &merger{}
	for _, c := range chunks {
		if len(c) > 0 {
			m.heads = append(m.heads, c)
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m
}

// next returns the next row, nil after the last one.
func (m *merger) next() *row {
	if len(m.heads) == 0 {
		return nil
	}
	r := &m.heads[0][0]
	if m.heads[0] = m.heads[0][1:]; len(m.heads[0]) == 0 {
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	}
	m.down(0)
	return r
}

// down moves heap entry i to its place.
func (m *merger) down(i int) {
	h := m.heads
	for {
		k := 2*i + 1
		if k >= len(h) {
			return
		}
		if k+1 < len(h) && order(&h[k+1][0], &h[k][0]) < 0 {
			k++
		}
		if order(&h[i][0], &h[k][0]) <= 0 {
			return
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
}

// track is where a GPU row ran.
type track struct {
	device int64 // none where the document does not say
	stream int64 // none likewise
}

// isGPU tells whether rows of a category have tracks, not threads.
func (c category) isGPU() bool { return kinds[c].IsGPU() || c == syncCategory }
