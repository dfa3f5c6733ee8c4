package checkpoint

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// reach holds rows of the current rank that began before its first chosen step and may
// go on in it. It keeps only rows that end after the last row so far starts, which are
// few.
type reach struct {
	rank        int32
	held, spare event.Batch // rows of earlier batches
	pick        []int32
}

// reaches reports whether row i of b starts before t and ends after it. Step and window
// rows never reach.
func reaches(b *event.Batch, i int, t int64) bool {
	kind := b.Kind.Values[i]
	return b.Start.Values[i] < t && b.End.Values[i] > t && kind != event.Step && kind != event.Window
}

// rankStart returns the first row of the run of rows up to i that have the same rank.
func rankStart(b *event.Batch, i int) int {
	rank := rankOf(b, i)
	for i > 0 && rankOf(b, i-1) == rank {
		i--
	}
	return i
}

// release outputs the rows that reach into the first chosen step of a rank, row i of b,
// after the chosen rows of ranks before it.
func (f *filter) release(b *event.Batch, i int) {
	f.out.AppendRows(b, f.rows)
	f.rows = f.rows[:0]
	t := b.Start.Values[i]
	if f.reach.rank == rankOf(b, i) && f.reach.held.Len > 0 {
		f.pick(&f.reach.held, 0, f.reach.held.Len, t)
		f.out.AppendRows(&f.reach.held, f.reach.pick)
	}
	f.pick(b, rankStart(b, i), i, t)
	f.out.AppendRows(b, f.reach.pick)
}

// pick sets f.reach.pick to those of rows i to j that reach beyond t and are otherwise
// chosen.
func (f *filter) pick(b *event.Batch, i, j int, t int64) {
	f.reach.pick = f.reach.pick[:0]
	for ; i < j; i++ {
		if reaches(b, i, t) && f.sel.meets(b, i) {
			f.reach.pick = append(f.reach.pick, int32(i))
		}
	}
}

// hold keeps the rows so far that may reach into a chosen step still to come.
func (f *filter) hold(b *event.Batch) {
	r, last := &f.reach, b.Len-1
	rank, t := rankOf(b, last), b.Start.Values[last]
	if rank != r.rank || f.spans[rank] != nil {
		r.held.Reset(b.Columns)
	}
	r.rank = rank
	if f.spans[rank] != nil || b.Kind.Values[last] == event.Window {
		return
	}
	goOn := func(b *event.Batch, i int) []int32 {
		r.pick = r.pick[:0]
		for ; i < b.Len; i++ {
			if b.End.Values[i] > t {
				r.pick = append(r.pick, int32(i))
			}
		}
		return r.pick
	}
	r.spare.Reset(b.Columns)
	if r.held.Len > 0 {
		r.spare.AppendRows(&r.held, goOn(&r.held, 0))
	}
	r.spare.AppendRows(b, goOn(b, rankStart(b, last)))
	r.held, r.spare = r.spare, r.held
}
