package compare

// row is what one name of one rank cost, step after step. Steps in which the name
// does not occur have no entry; a step may have several, which add up.
type row struct {
	step  []int32
	count []uint32
	ns    []uint32
	// self and hidden are for operations: the time outside nested ranges, and the
	// time during which lanes were busy, summed over the lanes.
	self, hidden []uint32

	// The step that is being added up.
	open  int32
	n     uint32
	sum   int64
	place place
}

// place is where in a step an operation is.
type place struct {
	parent int32 // the number of the name around it, -1: none
	votes  int32
	offset int64 // of its start from that of the step, summed over n
	n      int64
}

const noStep = -1

// maxEntry is what an entry can hold; more is spread over several.
const maxEntry = 1<<32 - 1

// add adds an event of the row that took ns to a step.
func (r *row) add(step int32, ns int64) {
	if r.open != step {
		r.flush()
		r.open = step
	}
	r.n++
	r.sum += ns
}

// flush makes an entry of the step that is being added up.
func (r *row) flush() {
	if r.open == noStep || r.n == 0 {
		return
	}
	n := r.n
	for sum := r.sum; n > 0 || sum > 0; n = 0 {
		part := min(sum, maxEntry)
		r.step, r.count, r.ns = append(r.step, r.open), append(r.count, n), append(r.ns, uint32(part))
		sum -= part
	}
	r.open, r.n, r.sum = noStep, 0, 0
}

// addRange adds an operation's range to a step.
func (r *row) addRange(step int32, ns, self, hidden int64) {
	for n := uint32(1); n > 0 || ns > 0 || self > 0 || hidden > 0; n = 0 {
		a, b, c := min(ns, maxEntry), min(self, maxEntry), min(hidden, maxEntry)
		if k := len(r.step) - 1; k >= 0 && r.step[k] == step && fits(r.ns[k], a) && fits(r.hidden[k], c) {
			r.count[k] += n
			r.ns[k] += uint32(a)
			r.self[k] += uint32(b)
			r.hidden[k] += uint32(c)
		} else {
			r.step, r.count, r.ns = append(r.step, step), append(r.count, n), append(r.ns, uint32(a))
			r.self, r.hidden = append(r.self, uint32(b)), append(r.hidden, uint32(c))
		}
		ns, self, hidden = ns-a, self-b, hidden-c
	}
}

// fits tells whether an entry has room for that much more. What fits as a whole
// also does outside nested ranges, which are a part of it.
func fits(have uint32, more int64) bool { return int64(have)+more <= maxEntry }

// vote records where a range was.
func (p *place) vote(parent int32, offset int64) {
	p.offset += offset
	p.n++
	switch {
	case p.votes == 0:
		p.parent, p.votes = parent, 1
	case p.parent == parent:
		p.votes++
	default:
		p.votes--
	}
}

// section is the rows of one section of one rank, by the number of their name.
type section []row

// at returns the row of a name.
func (s *section) at(id int32) *row {
	for int(id) >= len(*s) {
		*s = append(*s, row{open: noStep})
	}
	return &(*s)[id]
}
