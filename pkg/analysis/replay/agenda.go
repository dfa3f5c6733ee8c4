package replay

// The order in which things happen at one instant.
const (
	meets    = iota // a collective ends
	hostEnds        // a row of a thread ends
	stepEnds        // a step ends
)

// end is something due at time t. ref is the number of the meeting, row or step that it
// concerns. It holds no pointers, so that moving it about is cheap.
type end struct {
	t     int64
	order uint64 // what first, then the latest begun first
	ref   int32
}

const seqBits = 60

// what returns the kind of event: meets, hostEnds or stepEnds.
func (a *end) what() int { return int(a.order >> seqBits) }

// agenda is a heap of what is due, the earliest first. At one time collectives end
// before rows, and rows before steps; among equals, what began last ends first.
type agenda struct {
	heap []end
	seq  uint64
}

// next returns the time of the first end, never if there is none.
func (a *agenda) next() int64 {
	if len(a.heap) == 0 {
		return never
	}
	return a.heap[0].t
}

func (a *end) before(b *end) bool { return a.t < b.t || a.t == b.t && a.order < b.order }

// push adds an end.
func (a *agenda) push(t int64, what int, ref int32) {
	a.seq++
	x := end{t, uint64(what)<<seqBits | (1<<seqBits - 1 - a.seq), ref}
	h := append(a.heap, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	a.heap = h
}

// pop removes and returns the first end. The agenda must not be empty.
func (a *agenda) pop() end {
	h := a.heap
	first, n := h[0], len(h)-1
	x := h[n]
	h = h[:n]
	a.heap = h
	i := 0
	for {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && h[k+1].before(&h[k]) {
			k++
		}
		if !h[k].before(&x) {
			break
		}
		h[i] = h[k]
		i = k
	}
	if n > 0 {
		h[i] = x
	}
	return first
}
