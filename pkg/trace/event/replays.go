package event

// replaysKept is how many replays are remembered at least: far more than can be running at a time.
const replaysKept = 4096

// Replays distinguishes the first of the rows of a graph replay, which share a correlation. Its size does
// not depend on the stream's: it forgets what is long ago.
type Replays struct {
	last     int64 // of the row before
	any      bool
	now, old map[int64]struct{}
}

// First reports whether this is the first row with that correlation, of the last replaysKept of them at
// least, and at most twice as many.
func (r *Replays) First(correlation int64) bool {
	return !(r.any && r.last == correlation) && r.another(correlation)
}

// another is First for a correlation that is not that of the row before.
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
