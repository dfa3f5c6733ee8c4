package idle

// maxStates, 262144: how many states of a rank's threads are kept, some 4 MB.
const maxStates = 1 << 18

// Bound bounds what is kept of what the threads did; it is to be called every few
// thousand rows. An idle gap needs all of that since its beginning, because only its
// end tells which thread matters, and when that one's launch was made; and a GPU that
// is yet to appear has been idle since the first slice. When too much is kept, what is
// before the gaps of all GPUs is let go of where no other GPU is to appear, and of what is too
// much still the older half of each thread's: then nobody knows what a thread did in a gap that
// reaches back so far ([Rank.Forgotten]).
func (r *Rank) Bound() {
	r.locks.forget(r.reach())
	if r.origin == never {
		for _, h := range r.threads {
			h.Forget(r.last)
		}
		return
	}
	if r.numStates() < r.opt.MaxStates {
		return
	}
	if len(r.gpus) == r.opt.GPUs && !r.opt.BusyAll {
		from := r.reach()
		for _, h := range r.threads {
			h.Forget(from)
		}
		if r.numStates() < r.opt.MaxStates/2 {
			return
		}
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
