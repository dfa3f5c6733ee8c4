package sim

import (
	"cmp"
	"maps"
	"slices"
)

// recorded is a stretch of time in which the profiler was on, in ns; to is excluded.
type recorded struct{ from, to int64 }

// profile starts or stops the profiler before a step, on all ranks, as
// TLLM_PROFILE_START_STOP does.
func (s *simulator) profile(i int) {
	e := s.c.Engine
	if e.RecordSteps == 0 {
		return
	}
	switch i % (e.RecordSteps + e.SkipSteps) {
	case 0:
		s.ranges = append(s.ranges, recorded{from: s.together(apiStart)})
	case e.RecordSteps:
		s.endProfile()
	}
}

// endProfile stops the profiler if it is on.
func (s *simulator) endProfile() {
	if n := len(s.ranges); n > 0 && s.ranges[n-1].to == 0 {
		s.ranges[n-1].to = s.together(apiStop)
	}
}

// together makes all ranks finish their work and call the profiler at the same time. It
// returns when recording starts, or for a stop, when it ends.
func (s *simulator) together(name string) int64 {
	at := int64(0)
	for _, r := range s.ranks {
		at = max(at, r.now, r.waited)
	}
	for _, r := range s.ranks {
		r.now = at + 20_000
		r.call(name, 60_000)
	}
	if name == apiStop {
		return at + 80_000
	}
	return at + 20_000
}

// cutShare limits the recording to the stretch between two shares of the run, if they are
// set.
func (s *simulator) cutShare() {
	e := s.c.Engine
	if e.CutFrom == 0 && e.CutTo == 0 {
		return
	}
	first, last := s.c.Start, int64(0)
	for _, r := range s.ranks {
		last = max(last, r.now, r.waited)
	}
	e.CutTo = cmp.Or(e.CutTo, 1)
	at := func(share float64) int64 { return first + int64(share*float64(last-first)) }
	s.ranges = []recorded{{at(e.CutFrom), at(e.CutTo)}}
}

// cutRanges removes what was not recorded. If each range is a report of its own, it
// splits the traces.
func (s *simulator) cutRanges() {
	s.cutShare()
	if len(s.ranges) == 0 {
		return
	}
	s.cutTruth()
	if !s.c.Engine.SplitRanges {
		for i, t := range s.traces {
			s.traces[i] = t.cut(s.ranges)
		}
		return
	}
	whole := s.traces
	s.traces = nil
	for _, r := range s.ranges {
		for _, t := range whole {
			s.traces = append(s.traces, t.cut([]recorded{r}))
		}
	}
}

// cutTruth keeps the steps that were recorded at least in part.
func (s *simulator) cutTruth() {
	for i := range s.truth.Ranks {
		t := &s.truth.Ranks[i]
		var kept []TrueStep
		for _, step := range t.Steps {
			for n, r := range s.ranges {
				if step.HostStart < r.to && step.Last > r.from {
					step.Report, step.Partial = n, step.HostStart < r.from || step.First < r.from || max(step.Last, step.HostEnd) > r.to
					kept = append(kept, step)
				}
			}
		}
		t.Steps = kept
	}
}

// cut returns the trace with the rows that start inside one of the ranges. Definitions of
// domains, and rows of the operating system and of samples, all remain.
func (t *Trace) cut(ranges []recorded) *Trace {
	in := func(at int64) bool {
		return slices.ContainsFunc(ranges, func(r recorded) bool { return r.from <= at && at < r.to })
	}
	c := *t
	c.strings, c.names = slices.Clone(t.strings), slices.Clone(t.names)
	c.ids, c.nameIDs = maps.Clone(t.ids), maps.Clone(t.nameIDs)
	c.Kernels = keep(&t.Kernels, func(k *Kernel) bool { return in(k.Start) })
	c.Replays = keep(&t.Replays, func(r *Replay) bool { return in(r.Start) })
	c.Copies = keep(&t.Copies, func(c *Copy) bool { return in(c.Start) })
	c.Fills = keep(&t.Fills, func(f *Fill) bool { return in(f.Start) })
	c.Calls = keep(&t.Calls, func(c *Call) bool { return in(c.Start) })
	c.NVTX = keep(&t.NVTX, func(n *NVTXEvent) bool { return n.Kind == NVTXDomain || in(n.Start) })
	c.NVTX.Change(func(n *NVTXEvent) { n.Open = n.Open || !in(n.End-1) })
	c.Syncs = keep(&t.Syncs, func(s *Sync) bool { return in(s.Start) })
	c.Overheads = keep(&t.Overheads, func(o *Overhead) bool { return in(o.Start) })
	return &c
}

// keep copies the rows that are wanted. The list is not changed.
func keep[T any](l *List[T], want func(*T) bool) (kept List[T]) {
	for v := range l.All() {
		if want(v) {
			kept.Add(*v)
		}
	}
	return kept
}
