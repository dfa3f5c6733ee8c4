package spill

import (
	"cmp"
	"slices"
)

// Index finds rows by their Key: of several with one Key the first in order.
type Index struct {
	store   *Store
	columns int
	blocks  []blockRef // in the order of their keys, which are all different
	cache   [indexBlocks]indexBlock
}

// indexBlocks is how many blocks an index keeps unpacked. Look-ups that follow
// each other are mostly of one block, or of one for each of a few sources.
const indexBlocks = 32

type indexBlock struct {
	number int // of the block, plus 1; 0 for none
	buf    buffer
}

// Hint is where a look-up found its row, a good place for the next one to begin.
type Hint struct{ block, row int }

// NewIndex makes an index of runs, none of which has a Key twice. Those that
// overlap are merged first, fanIn of them at a time.
func NewIndex(s *Store, runs []*Run, fanIn int) (*Index, error) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *Run) int { return cmp.Compare(a.First, b.First) })
	x := &Index{store: s}
	for len(runs) > 0 {
		n, last := 1, runs[0].Last
		for ; n < len(runs) && runs[n].First <= last; n++ {
			last = max(last, runs[n].Last)
		}
		one := runs[0]
		if n > 1 {
			var err error
			if one, err = s.mergeUnique(runs[:n], fanIn); err != nil {
				return nil, err
			}
		}
		x.columns, x.blocks, runs = one.columns, append(x.blocks, one.blocks...), runs[n:]
	}
	return x, nil
}

// View returns the same index for another goroutine.
func (x *Index) View() *Index { return &Index{store: x.store, columns: x.columns, blocks: x.blocks} }

// mergeUnique makes one run of some, with one row of each Key.
func (s *Store) mergeUnique(runs []*Run, fanIn int) (*Run, error) {
	m, err := NewMerge(s, runs, fanIn)
	if err != nil {
		return nil, err
	}
	w := NewWriter(s)
	var last int64
	for first := true; ; {
		_, rows, i, j, err := m.Next(BlockRows)
		if err != nil {
			return nil, err
		}
		if i == j {
			return w.End(runs[0].Order, runs[0].Tag)
		}
		for k := i; k < j; k++ {
			key := rows[Key][k]
			if !first && key == last {
				if err := w.Add(rows, i, k); err != nil {
					return nil, err
				}
				i = k + 1
			}
			first, last = false, key
		}
		if err := w.Add(rows, i, j); err != nil {
			return nil, err
		}
	}
}

// CountKeys returns how many different keys runs have.
func CountKeys(s *Store, runs []*Run, fanIn int) (n int64, err error) {
	x, err := NewIndex(s, runs, fanIn)
	if err != nil {
		return 0, err
	}
	for i := range x.blocks {
		n += int64(x.blocks[i].rows)
	}
	return n, nil
}

// Find returns the row with a Key as row i of rows, which are valid until the
// next call.
func (x *Index) Find(key int64, hint *Hint) (rows Rows, i int, ok bool, err error) {
	b := hint.block
	if b >= len(x.blocks) || x.blocks[b].first > key || b+1 < len(x.blocks) && x.blocks[b+1].first <= key {
		b, ok = slices.BinarySearchFunc(x.blocks, key, func(r blockRef, key int64) int { return cmp.Compare(r.first, key) })
		if !ok {
			b--
		}
		if b < 0 {
			return nil, 0, false, nil
		}
		hint.block, hint.row = b, 0
	}
	rows, err = x.load(b)
	if err != nil {
		return nil, 0, false, err
	}
	keys := rows[Key]
	i = min(hint.row, len(keys)-1)
	for range 8 {
		if i < len(keys)-1 && keys[i] < key {
			i++
		}
	}
	if keys[i] != key {
		if i, ok = slices.BinarySearch(keys, key); !ok {
			return nil, 0, false, nil
		}
	}
	hint.row = i
	return rows, i, true, nil
}

// load returns the rows of a block.
func (x *Index) load(b int) (Rows, error) {
	c := &x.cache[b%indexBlocks]
	if c.number == b+1 {
		return c.buf.rows, nil
	}
	c.number = 0
	if err := c.buf.load(x.store, x.columns, &x.blocks[b], All); err != nil {
		return nil, err
	}
	c.number = b + 1
	return c.buf.rows, nil
}
