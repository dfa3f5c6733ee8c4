package spill

import (
	"cmp"
	"slices"
)

// Index finds rows by their Key: of several with one Key the first in order.
type Index struct {
	store   *Store
	columns int
	layers  []layer // each with all of some runs; a Key may be in several
}

// maxLayers is how many layers an index has at most. Looking into another one costs less
// than merging runs, as where the calls of a few threads stand one thread after the other.
const maxLayers = 3

// layer is blocks of runs that do not overlap, in the order of their keys, which are all
// different.
type layer struct {
	blocks []blockRef
	orders []int64 // of the runs that the blocks are of
	last   int64   // the largest key
	cache  []indexBlock
}

// indexBlocks is how many blocks an index keeps unpacked. Look-ups that follow
// each other are mostly of one block, or of one for each of a few sources.
const indexBlocks = 32

type indexBlock struct {
	number int // of the block, plus 1; 0 for none
	buf    buffer
}

// Hint is where a look-up found its row, a good place for the next one to begin.
type Hint [maxLayers]struct{ block, row int }

// NewIndex makes an index of runs, none of which has a Key twice. Where more of them overlap
// than there may be layers they are merged first, fanIn of them at a time.
func NewIndex(s *Store, runs []*Run, fanIn int) (*Index, error) {
	x := &Index{store: s}
	err := eachOverlap(runs, func(runs []*Run) error {
		x.columns = runs[0].columns
		if overlap(runs) <= maxLayers {
			for _, r := range runs {
				x.add(r)
			}
			return nil
		}
		one, err := s.mergeUnique(runs, fanIn)
		if err != nil {
			return err
		}
		x.add(one)
		return nil
	})
	for k := range x.layers {
		x.layers[k].cache = make([]indexBlock, indexBlocks/len(x.layers))
	}
	return x, err
}

// eachOverlap calls fn with each group of runs that overlap no others, by their keys.
func eachOverlap(runs []*Run, fn func([]*Run) error) error {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *Run) int { return cmp.Compare(a.First, b.First) })
	for len(runs) > 0 {
		n, last := 1, runs[0].Last
		for ; n < len(runs) && runs[n].First <= last; n++ {
			last = max(last, runs[n].Last)
		}
		if err := fn(runs[:n]); err != nil {
			return err
		}
		runs = runs[n:]
	}
	return nil
}

// add adds a run to the first layer that ends before it.
func (x *Index) add(r *Run) {
	k := 0
	for k < len(x.layers) && x.layers[k].last >= r.First {
		k++
	}
	if k == len(x.layers) {
		x.layers = append(x.layers, layer{})
	}
	l := &x.layers[k]
	l.blocks, l.last = append(l.blocks, r.blocks...), r.Last
	for range r.blocks {
		l.orders = append(l.orders, r.Order)
	}
}

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

// CountKeys returns how many different keys runs have, none of which has a Key twice.
func CountKeys(s *Store, runs []*Run, fanIn int) (n int64, err error) {
	err = eachOverlap(runs, func(runs []*Run) (err error) {
		one := runs[0]
		if len(runs) > 1 {
			one, err = s.mergeUnique(runs, fanIn)
		}
		if err == nil {
			n += one.Rows
		}
		return err
	})
	return n, err
}

// Find returns the row with a Key as row i of rows, which are valid until the
// next call.
func (x *Index) Find(key int64, hint *Hint) (rows Rows, i int, ok bool, err error) {
	var order int64
	for k := range x.layers {
		l := &x.layers[k]
		found, at, has, err := l.find(x, key, &hint[k].block, &hint[k].row)
		if err != nil {
			return nil, 0, false, err
		}
		if !has {
			continue
		}
		if by := l.orders[hint[k].block]; !ok || first(found, at, by, rows, i, order) {
			rows, i, ok, order = found, at, true, by
		}
	}
	return rows, i, ok, nil
}

// first reports whether row i of a goes before row j of b, which has the same Key, where
// they are of runs of these orders.
func first(a Rows, i int, orderA int64, b Rows, j int, orderB int64) bool {
	return cmp.Or(cmp.Compare(b[Then][j], a[Then][i]), cmp.Compare(orderA, orderB), cmp.Compare(a[Seq][i], b[Seq][j])) < 0
}

// find is Find for one layer, where the last look-up ended at a row of a block.
func (l *layer) find(x *Index, key int64, block, row *int) (rows Rows, i int, ok bool, err error) {
	b := *block
	if c := &l.cache[b%len(l.cache)]; c.number == b+1 { // Fast path: the same block, in which no key is left out.
		keys := c.buf.rows[Key]
		if k := uint64(key) - uint64(keys[0]); k < uint64(len(keys)) && keys[k] == key {
			*row = int(k)
			return c.buf.rows, int(k), true, nil
		}
	}
	if b >= len(l.blocks) || l.blocks[b].first > key || b+1 < len(l.blocks) && l.blocks[b+1].first <= key {
		b, ok = slices.BinarySearchFunc(l.blocks, key, func(r blockRef, key int64) int { return cmp.Compare(r.first, key) })
		if !ok {
			b--
		}
		if b < 0 {
			return nil, 0, false, nil
		}
		*block, *row = b, 0
	}
	rows, err = l.load(x, b)
	if err != nil {
		return nil, 0, false, err
	}
	keys := rows[Key]
	i = min(*row, len(keys)-1)
	for range 8 {
		if i < len(keys)-1 && keys[i] < key {
			i++
		}
	}
	if keys[i] != key {
		if keys[i] > key && i > 0 && keys[i-1] < key { // Fast path: it would stand here.
			*row = i
			return nil, 0, false, nil
		}
		if i, ok = slices.BinarySearch(keys, key); !ok {
			return nil, 0, false, nil
		}
	}
	*row = i
	return rows, i, true, nil
}

// load returns the rows of a block.
func (l *layer) load(x *Index, b int) (Rows, error) {
	c := &l.cache[b%len(l.cache)]
	if c.number == b+1 {
		return c.buf.rows, nil
	}
	c.number = 0
	if err := c.buf.load(x.store, x.columns, &l.blocks[b], All); err != nil {
		return nil, err
	}
	c.number = b + 1
	return c.buf.rows, nil
}
