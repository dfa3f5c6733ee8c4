package sim

import "math"

// Truth is what really happened in a simulated run. Times are those of the simulator's
// clock, which is that of the first report: ns since its session began.
type Truth struct {
	// Ranks are in the order in which readers number them: by report, then by device.
	Ranks []TrueRank
	// Layers is the number of layers of the model, over all pipeline stages.
	Layers int
	// Straggler is the rank that all others wait for in every step, -1 if there is none.
	Straggler int
}

// TrueRank is one process with GPUs.
type TrueRank struct {
	Layers int        // number of layers that this rank runs
	Steps  []TrueStep // in order
}

// TrueStep is one iteration of the engine on one rank.
type TrueStep struct {
	Number   int  // iteration in the marker, less one
	Ctx, Gen int  // context and generation requests
	Segment  int  // number of stretches without requests before it, including the one after the warm-up
	Eager    bool // no graph was replayed
	// HostStart and HostEnd are the forward-step range, whether or not it was recorded as
	// a marker.
	HostStart, HostEnd int64
	// Start and End are the target model's forward pass on the GPUs.
	Start, End int64
	// First and Last are all GPU work of the iteration: inputs, draft, sampling.
	First, Last int64
	// ReduceStart and ReduceEnd are the start of the first allreduce and the end of the
	// last one in the forward pass; Reduces is their number. All are 0 if there are none,
	// or if they are hidden in whole-graph rows or were not recorded.
	ReduceStart, ReduceEnd int64
	Reduces                int
	// Recorded is false if no GPU work of the forward pass was recorded.
	Recorded bool
	// Partial is true if part of the step was not recorded.
	Partial bool
	// Lost is the time in ns that Config.Why made the host lose, as far as the operating
	// system shows it. The rank's GPUs were idle throughout.
	Lost int64
	// Report is the index of the rank's report that contains the step.
	Report int
}

// SimulateTruth is Simulate or, with split, SimulateReports, and also returns the truth.
// With Engine.SplitRanges the reports of the first range come first, then those of the
// second.
func SimulateTruth(c Config, split bool) ([]*Trace, *Truth, error) {
	s, err := simulate(c, split, true)
	if err != nil {
		return nil, nil, err
	}
	return s.traces, &s.truth, nil
}

// conclude sets the truth about the run as a whole.
func (s *simulator) conclude() {
	s.truth.Layers, s.truth.Straggler = s.c.Layers, -1
	if s.c.Slow > 0 {
		s.truth.Straggler = s.c.SlowRank
	}
	for _, f := range s.c.Faults {
		if f.Kind == FaultSlowGPU && f.Rank >= 0 {
			s.truth.Straggler = f.Rank
		}
	}
}

// beginTruth begins a step in the truth of all ranks.
func (s *simulator) beginTruth(info stepInfo) {
	for i, r := range s.ranks {
		t := &s.truth.Ranks[i]
		if !s.told {
			t.Steps = t.Steps[:0]
		}
		t.Steps = append(t.Steps, TrueStep{Number: info.number, Ctx: info.ctx, Gen: info.gen,
			Segment: s.segment, Start: math.MaxInt64, First: math.MaxInt64, Eager: true})
		r.true = &t.Steps[len(t.Steps)-1]
	}
}

// recordTruth adds a piece of GPU work to the truth. recorded is false for a dropped
// replay, visible if it has a row of its own.
func (r *rank) recordTruth(q *queued, recorded, visible bool) {
	t := r.true
	t.First, t.Last = min(t.First, q.start), max(t.Last, q.end)
	if q.part != forwardPart {
		return
	}
	t.Start, t.End = min(t.Start, q.start), max(t.End, q.end)
	t.Eager = t.Eager && q.node == 0
	t.Recorded = t.Recorded || recorded
	if q.reduce && recorded && visible {
		if t.Reduces == 0 {
			t.ReduceStart = q.start
		}
		t.Reduces++
		t.ReduceEnd = max(t.ReduceEnd, q.end)
	}
}
