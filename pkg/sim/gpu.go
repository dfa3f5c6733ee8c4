package sim

import (
	"cmp"
	"slices"
)

// lane is one GPU of one rank.
type lane struct {
	rank    *rank
	device  int32
	free    int64    // when its queues are empty
	streams [3]int64 // when each stream is
	queue   []queued
	head    int    // of the queue, the first piece of work not placed yet
	meets   int    // collectives of the step that it came to
	links   [2]int // transfers to the next and from the previous stage
	dropped bool   // this step's replays are not recorded
	replays []Replay
	ends    []int64 // of the latest pieces of work, as many as the GPU's queue holds
	placed  int     // pieces of work placed since the run began
	called  int     // and launched
}

// The streams of a lane.
const (
	computeStream = iota
	reduceStream
	copyStream
)

// streamIDs are the numbers that the export has for them.
var streamIDs = [3]uint32{mainStream, 20, 24}

// queued is work whose launching call has been made.
type queued struct {
	work
	called int64
	corr   uint32
	node   uint64
	graph  uint32
	part   part
	// since gpus ran:
	ns, start, end int64
	arrived        bool
}

// part is what a piece of work is for.
type part uint8

const (
	otherPart part = iota
	forwardPart
)

// gpus runs what all queues hold.
func (s *simulator) gpus() {
	s.draw()
	s.place()
	s.recordAll()
	s.flush()
}

// draw decides how long everything takes. The queues of lanes of one stage are
// equal; a collective takes on all as long as the first one drew.
func (s *simulator) draw() {
	longest := 0
	for _, l := range s.lanes {
		longest = max(longest, len(l.queue))
	}
	for i := range longest {
		first := slices.IndexFunc(s.lanes, func(l *lane) bool { return i < len(l.queue) })
		q := &s.lanes[first].queue[i]
		together := s.lanes[first].rank.spread(q.mean*s.c.KernelScale, s.c.KernelNoise)
		for _, l := range s.lanes {
			if i >= len(l.queue) {
				continue
			}
			q := &l.queue[i]
			q.ns = together
			if !q.collective {
				q.ns = l.rank.spread(q.mean*s.c.KernelScale*l.rank.kernelFactor, s.c.KernelNoise)
			}
		}
	}
}

// meeting is a collective that some of its ranks have come to.
type meeting struct {
	parties, arrived int
	at, ns           int64
}

// meetingKey names a collective of a step: the n-th of a stage, or the n-th
// transfer between a rank of one stage and its partner in the next.
type meetingKey struct{ link, group, n int }

// place finds out when everything runs.
func (s *simulator) place() {
	meetings := map[meetingKey]*meeting{}
	for _, l := range s.lanes {
		l.head, l.meets, l.links = 0, 0, [2]int{}
	}
	for left := true; left; {
		left = false
		moved := false
		for _, l := range s.lanes {
			for l.head < len(l.queue) && l.advance(meetings) {
				moved = true
			}
			left = left || l.head < len(l.queue)
		}
		if left && !moved {
			panic("BUG: the ranks wait for each other")
		}
	}
}

// advance places the next piece of work, unless it waits for another rank.
func (l *lane) advance(meetings map[meetingKey]*meeting) bool {
	q := &l.queue[l.head]
	if !q.arrived {
		q.start = l.ready(q)
	}
	q.end = q.start + q.ns
	if q.collective {
		key, parties := l.key(q)
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
		l.met(q)
		q.end = m.at + m.ns
	}
	l.streams[q.stream] = q.end
	l.free = max(l.free, q.end)
	l.head++
	l.finished(q.end)
	return true
}

// finished remembers the end of a piece of work, for launches that must wait
// until the queue has room.
func (l *lane) finished(end int64) {
	if n := l.rank.s.c.Engine.QueueDepth; n > 0 {
		if len(l.ends) < n {
			l.ends = append(l.ends, 0)
		}
		l.ends[l.placed%n] = end
	}
	l.placed++
}

// key is which collective a piece of work is.
func (l *lane) key(q *queued) (meetingKey, int) {
	c := &l.rank.s.c
	size := len(l.rank.s.lanes) / max(1, c.Engine.Pipeline) // lanes of a stage
	at := slices.Index(l.rank.s.lanes, l)
	stage := at / size
	switch q.link {
	case 1:
		return meetingKey{1, at, l.links[0]}, 2
	case -1:
		return meetingKey{1, at - size, l.links[1]}, 2
	}
	return meetingKey{0, stage, l.meets}, size
}

// met counts a collective that has happened.
func (l *lane) met(q *queued) {
	switch q.link {
	case 1:
		l.links[0]++
	case -1:
		l.links[1]++
	default:
		l.meets++
	}
}

// eventLatency passes between work on one stream and what waits for it on
// another.
const eventLatency = 1500

// ready is when the work at the head of the queue can start.
func (l *lane) ready(q *queued) int64 {
	called, gap := q.called+apiToKernel, int64(eagerGap)
	if q.node != 0 {
		called, gap = q.called+graphToKernel, replayGap
	}
	at := max(called, l.streams[q.stream]+gap)
	if q.stream == reduceStream {
		at = max(at, l.streams[computeStream]+eventLatency)
	}
	if q.join {
		at = max(at, l.free+eventLatency)
	}
	return at
}

// recordAll adds the rows of what ran.
func (s *simulator) recordAll() {
	longest := 0
	for _, l := range s.lanes {
		longest = max(longest, len(l.queue))
	}
	for i := range longest {
		for _, l := range s.lanes {
			if i < len(l.queue) {
				s.record(l, &l.queue[i])
			}
		}
	}
}

// record adds the row of a finished piece of work, if it is recorded as one.
func (s *simulator) record(l *lane, q *queued) {
	r := l.rank
	whole := q.node != 0 && s.c.Mode == Whole
	r.note(q, q.node == 0 || !l.dropped, !whole)
	work := Work{Start: q.start, End: q.end, Corr: q.corr, Stream: streamIDs[q.stream], Context: 1, Process: r.process, Device: l.device}
	switch {
	case q.bytes != 0:
		r.t.Copies.Add(Copy{Work: work, Bytes: q.bytes, Kind: q.kind, Pageable: q.pageable})
	case whole:
		if n := len(l.replays); n == 0 || l.replays[n-1].Corr != q.corr {
			work.Stream = mainStream
			l.replays = append(l.replays, Replay{Work: work, Graph: q.graph, Exec: q.graph + execID - graphID})
		}
		last := &l.replays[len(l.replays)-1]
		last.End = max(last.End, q.end)
	case q.node != 0 && l.dropped:
	default:
		work.Node = q.node
		s.kernels = append(s.kernels, placedKernel{r.t, Kernel{Work: work, Name: q.name, Graph: q.graph}})
	}
}

// flush adds the kernels of the step in order of time, and whole-graph rows.
func (s *simulator) flush() {
	slices.SortStableFunc(s.kernels, func(a, b placedKernel) int { return cmp.Compare(a.k.Start, b.k.Start) })
	for i := range s.kernels {
		s.kernels[i].trace.Kernels.Add(s.kernels[i].k)
	}
	s.kernels = s.kernels[:0]
	for _, l := range s.lanes {
		for _, r := range l.replays {
			if !l.dropped {
				l.rank.t.Replays.Add(r)
			}
		}
		l.replays = l.replays[:0]
		l.queue = l.queue[:0]
	}
}
