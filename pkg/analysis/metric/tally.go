package metric

import (
	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
)

// tally is what was measured in some stretches of a rank's time.
type tally struct {
	wall int64 // length of the stretches, ns

	// ns, summed over GPUs. either is |prep ∪ busy|, kept while the rank has
	// input preparation at all.
	busy, nccl, comm, either int64
	// host is idle time with a host cause, of that following what lies in waits of a rank that
	// follows another, and hostTail what no activity of the segment ends.
	host, following, hostTail int64
	// loaded is |waiting ∪ busy|, of each way of waiting, kept while the rank waits so at all.
	loaded [step.RequestWays]int64
	// ns, summed over threads. waited is the part of launch in which the thread
	// waits for a full queue.
	launch, graphLaunch, waited int64
	// ns of the rank.
	prep    int64
	waiting [step.RequestWays]int64

	kernels  int64 // kernels that start in the stretches
	replayed int64 // rows that a graph replay ran, whole replays among them
	calls    int64 // graph launch calls
	replays  int64 // replays that were recorded
	whole    int64 // of these with one row for all their kernels

	wait // known at the end; fields leaves it out
}

// wait is the time that GPUs wait in collectives, and the part of that with a host cause, ns.
type wait struct{ waits, hostWaits int64 }

// add adds what was measured in other stretches, none of which overlap those of t.
// Lengths of unions add up only because a union is cut at each slice's end (End).
func (t *tally) add(u *tally) {
	from := u.fields()
	for i, v := range t.fields() {
		*v += *from[i]
	}
	t.waits, t.hostWaits = t.waits+u.waits, t.hostWaits+u.hostWaits
}

// fields are all that is measured, in one order.
func (t *tally) fields() [21]*int64 {
	return [...]*int64{
		&t.wall, &t.busy, &t.nccl, &t.comm, &t.either, &t.loaded[0], &t.loaded[1], &t.launch, &t.graphLaunch, &t.waited,
		&t.prep, &t.waiting[0], &t.waiting[1], &t.kernels, &t.replayed, &t.calls, &t.replays, &t.whole, &t.host, &t.following, &t.hostTail,
	}
}

// gpu is a device of a rank.
type gpu struct {
	device     int32
	busy       stat.Growing                   // all GPU activity
	nccl, comm stat.Growing                   // of it, NCCL's kernels and collectives by class
	either     stat.Growing                   // prep ∪ busy
	loaded     [step.RequestWays]stat.Growing // waiting ∪ busy

	// It was busy until end, at which replay is the correlation of the graph replay that ran.
	end, replay int64
	log         *collective.Log // of its collectives
}

// cut credits the open pieces up to t, where a slice ends.
func (d *gpu) cut(t int64, acc *tally) {
	acc.busy += d.busy.Cut(t)
	acc.nccl += d.nccl.Cut(t)
	acc.comm += d.comm.Cut(t)
	acc.either += d.either.Cut(t)
	for way := range d.loaded {
		acc.loaded[way] += d.loaded[way].Cut(t)
	}
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

// addLaunch adds a kernel-launch call.
func (h *thread) addLaunch(t, e int64, acc *tally) {
	ns := h.launch.Add(t, e)
	acc.launch += ns
	if h.waits {
		acc.waited += ns - h.either.Add(t, e)
	}
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

// seenSize is how many identities are remembered at least: far more replays than
// can be running at a time.
const seenSize = 4096

// seen tells the first of the rows of a graph replay, which share a correlation.
// It forgets what is long ago, so that its size does not depend on the stream's.
type seen struct {
	last     int64 // of the row before
	any      bool
	now, old map[int64]struct{}
}

// first reports whether this is the first row with that correlation.
// At least the last seenSize correlations are known, at most twice as many.
func (s *seen) first(correlation int64) bool {
	return !(s.any && s.last == correlation) && s.another(correlation)
}

// another is first for a correlation that is not that of the row before.
func (s *seen) another(correlation int64) bool {
	s.last, s.any = correlation, true
	if _, ok := s.now[correlation]; ok {
		return false
	}
	if _, ok := s.old[correlation]; ok {
		return false
	}
	if len(s.now) >= seenSize || s.now == nil {
		s.now, s.old = make(map[int64]struct{}), s.now
	}
	s.now[correlation] = struct{}{}
	return true
}
