package idle

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// defaultMaxRuns is how many runs of a rank's threads are kept.
const defaultMaxRuns = 1 << 17

// foldedAttribution is time that a thread spent in one state in one slice.
type foldedAttribution struct {
	thread int32
	attribution
}

// Bound bounds what is kept of what the threads did; it is to be called every few
// thousand rows. An idle gap needs all of that since its beginning, because only its
// end tells which thread matters, and when that one's launch was made; and a GPU that
// is yet to appear has been idle since the first slice. When too much is kept, what is
// before the gaps of all GPUs is let go of where no other GPU is to appear. What is too much
// still is replaced by the time that each launching thread spent in each state in each slice.
// Of a gap that reaches back before that, all is still exact, except where the launch
// of what ends it is that long ago, too: then the shares of the causes are, in the
// slice of the launch, those of the whole slice.
func (r *Rank) Bound() {
	r.forgetHolds()
	if r.origin == never {
		for _, h := range r.threads {
			h.Forget(r.last)
		}
		return
	}
	if r.numRuns() < r.opt.MaxRuns {
		return
	}
	if len(r.gpus) == r.opt.GPUs && !r.opt.BusyAll {
		from := r.reach()
		for _, h := range r.threads {
			h.Forget(from)
		}
		if r.numRuns() < r.opt.MaxRuns/2 {
			return
		}
	}
	r.fold(r.last)
}

// numRuns is how many runs of the rank's threads are kept.
func (r *Rank) numRuns() (n int) {
	for _, h := range r.threads {
		n += h.Len()
	}
	return n
}

// fold replaces what is known of the time before to by sums.
func (r *Rank) fold(to int64) {
	for _, d := range r.gpus {
		if from := max(d.End, r.origin); from < to && from >= r.folds {
			d.partial = d.partial[:0]
			for _, h := range r.threads {
				d.partial = r.appendFolded(d.partial, h, from, to)
			}
			// What is folded now it has.
			d.folded, d.foldEnd = -1, to
		}
	}
	for _, h := range r.threads {
		if h.launches {
			r.buf = r.appendFolded(r.buf[:0], h, max(r.folds, r.origin), to)
			for _, p := range r.buf {
				r.folded.Add(r.numFolded, int64(p.thread), int64(p.at), int64(p.code), p.ns)
			}
			r.numFolded++
		}
		h.Forget(to)
	}
	for _, d := range r.gpus {
		if d.folded < 0 {
			d.folded = r.numFolded
		}
		if d.foldEnd > none {
			d.foldEnd = to
		}
	}
	r.folds = to
}

// appendFolded appends what a thread did between from and to.
func (r *Rank) appendFolded(list []foldedAttribution, h *hostThread, from, to int64) []foldedAttribution {
	if !h.launches {
		return list
	}
	h.Advance(to)
	runs := h.Runs(from)
	f := folder{r: r, list: list, number: h.number, slice: r.sliceAt(from)}
	for i := range runs {
		end := to
		if i+1 < len(runs) {
			end = min(to, runs[i+1].At)
		}
		f.add(max(from, runs[i].At), end, runs[i].State)
	}
	f.drain()
	return f.list
}

// folder sums up what a thread did, slice by slice.
type folder struct {
	r            *Rank
	list         []foldedAttribution
	number       int32
	slice        int
	sum          sums
	attributions []attribution
}

// add adds a run, none of which starts before those added already end.
func (f *folder) add(from, to int64, state State) {
	for from < to {
		_, end := f.r.Bounds(f.slice)
		if end <= from {
			f.drain()
			f.slice++
			continue
		}
		end = min(end, to)
		f.sum.add(Key(state).code(false), end-from)
		from = end
	}
}

func (f *folder) drain() {
	f.attributions = f.sum.drain(f.attributions[:0], int32(f.slice))
	for _, p := range f.attributions {
		f.list = append(f.list, foldedAttribution{f.number, p})
	}
}

// attributeFolded credits the part of a span before the GPU's fold, and returns
// where the rest begins.
func (r *Rank) attributeFolded(d *GPU, h *hostThread, s span, g gapOf) int64 {
	end := min(d.foldEnd, s.end)
	if s.end < d.foldEnd {
		r.estimated += s.end - s.start
	}
	number := int32(-1)
	if h != nil {
		number = h.number
	}
	mine := r.foldedOf(d, number)
	var sum sums
	first := r.sliceAt(s.start)
	if len(mine) > 0 {
		first = min(first, int(mine[0].at))
	}
	for k := max(0, first); k < len(r.slices) && r.slices[k].start < end; k++ {
		whole := int64(0) // of what is folded
		for ; len(mine) > 0 && mine[0].at <= int32(k); mine = mine[1:] {
			sum.add(mine[0].code, mine[0].ns)
			whole += mine[0].ns
		}
		start, last := r.Bounds(k)
		if start, last = max(s.start, start), min(last, end); start < last {
			r.creditShares(&sum, whole, span{start, last}, g)
		}
	}
	return end
}

// foldedOf returns what was folded of a thread during the GPU's gap, by slice.
func (r *Rank) foldedOf(d *GPU, number int32) []attribution {
	var mine []attribution
	for _, p := range d.partial {
		if p.thread == number {
			mine = append(mine, p.attribution)
		}
	}
	const thread, at, key, ns = spill.Payload, spill.Payload + 1, spill.Payload + 2, spill.Payload + 3
	all := r.folded.Read(d.folded)
	for rows := all.Next(spill.All); rows != nil; rows = all.Next(spill.All) {
		for i, fold := range rows[spill.Key] {
			if fold >= d.folded && rows[thread][i] == int64(number) {
				mine = append(mine, attribution{int32(rows[at][i]), code(rows[key][i]), rows[ns][i]})
			}
		}
	}
	slices.SortStableFunc(mine, func(a, b attribution) int { return cmp.Compare(a.at, b.at) })
	return mine
}

// creditShares credits the time of a span with the folded times, cut down to it
// where they are of more, and the rest as untraced.
func (r *Rank) creditShares(sum *sums, whole int64, s span, g gapOf) {
	at := s.start
	length := s.end - s.start
	for _, c := range sum.touched {
		ns := sum.ns[c]
		sum.ns[c] = 0
		if whole > length {
			ns = int64(float64(ns) / float64(whole) * float64(length))
		}
		ns = min(ns, s.end-at)
		if _, why := r.sites.Undivided(c.key()); why.Lost() {
			r.gapLost += ns
		}
		r.credit(at, at+ns, c.key(), g)
		at += ns
	}
	sum.touched = sum.touched[:0]
	r.credit(at, s.end, r.unknown, g)
}
