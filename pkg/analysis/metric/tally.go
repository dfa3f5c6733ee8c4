package metric

import (
	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
)

// tally is what was measured in some stretches of a rank's time.
type tally struct {
	wall int64 // length of the stretches, ns

	busy, nccl, comm            int64            // ns, summed over GPUs
	launch, graphLaunch, waited int64            // ns, summed over threads; waited is the part of launch in a full queue
	during                      [numWays]overlap // see ways

	kernels  int64 // kernels that start in the stretches
	replayed int64 // rows that a graph replay ran, whole replays among them
	calls    int64 // graph launch calls
	replays  int64 // replays that were recorded
	whole    int64 // of these with one row for all their kernels

	credit
}

// What the host does, or waits for, of which it is measured how long GPUs are idle meanwhile.
const (
	preparing = step.RequestWays + iota // input; before it, the ways to wait for requests
	numWays
)

// overlap is a union of spans of a rank, and the part of it during which GPUs are idle.
type overlap struct {
	ns   int64 // of the union
	idle int64 // summed over the GPUs that were known by then
	seen int64 // ns times the number of these
}

// idleOf is the part of the union during which GPUs are idle, summed over all of a rank's. One
// that was not known yet was idle.
func (o *overlap) idleOf(gpus int) int64 { return o.idle + int64(gpus)*o.ns - o.seen }

// credit is what is known of a stretch only later. ns, summed over GPUs.
type credit struct {
	waits, hostWaits int64 // in collectives, and the part of that with a host cause
	host, following  int64 // idle time with a host cause, and of that what lies in waits of a rank that follows another
	hostTail         int64 // idle time that has one but that no activity of the segment ends
}

// add adds what was measured in other stretches, none of which overlap those of t.
// Lengths of unions add up only because a union is cut at each slice's end (End).
func (t *tally) add(u *tally) {
	var from, sum [numFields]int64
	n := len(u.Put(from[:0]))
	for i, v := range t.Put(sum[:0]) {
		sum[i] = v + from[i]
	}
	t.Take(sum[:n])
}

// numFields is how many numbers a tally has.
const numFields = 17 + 3*numWays

// Put and Take make a tally an element of a list.
func (t *tally) Put(v []int64) []int64 {
	v = append(v, t.wall, t.busy, t.nccl, t.comm, t.launch, t.graphLaunch, t.waited, t.kernels, t.replayed, t.calls, t.replays, t.whole,
		t.waits, t.hostWaits, t.host, t.following, t.hostTail)
	for _, o := range t.during {
		v = append(v, o.ns, o.idle, o.seen)
	}
	return v
}

func (t *tally) Take(v []int64) {
	for i, to := range [...]*int64{&t.wall, &t.busy, &t.nccl, &t.comm, &t.launch, &t.graphLaunch, &t.waited, &t.kernels, &t.replayed, &t.calls, &t.replays, &t.whole,
		&t.waits, &t.hostWaits, &t.host, &t.following, &t.hostTail} {
		*to = v[i]
	}
	for way := range t.during {
		o := v[len(v)-3*numWays+3*way:]
		t.during[way] = overlap{o[0], o[1], o[2]}
	}
}

// gpu is a device of a rank.
type gpu struct {
	device     int32
	busy       stat.Growing          // all GPU activity
	nccl, comm stat.Growing          // of it, NCCL's kernels and collectives by class
	either     [numWays]stat.Growing // what the host does ∪ busy, kept once it does so at all

	// It was busy until end, at which replay is the correlation of the graph replay that ran.
	end, replay int64
	log         *collective.Log // of its collectives
}

// add adds an activity.
func (d *gpu) add(t, e int64, did *[numWays]union, acc *tally) {
	busy := d.busy.Add(t, e)
	acc.busy += busy
	for way := range did {
		if did[way].any {
			acc.during[way].idle += d.either[way].Add(t, e) - busy
		}
	}
}

// cut credits the open pieces up to t, where a slice ends.
func (d *gpu) cut(t int64, did *[numWays]union, acc *tally) {
	busy := d.busy.Cut(t)
	acc.busy += busy
	acc.nccl += d.nccl.Cut(t)
	acc.comm += d.comm.Cut(t)
	for way := range did {
		if did[way].any {
			acc.during[way].idle += d.either[way].Cut(t) - busy
		}
	}
}

// union is what a rank's host does in one way.
type union struct {
	stat.Growing
	any bool
}

// thread is a thread of a rank that launches.
type thread struct {
	id          int64
	launch      stat.Growing // kernel-launch calls
	graphLaunch stat.Growing // graph-launch calls
	launches    int64        // how many of both
	requester   step.Requester
	// full is when the thread waits for a full queue, either launch ∪ full; both
	// are kept once it waits at all.
	waits        bool
	full, either stat.Growing
}

// addFull adds a wait for a full queue: |launch ∩ full| is |launch| + |full| −
// |launch ∪ full|.
func (h *thread) addFull(t, e int64, acc *tally) {
	if !h.waits {
		h.waits, h.full, h.either = true, stat.Empty, h.launch
	}
	acc.waited += h.full.Add(t, e) - h.either.Add(t, e)
}

// cut credits the open pieces up to t, where a slice ends.
func (h *thread) cut(t int64, acc *tally) {
	ns := h.launch.Cut(t)
	acc.launch += ns
	if h.waits {
		acc.waited += ns + h.full.Cut(t) - h.either.Cut(t)
	}
	acc.graphLaunch += h.graphLaunch.Cut(t)
}
