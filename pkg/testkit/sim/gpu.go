package sim

import (
	"cmp"
	"slices"
)

// device is one GPU of one rank.
type device struct {
	rank    *rank
	id      int32
	free    int64    // time when its queues are empty
	streams [3]int64 // the same for each stream
	queue   []queued
	head    int    // index in queue of the first work that is not placed
	meets   int    // collectives of the step that it reached
	links   [2]int // transfers to the next stage and from the previous one
	dropped bool   // this step's replays are not recorded
	replays []Replay
	ends    []int64 // ends of the latest work, as many as the GPU's queue holds
	placed  int     // work placed since the run began
	called  int     // work launched since the run began
}

// The streams of a device.
const (
	computeStream = iota
	reduceStream
	copyStream
)

// streamIDs are the numbers of the streams in the export.
var streamIDs = [3]uint32{mainStream, 20, 24}

// queued is work whose launching call has been made.
type queued struct {
	work
	called int64
	corr   uint32
	node   uint64
	graph  uint32
	part   part
	// Set by gpus:
	ns, start, end int64
	arrived        bool
}

// part is the purpose of a piece of work.
type part uint8

const (
	otherPart part = iota
	forwardPart
)

// gpus runs the work in all queues.
func (s *simulator) gpus() {
	s.draw()
	s.place()
	s.recordAll()
	s.flush()
}

// draw draws how long everything takes. The devices of one stage have equal queues. A
// collective takes the same time on all devices, as drawn by the first one.
func (s *simulator) draw() {
	for i := range s.longest() {
		first := slices.IndexFunc(s.devices, func(d *device) bool { return i < len(d.queue) })
		q := &s.devices[first].queue[i]
		together := s.devices[first].rank.spread(q.mean*s.c.KernelScale, s.c.KernelNoise)
		for _, d := range s.devices {
			if i >= len(d.queue) {
				continue
			}
			q := &d.queue[i]
			q.ns = together
			if !q.collective {
				q.ns = d.rank.spread(q.mean*s.c.KernelScale*d.rank.kernelFactor, s.c.KernelNoise)
			}
		}
	}
}

// longest returns the length of the longest queue.
func (s *simulator) longest() (n int) {
	for _, d := range s.devices {
		n = max(n, len(d.queue))
	}
	return n
}

// meeting is a collective that some of its ranks have reached.
type meeting struct {
	parties, arrived int
	at, ns           int64
}

// meetingKey identifies a collective of a step: the n-th of a stage, or the n-th transfer
// between a rank and its partner in the next stage.
type meetingKey struct{ link, group, n int }

// place determines when everything runs. It works off the queues in turn, each until it
// waits for a rank that has not reached a collective. All waiting at once would be a
// mistake in the model.
func (s *simulator) place() {
	meetings := map[meetingKey]*meeting{}
	for _, d := range s.devices {
		d.head, d.meets, d.links = 0, 0, [2]int{}
	}
	for left := true; left; {
		left = false
		moved := false
		for _, d := range s.devices {
			for d.head < len(d.queue) && d.advance(meetings) {
				moved = true
			}
			left = left || d.head < len(d.queue)
		}
		if left && !moved {
			panic("BUG: the ranks wait for each other")
		}
	}
}

// advance places the next piece of work, unless it waits for another rank, and reports
// whether it did. A collective begins on each rank when that rank is ready. It ends on
// all ranks when the last to arrive has had its time.
func (d *device) advance(meetings map[meetingKey]*meeting) bool {
	q := &d.queue[d.head]
	if !q.arrived {
		q.start = d.ready(q)
	}
	q.end = q.start + q.ns
	if q.collective {
		key, parties, count := d.key(q)
		m := meetings[key]
		if m == nil {
			m = &meeting{parties: parties}
			meetings[key] = m
		}
		if !q.arrived {
			q.arrived = true
			m.arrived++
			m.at, m.ns = max(m.at, q.start), max(m.ns, q.ns)
		}
		if m.arrived < m.parties {
			return false
		}
		*count++
		q.end = m.at + m.ns
	}
	d.streams[q.stream] = q.end
	d.free = max(d.free, q.end)
	d.head++
	d.finished(q.end)
	return true
}

// finished records the end of a piece of work, for launches that must wait until the
// queue has room.
func (d *device) finished(end int64) {
	if n := d.rank.s.c.Engine.QueueDepth; n > 0 {
		if len(d.ends) < n {
			d.ends = append(d.ends, 0)
		}
		d.ends[d.placed%n] = end
	}
	d.placed++
}

// key returns which collective a piece of work is and how many devices take part. count
// is the device's number of completed collectives of that kind.
func (d *device) key(q *queued) (key meetingKey, parties int, count *int) {
	all := d.rank.s.devices
	size := len(all) / max(1, d.rank.s.c.Engine.Pipeline) // devices of a stage
	at := slices.Index(all, d)
	switch q.link {
	case 1:
		return meetingKey{1, at, d.links[0]}, 2, &d.links[0]
	case -1:
		return meetingKey{1, at - size, d.links[1]}, 2, &d.links[1]
	}
	return meetingKey{0, at / size, d.meets}, size, &d.meets
}

// eventLatency is the time in ns from the end of work on one stream to the start of what
// waits for it on another.
const eventLatency = 1500

// ready returns when the work at the head of the queue can start.
func (d *device) ready(q *queued) int64 {
	called, gap := q.called+apiToKernel, int64(eagerGap)
	if q.node != 0 {
		called, gap = q.called+graphToKernel, replayGap
	}
	at := max(called, d.streams[q.stream]+gap)
	if q.stream == reduceStream {
		at = max(at, d.streams[computeStream]+eventLatency)
	}
	if q.join {
		at = max(at, d.free+eventLatency)
	}
	return at
}

// recordAll adds the rows of the work that ran.
func (s *simulator) recordAll() {
	for i := range s.longest() {
		for _, d := range s.devices {
			if i < len(d.queue) {
				s.record(d, &d.queue[i])
			}
		}
	}
}

// record adds the row of finished work, if it has a row of its own. The truth includes
// all work; a replay that was not recorded has no row.
func (s *simulator) record(d *device, q *queued) {
	r := d.rank
	whole := q.node != 0 && s.c.Mode == Whole
	r.recordTruth(q, q.node == 0 || !d.dropped, !whole)
	work := Work{Start: q.start, End: q.end, Corr: q.corr, Stream: streamIDs[q.stream], Context: 1, Process: r.process, Device: d.id}
	switch {
	case q.bytes != 0:
		r.t.Copies.Add(Copy{Work: work, Bytes: q.bytes, Kind: q.kind, Pageable: q.pageable})
	case whole:
		if n := len(d.replays); n == 0 || d.replays[n-1].Corr != q.corr {
			work.Stream = mainStream
			d.replays = append(d.replays, Replay{Work: work, Graph: q.graph, Exec: q.graph + execID - graphID})
		}
		last := &d.replays[len(d.replays)-1]
		last.End = max(last.End, q.end)
	case q.node != 0 && d.dropped:
	default:
		work.Node = q.node
		s.kernels = append(s.kernels, placedKernel{r.t, Kernel{Work: work, Name: q.name, Graph: q.graph}})
	}
}

// flush adds the step's kernels in order of time, and whole-graph rows.
func (s *simulator) flush() {
	slices.SortStableFunc(s.kernels, func(a, b placedKernel) int { return cmp.Compare(a.k.Start, b.k.Start) })
	for i := range s.kernels {
		s.kernels[i].trace.Kernels.Add(s.kernels[i].k)
	}
	s.kernels = s.kernels[:0]
	for _, d := range s.devices {
		for _, r := range d.replays {
			if !d.dropped {
				d.rank.t.Replays.Add(r)
			}
		}
		d.replays = d.replays[:0]
		d.queue = d.queue[:0]
	}
}
