package idle

// maxStates, 262144: the default of how many thread states of a rank are kept, some 4 MB.
const maxStates = 1 << 18

// Bound limits the states of threads that are kept. Call it every few thousand rows.
//
// Only the end of an idle gap tells which thread matters, so a gap needs all states since it
// began. A GPU that has not appeared yet has been idle since the first slice. Once all GPUs
// have appeared, Bound drops the states before their gaps. If there are still too many, it
// drops the older half of each thread's: what a thread did then is unknown to a gap that
// began earlier ([Rank.Forgotten]).
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

// reach returns the earliest time at which an open gap of a GPU may have begun, none before
// the first GPU appears.
func (r *Rank) reach() int64 {
	if len(r.gpus) == 0 {
		return none
	}
	from := r.last
	for _, l := range r.gpus {
		from = min(from, l.End)
	}
	return from
}

// Forgotten returns the idle time, in ns, whose cause is unknown because states were dropped.
func (r *Rank) Forgotten() int64 { return r.forgotten }
