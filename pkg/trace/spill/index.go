package spill

import (
	"cmp"
	"slices"
)

// Index finds rows by Key. If several rows have the Key, it finds the first in order.
type Index struct {
	store   *Store
	columns int
	layers  []layer // each has whole runs; a Key may be in several
}

// maxLayers is the most layers that an index has. One more layer to search costs less
// than merging runs, for example if the calls of a few threads are stored thread by
// thread.
const maxLayers = 3

// layer holds the blocks of runs that do not overlap, in key order. All its keys
// differ.
type layer struct {
	blocks []blockRef
	orders []int64 // Order of the run of each block
	last   int64   // the largest key
	cache  []indexBlock
}

// indexBlocks is the number of blocks that an index keeps decoded. Successive look-ups
// mostly hit the same block, or one block for each of a few sources.
const indexBlocks = 32

type indexBlock struct {
	number int // of the block, plus 1; 0 if the slot is empty
	buf    buffer
}

// Hint is where a look-up found its row. The next look-up starts there.
type Hint [maxLayers]struct{ block, row int }

// NewIndex makes an index of runs. No run may have a Key twice. Runs that overlap more
// than maxLayers deep are merged first, fanIn at a time.
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

// eachOverlap calls fn with each group of runs whose key ranges overlap.
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

// add adds a run to the first layer that ends before the run starts.
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

// mergeUnique merges runs into one that has each Key once.
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

// CountKeys returns the number of different keys in runs. No run may have a Key twice.
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

// Find returns the row with a Key as row i of rows, and false if there is none. rows
// are valid until the next call.
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

// first reports whether row i of a precedes row j of b. Both have the same Key; the
// orders are those of their runs.
func first(a Rows, i int, orderA int64, b Rows, j int, orderB int64) bool {
	return cmp.Or(cmp.Compare(b[Then][j], a[Then][i]), cmp.Compare(orderA, orderB), cmp.Compare(a[Seq][i], b[Seq][j])) < 0
}

// find is Find for one layer. block and row say where the last look-up ended.
func (l *layer) find(x *Index, key int64, block, row *int) (rows Rows, i int, ok bool, err error) {
	b := *block
	if c := &l.cache[b%len(l.cache)]; c.number == b+1 { // Fast path: same block, and no key is missing between.
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
		if keys[i] > key && i > 0 && keys[i-1] < key { // Fast path: the key would be here.
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
