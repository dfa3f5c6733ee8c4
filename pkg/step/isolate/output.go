package isolate

import (
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pool keeps batches for reuse.
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

// put returns a batch to the pool. No one may use it any more.
func (p *pool) put(b *event.Batch) { p.free = append(p.free, b) }

// pos is the position of a row in an output: the number of its batch, from the beginning
// of the rank, and its index there.
type pos struct{ batch, row int }

// output holds the rows of a rank that have not been released. Step rows are inserted
// later.
type output struct {
	pool    *pool
	first   int // number of batches[0]
	batches []*event.Batch
}

// last returns the batch to which rows are appended.
func (o *output) last() *event.Batch {
	if len(o.batches) == 0 {
		o.batches = append(o.batches, o.pool.get())
	}
	return o.batches[len(o.batches)-1]
}

// at returns the batch of a row that has not been released.
func (o *output) at(p pos) *event.Batch { return o.batches[p.batch-o.first] }

// seal begins a new batch if the last one has at least that many rows.
func (o *output) seal(rows int) {
	if o.last().Len >= rows {
		o.batches = append(o.batches, o.pool.get())
	}
}

// add appends rows i to j.
func (o *output) add(b *event.Batch, i, j int) {
	for i < j {
		o.seal(event.MaxBatchRows)
		n := min(j-i, event.MaxBatchRows-o.last().Len)
		o.last().AppendRange(b, i, i+n)
		i += n
	}
}

// after returns the index of the first row of a batch that comes after p.
func (p pos) after(batch int) int {
	if batch == p.batch {
		return p.row + 1
	}
	return 0
}

// each calls fn with each row after p. fn must not insert rows.
func (o *output) each(p pos, fn func(b *event.Batch, i int)) {
	for n := p.batch - o.first; n < len(o.batches); n++ {
		for i := p.after(o.first + n); i < o.batches[n].Len; i++ {
			fn(o.batches[n], i)
		}
	}
}

// tag sets the step number of the step row at p, and of the rows after it that start
// before end.
func (o *output) tag(p pos, end, step int64) {
	o.at(p).Step.Set(p.row, step)
	for n, done := p.batch-o.first, false; n < len(o.batches) && !done; n++ {
		b, from := o.batches[n], p.after(o.first+n)
		to := startOf(b, from, end)
		b.Step.Fill(from, to, step)
		done = to < b.Len
	}
}

// startOf returns the index of the first row, at from or after it, that starts at t or
// later; b.Len if none.
func startOf(b *event.Batch, from int, t int64) int {
	starts := b.Start.Values[from:b.Len]
	if n := len(starts); n == 0 || starts[n-1] < t {
		return b.Len
	}
	return from + sort.Search(len(starts), func(k int) bool { return starts[k] >= t })
}

// insert inserts a row, null but for its name, before the first row after p that starts
// at t or later. It returns its position.
func (o *output) insert(p pos, t int64, name string) pos {
	b := o.last()
	n := len(o.batches) - 1
	for ; n > 0 && o.first+n > p.batch && (b.Len == 0 || b.Start.Values[0] >= t); n-- {
		b = o.batches[n-1]
	}
	i := startOf(b, p.after(o.first+n), t)
	var rest *event.Batch
	if i < b.Len {
		rest = o.pool.get()
		rest.AppendRange(b, i, b.Len)
		b.Truncate(i)
	}
	if i >= event.BatchRows {
		b = o.pool.get()
		n++
		o.batches = slices.Insert(o.batches, n, b)
	}
	row := b.AppendNulls()
	b.Name.SetLast(name)
	switch {
	case rest == nil:
	case b.Len+rest.Len > event.MaxBatchRows:
		o.batches = slices.Insert(o.batches, n+1, rest)
	default:
		b.AppendRange(rest, 0, rest.Len)
		o.pool.put(rest)
	}
	return pos{o.first + n, row}
}

// drop removes the row at p.
func (o *output) drop(p pos) {
	b, kept := o.at(p), o.pool.get()
	kept.AppendRange(b, 0, p.row)
	kept.AppendRange(b, p.row+1, b.Len)
	o.batches[p.batch-o.first] = kept
	o.pool.put(b)
}

// release appends full batches to ready and removes them: those before batch number
// limit all of whose rows start before t.
func (o *output) release(ready []*event.Batch, limit int, t int64) []*event.Batch {
	n := 0
	for n < min(limit-o.first, len(o.batches)-1) && startOf(o.batches[n], 0, t) == o.batches[n].Len {
		n++
	}
	ready = append(ready, o.batches[:n]...)
	o.batches = append(o.batches[:0], o.batches[n:]...)
	o.first += n
	return ready
}

// close appends all batches to ready and frees its own memory: there may be many ranks,
// most of them done.
func (o *output) close(ready []*event.Batch) []*event.Batch {
	if n := len(o.batches); n > 0 && o.batches[n-1].Len == 0 {
		o.pool.put(o.batches[n-1])
		o.batches = o.batches[:n-1]
	}
	ready, o.batches = append(ready, o.batches...), nil
	return ready
}
