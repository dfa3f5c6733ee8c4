package checkpoint

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// reach holds what began before the first chosen step of the rank that is being read, and may
// go on in it. Of the rows so far it has those that end after the last of them starts, so they are few.
type reach struct {
	rank        int32
	held, spare event.Batch // of batches before
	pick        []int32
}

// reaches reports whether row i of b goes on from before t until after. What is known of a step
// that does is no step.
func reaches(b *event.Batch, i int, t int64) bool {
	kind := b.Kind.Values[i]
	return b.Start.Values[i] < t && b.End.Values[i] > t && kind != event.Step && kind != event.Window
}

// rankStart returns the first of the rows up to row i that are of its rank.
func rankStart(b *event.Batch, i int) int {
	rank := rankOf(b, i)
	for i > 0 && rankOf(b, i-1) == rank {
		i--
	}
	return i
}

// release puts what reaches into the first chosen step of a rank, which is row i of b, into the
// output, after the chosen rows of ranks before it.
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

// pick sets f.reach.pick to those of rows i to j that reach over t, of what else is chosen.
func (f *filter) pick(b *event.Batch, i, j int, t int64) {
	f.reach.pick = f.reach.pick[:0]
	for ; i < j; i++ {
		if reaches(b, i, t) && f.sel.meets(b, i) {
			f.reach.pick = append(f.reach.pick, int32(i))
		}
	}
}

// hold keeps what of the rows so far may reach into a chosen step that none of them began.
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
