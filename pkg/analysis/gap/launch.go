package gap

// ringSize is how many launches of a rank are remembered: many more than can be pending on
// its GPUs at once.
const ringSize = 1 << 15

// launch is an API call that submitted work to a GPU.
type launch struct {
	correlation int64
	start       int64
	path        int32 // the ranges around the call
	name        int32
}

// ring finds recent launches by correlation. The low bits of a correlation are its slot,
// because a process numbers its calls consecutively. On a collision the ring grows, up to
// ringSize; with many ranks, few need that much.
type ring struct{ slots []launch }

// ringStart is the initial size of a ring.
const ringStart = 1 << 8

// newSlots returns slots without launches.
func newSlots(n int) []launch {
	slots := make([]launch, n)
	for i := range slots {
		slots[i].correlation = none
	}
	return slots
}

// add remembers a launch; the first one with a correlation counts. In a ring of full size the
// launch may replace an older one, which then cannot be found.
func (r *ring) add(correlation, start int64, path, name int32) {
	if r.slots == nil {
		r.slots = newSlots(ringStart)
	}
	l := r.slot(correlation)
	for l.correlation != correlation && l.correlation != none && len(r.slots) < ringSize {
		r.grow()
		l = r.slot(correlation)
	}
	if l.correlation != correlation {
		*l = launch{correlation: correlation, start: start, path: path, name: name}
	}
}

// slot returns the slot of a correlation. The pointer is invalid after grow.
func (r *ring) slot(correlation int64) *launch {
	return &r.slots[correlation&int64(len(r.slots)-1)]
}

// grow doubles the size of the ring.
func (r *ring) grow() {
	old := r.slots
	r.slots = newSlots(2 * len(old))
	for _, l := range old {
		if l.correlation != none {
			*r.slot(l.correlation) = l
		}
	}
}

// find returns the launch with this correlation that began at start, nil if unknown. The
// pointer is valid until the next add.
func (r *ring) find(correlation, start int64) *launch {
	if r.slots == nil {
		return nil
	}
	l := r.slot(correlation)
	if l.correlation != correlation || l.start != start {
		return nil
	}
	return l
}
