package gap

// ringSize is how many calls of a rank are remembered: many more than can wait
// for the GPU at a time.
const ringSize = 1 << 15

// launch is a call that put work on a GPU.
type launch struct {
	correlation int64
	start       int64
	path        int32 // of ranges around the call
	name        int32
	ran         bool // a kernel of it, or its replay, was seen
	recorded    bool // something of its replay was seen
}

// ring finds recent launches by their correlation, whose low bits are its place:
// a process numbers its calls one after the other.
type ring struct{ slots []launch }

func newRing() ring {
	r := ring{make([]launch, ringSize)}
	for i := range r.slots {
		r.slots[i].correlation = none
	}
	return r
}

// add remembers a launch, of several with one correlation the first.
func (r *ring) add(correlation, start int64, path, name int32) {
	l := &r.slots[correlation&(ringSize-1)]
	if l.correlation != correlation {
		*l = launch{correlation: correlation, start: start, path: path, name: name}
	}
}

// find returns the launch that began at start, nil where it is not known.
func (r *ring) find(correlation, start int64) *launch {
	if r.slots == nil {
		return nil
	}
	l := &r.slots[correlation&(ringSize-1)]
	if l.correlation != correlation || l.start != start {
		return nil
	}
	return l
}

// seen tells the first GPU row of a launch that is not remembered.
type seen [256]int64

// first tells whether this is the first row with that correlation for a while.
// Correlations are not negative.
func (s *seen) first(correlation int64) bool {
	slot := &s[correlation&255]
	if *slot == correlation+1 {
		return false
	}
	*slot = correlation + 1
	return true
}
