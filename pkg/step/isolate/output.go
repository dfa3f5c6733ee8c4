package isolate

import (
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pool keeps batches for use again.
type pool struct {
	columns event.Set
	free    []*event.Batch
}

// get returns an empty batch.
func (p *pool) get() *event.Batch {
	b := &event.Batch{}
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	}
	b.Reset(p.columns)
	return b
}

// put takes a batch back that nobody reads any more.
func (p *pool) put(b *event.Batch) { p.free = append(p.free, b) }

// pos is the place of a row in an output: the number of its batch, counted from
// the beginning of the rank, and the row in it.
type pos struct{ batch, row int }

// output holds the rows of a rank that are not handed out yet, in batches.
//
// The rows that start at the same time as the newest one wait in tail, because
// a step that starts then too stands before them.
type output struct {
	pool    *pool
	first   int // number of batches[0]
	batches []*event.Batch

	tail      *event.Batch // nil while there is none
	tailStart int64
}

// last returns the batch that rows are appended to.
func (o *output) last() *event.Batch {
	if len(o.batches) == 0 {
		o.batches = append(o.batches, o.pool.get())
	}
	return o.batches[len(o.batches)-1]
}

// at returns the batch of a row that was not released yet.
func (o *output) at(p pos) *event.Batch { return o.batches[p.batch-o.first] }

// seal starts a new batch where the last one has that many rows.
func (o *output) seal(rows int) {
	if o.last().Len >= rows {
		o.batches = append(o.batches, o.pool.get())
	}
}

// add appends rows i to j, all of which start before the newest row.
func (o *output) add(b *event.Batch, i, j int) {
	for i < j {
		o.seal(event.MaxBatchRows)
		n := min(j-i, event.MaxBatchRows-o.last().Len)
		o.last().AppendRange(b, i, i+n)
		i += n
	}
}

// flush adds the tail where it starts before t.
func (o *output) flush(t int64) {
	if o.tail != nil && o.tail.Len > 0 && o.tailStart < t {
		o.add(o.tail, 0, o.tail.Len)
		o.tail.Reset(o.pool.columns)
	}
}

// keep makes rows i to j, which all start at t, the tail or a part of it.
func (o *output) keep(b *event.Batch, i, j int, t int64) {
	if o.tail == nil {
		o.tail = o.pool.get()
	}
	o.tail.AppendRange(b, i, j)
	o.tailStart = t
}

// place appends a row of a name, else of nulls, and returns its place.
func (o *output) place(name string) pos {
	o.seal(event.MaxBatchRows)
	row := o.last().AppendNulls()
	o.last().Name.SetLast(name)
	return pos{o.first + len(o.batches) - 1, row}
}

// tag gives the rows after the step row at p that start before end the
// step's number.
func (o *output) tag(p pos, end, step int64) {
	o.at(p).Step.Set(p.row, step)
	from := p.row + 1
	for _, b := range o.batches[p.batch-o.first:] {
		starts := b.Start.Values[from:b.Len]
		n := len(starts)
		if n > 0 && starts[n-1] >= end {
			n = sort.Search(n, func(k int) bool { return starts[k] >= end })
		}
		b.Step.Fill(from, from+n, step)
		if n < len(starts) {
			return
		}
		from = 0
	}
}

// each calls fn with the rows after the row at p that are in the output.
func (o *output) each(p pos, fn func(b *event.Batch, i int)) {
	from := p.row + 1
	for _, b := range o.batches[p.batch-o.first:] {
		for i := from; i < b.Len; i++ {
			fn(b, i)
		}
		from = 0
	}
}

// insert puts such a row before the first one after p that starts at t or later, and returns its place.
func (o *output) insert(p pos, t int64, name string) pos {
	i := p.row + 1
	for n := p.batch - o.first; ; n++ {
		b := o.batches[n]
		for ; i < b.Len && b.Start.Values[i] < t; i++ {
		}
		if i == b.Len && n+1 < len(o.batches) {
			i = 0
			continue
		}
		rest := o.pool.get()
		rest.AppendRange(b, i, b.Len)
		b.Truncate(i)
		row := b.AppendNulls()
		b.Name.SetLast(name)
		if b.Len+rest.Len > event.MaxBatchRows {
			o.batches = slices.Insert(o.batches, n+1, rest)
		} else {
			b.AppendRange(rest, 0, rest.Len)
			o.pool.put(rest)
		}
		return pos{o.first + n, row}
	}
}

// drop removes the row at p.
func (o *output) drop(p pos) {
	b, kept := o.at(p), o.pool.get()
	kept.AppendRange(b, 0, p.row)
	kept.AppendRange(b, p.row+1, b.Len)
	o.batches[p.batch-o.first] = kept
	o.pool.put(b)
}

// release appends to ready the full batches before the one numbered limit.
func (o *output) release(ready []*event.Batch, limit int) []*event.Batch {
	n := max(0, min(limit-o.first, len(o.batches)-1))
	ready = append(ready, o.batches[:n]...)
	o.batches = append(o.batches[:0], o.batches[n:]...)
	o.first += n
	return ready
}

// close appends all batches to ready, and leaves none: of many ranks most are done.
func (o *output) close(ready []*event.Batch) []*event.Batch {
	o.flush(never)
	if n := len(o.batches); n > 0 && o.batches[n-1].Len == 0 {
		o.pool.put(o.batches[n-1])
		o.batches = o.batches[:n-1]
	}
	if o.tail != nil {
		o.pool.put(o.tail)
		o.tail = nil
	}
	ready, o.batches = append(ready, o.batches...), nil
	return ready
}
