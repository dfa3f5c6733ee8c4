package event

// Replays recognises the first row of a graph replay, whose rows share a correlation.
// Its size is bounded: it forgets old replays.
type Replays struct {
	last     int64 // correlation of the row before
	any      bool
	now, old map[int64]struct{}
}

// First reports whether no earlier row had that correlation. It remembers at least the
// last replaysKept correlations, and at most twice as many.
func (r *Replays) First(correlation int64) bool {
	return !(r.any && r.last == correlation) && r.another(correlation)
}

// another is First for a correlation that differs from the row before.
func (r *Replays) another(correlation int64) bool {
	r.last, r.any = correlation, true
	if _, ok := r.now[correlation]; ok {
		return false
	}
	if _, ok := r.old[correlation]; ok {
		return false
	}
	if len(r.now) >= replaysKept || r.now == nil {
		r.now, r.old = make(map[int64]struct{}), r.now
	}
	r.now[correlation] = struct{}{}
	return true
}
