package sim

import "slices"

// lane is one GPU of one rank.
type lane struct {
	rank    *rank
	device  int32
	free    int64 // when its queue is empty
	queue   []queued
	dropped bool // this step's replay is not recorded
	replay  struct{ start, end int64 }
}

// queued is work whose launching call has been made.
type queued struct {
	work
	called int64
	corr   uint32
	node   uint64
}

// gpus runs what all queues hold. The queues of all lanes are alike.
func (s *simulator) gpus() {
	starts := make([]int64, len(s.lanes))
	for i := range s.lanes[0].queue {
		arrival := int64(0)
		for j, l := range s.lanes {
			starts[j] = l.ready(&l.queue[i])
			arrival = max(arrival, starts[j])
		}
		together := s.lanes[0].rank.spread(s.lanes[0].queue[i].mean*s.c.KernelScale, s.c.KernelNoise)
		for j, l := range s.lanes {
			q := &l.queue[i]
			end := arrival + together
			if !q.collective {
				end = starts[j] + l.rank.spread(q.mean*s.c.KernelScale, s.c.KernelNoise)
			}
			l.free = end
			s.record(l, q, starts[j], end)
		}
	}
	s.flush()
}

// ready is when the work at the head of the queue can start.
func (l *lane) ready(q *queued) int64 {
	if q.node != 0 {
		return max(q.called+graphToKernel, l.free+replayGap)
	}
	return max(q.called+apiToKernel, l.free+eagerGap)
}

// record adds the row of a finished piece of work, if it is recorded as one.
func (s *simulator) record(l *lane, q *queued, start, end int64) {
	r := l.rank
	switch {
	case q.bytes != 0:
		r.t.Copies.Add(Copy{Start: start, End: end, Bytes: q.bytes, Kind: q.kind, Corr: q.corr,
			Stream: mainStream, Context: 1, Process: r.process, Device: l.device})
	case q.node != 0 && s.c.Mode == Whole:
		if l.replay.end == 0 {
			l.replay.start = start
		}
		l.replay.end = end
	case q.node != 0 && l.dropped:
	default:
		k := Kernel{Start: start, End: end, Name: q.name, Corr: q.corr, Node: q.node,
			Stream: mainStream, Context: 1, Process: r.process, Device: l.device}
		if q.node != 0 {
			k.Graph = graphID
		}
		s.kernels = append(s.kernels, placedKernel{r.t, k})
	}
}

// flush adds the kernels of the step in order of time, and whole-graph rows.
func (s *simulator) flush() {
	slices.SortStableFunc(s.kernels, func(a, b placedKernel) int {
		switch {
		case a.k.Start < b.k.Start:
			return -1
		case a.k.Start > b.k.Start:
			return 1
		}
		return 0
	})
	for i := range s.kernels {
		s.kernels[i].trace.Kernels.Add(s.kernels[i].k)
	}
	s.kernels = s.kernels[:0]
	for _, l := range s.lanes {
		if l.replay.end != 0 && !l.dropped {
			l.rank.t.Replays.Add(Replay{Start: l.replay.start, End: l.replay.end, Corr: replayCorr(l.queue),
				Stream: mainStream, Context: 1, Graph: graphID, Exec: execID, Process: l.rank.process, Device: l.device})
		}
		l.replay.start, l.replay.end = 0, 0
		l.queue = l.queue[:0]
	}
}

// replayCorr is the id of the graph launch in a queue.
func replayCorr(queue []queued) uint32 {
	i := slices.IndexFunc(queue, func(q queued) bool { return q.node != 0 })
	return queue[i].corr
}
