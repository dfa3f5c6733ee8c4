package gap

// ringSize is how many launches of a rank are remembered: many more than can be pending on
// its GPUs at once.
const ringSize = 1 << 15

// launch is an API call that submitted work to a GPU.
type launch struct {
	id    int64 // its correlation plus 1, 0 for no launch
	start int64
	path  int32 // the ranges around the call
	name  int32
}

// ring finds recent launches by correlation. The low bits of a correlation are its slot,
// because a process numbers its calls consecutively. On a collision the ring grows, up to
// ringSize; with many ranks, few need that much.
type ring struct{ slots []launch }

// ringStart is the initial size of a ring.
const ringStart = 1 << 8

// add remembers a launch; the first one with a correlation counts. In a ring of full size the
// launch may replace an older one, which then cannot be found.
func (r *ring) add(correlation, start int64, path, name int32) {
	if r.slots == nil {
		r.slots = make([]launch, ringStart)
	}
	id := correlation + 1
	for at := r.slot(id).id; at != id && at != 0 && len(r.slots) < ringSize; at = r.slot(id).id {
		r.grow()
	}
	if l := r.slot(id); l.id != id {
		*l = launch{id, start, path, name}
	}
}

// slot returns the slot of an id. The pointer is invalid after grow.
func (r *ring) slot(id int64) *launch { return &r.slots[id&int64(len(r.slots)-1)] }

// grow doubles the size of the ring.
func (r *ring) grow() {
	old := r.slots
	r.slots = make([]launch, 2*len(old))
	for _, l := range old {
		if l.id != 0 {
			*r.slot(l.id) = l
		}
	}
}

// find returns the launch with this correlation that began at start, nil if unknown. The
// pointer is valid until the next add.
func (r *ring) find(correlation, start int64) *launch {
	if r.slots == nil || correlation < 0 {
		return nil
	}
	if l := r.slot(correlation + 1); l.id == correlation+1 && l.start == start {
		return l
	}
	return nil
}
