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
}

// ring finds recent launches by their correlation, whose low bits are its place:
// a process numbers its calls one after the other. It becomes as large as it must be for
// each to have a place of its own, up to ringSize: few of many ranks have many calls.
type ring struct{ slots []launch }

// ringStart is the size of a ring with its first launch.
const ringStart = 1 << 8

// newSlots returns slots without launches.
func newSlots(n int) []launch {
	slots := make([]launch, n)
	for i := range slots {
		slots[i].correlation = none
	}
	return slots
}

// add remembers a launch, of several with one correlation the first.
// In a full ring the new one takes the place of an older one, which is not found any more.
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

// slot returns the place of a correlation.
func (r *ring) slot(correlation int64) *launch {
	return &r.slots[correlation&int64(len(r.slots)-1)]
}

// grow makes the ring twice as large. What a pointer to a slot says is not up to date after.
func (r *ring) grow() {
	old := r.slots
	r.slots = newSlots(2 * len(old))
	for _, l := range old {
		if l.correlation != none {
			*r.slot(l.correlation) = l
		}
	}
}

// find returns the launch that began at start, nil where it is not known.
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
