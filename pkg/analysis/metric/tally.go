package metric

import (
	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
)

// tally holds the measurements of some part of a rank's time, which need not be contiguous.
type tally struct {
	wall int64 // length of that time, ns

	busy, nccl, comm            int64            // ns, summed over GPUs
	launch, graphLaunch, waited int64            // ns, summed over threads; waited is the part of launch that waits for a full queue
	during                      [numWays]overlap // by way, see preparing

	kernels  int64 // kernels that start in that time
	replayed int64 // GPU rows that a graph replay ran, including whole-graph rows
	calls    int64 // graph launch calls
	replays  int64 // recorded replays
	whole    int64 // those of replays with one row for all their kernels

	credit
}

// The ways in which the host is busy or waits for which the idle time of GPUs is measured.
const (
	preparing = step.RequestWays + iota // prepares input; the numbers before it are the ways to wait for requests
	numWays
)

// overlap is a union of spans of a rank, and the part of it during which GPUs are idle.
type overlap struct {
	ns   int64 // length of the union
	idle int64 // idle part, summed over the GPUs that were known then
	seen int64 // ns times the number of GPUs that were known then
}

// idleOf returns the part of the union during which GPUs are idle, summed over all GPUs of a rank,
// in ns. A GPU that was not known yet was idle.
func (o *overlap) idleOf(gpus int) int64 { return o.idle + int64(gpus)*o.ns - o.seen }

// credit is the part of a tally that is known only later, in ns summed over GPUs.
type credit struct {
	waits, hostWaits int64 // waits in collectives, and the part of them with a host cause
	host, following  int64 // idle time with a host cause, and the part in waits for the rank that fetches requests
	hostTail         int64 // idle time with a host cause that no activity of the segment ends
}

// add adds the tally of other time, which must not overlap that of t. Lengths of unions add up
// only because unions are cut at the end of each slice (rank.End).
func (t *tally) add(u *tally) {
	var from, sum [numFields]int64
	n := len(u.Put(from[:0]))
	for i, v := range t.Put(sum[:0]) {
		sum[i] = v + from[i]
	}
	t.Take(sum[:n])
}

// numFields is the number of values in a tally.
const numFields = 17 + 3*numWays

// Put and Take make tallies elements of a spill.Packed.
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
	nccl, comm stat.Growing          // NCCL kernels, and collectives by class
	either     [numWays]stat.Growing // rank.did ∪ busy, by way; valid once the host did anything in that way

	// end is the latest end of an activity. replay is the correlation of the graph replay that it
	// belongs to, stat.None for no replay.
	end, replay int64
	log         *collective.Log // log of its collectives
}

// add adds an activity from t to e.
func (d *gpu) add(t, e int64, did *[numWays]union, acc *tally) {
	busy := d.busy.Add(t, e)
	acc.busy += busy
	for way := range did {
		if did[way].any {
			acc.during[way].idle += d.either[way].Add(t, e) - busy
		}
	}
}

// cut credits the open spans of all unions up to t, where a slice ends.
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

// union is the time in which a rank's host is busy or waits in one way.
type union struct {
	stat.Growing
	any bool
}

// thread is a thread of a rank that makes launch calls.
type thread struct {
	id          int64
	launch      stat.Growing // kernel-launch calls
	graphLaunch stat.Growing // graph-launch calls
	launches    int64        // number of both
	requester   step.Requester
	// full is when the thread waits for a full queue, and either is launch ∪ full. Both are
	// valid once waits is set: it has waited.
	waits        bool
	full, either stat.Growing
}

// addFull adds a wait for a full queue from t to e. It counts |launch ∩ full|, which is
// |launch| + |full| − |launch ∪ full|.
func (h *thread) addFull(t, e int64, acc *tally) {
	if !h.waits {
		h.waits, h.full, h.either = true, stat.Empty, h.launch
	}
	acc.waited += h.full.Add(t, e) - h.either.Add(t, e)
}

// cut credits the open spans of all unions up to t, where a slice ends.
func (h *thread) cut(t int64, acc *tally) {
	ns := h.launch.Cut(t)
	acc.launch += ns
	if h.waits {
		acc.waited += ns + h.full.Cut(t) - h.either.Cut(t)
	}
	acc.graphLaunch += h.graphLaunch.Cut(t)
}
