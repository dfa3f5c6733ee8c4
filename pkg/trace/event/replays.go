package event

// Replays counts the rows of graph replays, which share a correlation. It may forget a
// replay after replaysKept others. The zero value is empty.
type Replays struct {
	last           int64 // correlation of the last row, if there is one
	recent, before map[int64]int64
}

// Next returns how many earlier rows the replay with that correlation had.
func (r *Replays) Next(correlation int64) int64 {
	n, ok := r.recent[correlation]
	if !ok {
		n = r.before[correlation]
		if len(r.recent) == replaysKept || r.recent == nil {
			r.recent, r.before = map[int64]int64{}, r.recent
		}
	}
	r.last, r.recent[correlation] = correlation, n+1
	return n
}

// First reports whether no earlier row had that correlation. Use either it or Next.
func (r *Replays) First(correlation int64) bool {
	if r.recent != nil && r.last == correlation { // Fast path: the rows of a replay stand together.
		return false
	}
	return r.Next(correlation) == 0
}
