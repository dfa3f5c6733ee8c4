package idle

// maxStates, 262144: how many states of a rank's threads are kept, some 4 MB.
const maxStates = 1 << 18

// Bound bounds what is kept of what the threads did; it is to be called every few
// thousand rows. An idle gap needs all of that since its beginning, because only its
// end tells which thread matters, and when that one's launch was made; and a GPU that
// is yet to appear has been idle since the first slice. Where none is, what is before the gaps
// of all GPUs is let go of. Of what is too much still so is the older half of each thread's: then
// nobody knows what a thread did in a gap that reaches back so far ([Rank.Forgotten]).
func (r *Rank) Bound() {
	from := r.reach()
	r.locks.forget(from)
	switch {
	case r.origin == never:
		from = r.last
	case len(r.gpus) != r.opt.GPUs || r.opt.BusyAll:
		from = none
	}
	for _, h := range r.threads {
		h.Forget(from)
	}
	if r.numStates() < r.opt.MaxStates {
		return
	}
	for _, h := range r.threads {
		if runs := h.Runs(none); len(runs) > 1 {
			h.Forget(runs[len(runs)/2].At)
			h.forgot = true
		}
	}
}

// Forgotten is idle time, in ns, whose causes were let go of.
func (r *Rank) Forgotten() int64 { return r.forgotten }
