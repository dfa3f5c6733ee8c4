package sim

import (
	"strings"
	"testing"
)

// features is a change of a Config for each thing that is off by default.
var features = map[string]func(*Config){
	"chunked":      func(c *Config) { c.Traffic.Chunks = 3 },
	"finishing":    func(c *Config) { c.Traffic.FinishStep, c.Batch = 2, 8 },
	"idle":         func(c *Config) { c.Traffic = Traffic{IdleEvery: 7, IdleMin: 50, IdleMax: 300} },
	"decode":       func(c *Config) { c.Traffic.Decode = true },
	"alone":        func(c *Config) { c.Traffic.Alone = true },
	"mamba":        func(c *Config) { c.Model.AttentionEvery = 8 },
	"moe":          func(c *Config) { c.Model = Model{Experts: true, DenseFirst: 1, Shared: true} },
	"attention DP": func(c *Config) { c.Model = Model{Experts: true, DenseFirst: 3, AllToAll: true, AttentionDP: true} },
	"side stream":  func(c *Config) { c.Model.SideStream = true },
	"copy stream":  func(c *Config) { c.Model.CopyStream = true },
	"compiled":     func(c *Config) { c.Model.Kernels = "compiled" },
	"torch":        func(c *Config) { c.Model.Kernels, c.Engine.LogitsOutside = "torch", true },
	"two kinds":    func(c *Config) { c.Model.PrefillComm = "nccl" },
	"scatter":      func(c *Config) { c.Model.Scatter = true },
	"preparing":    func(c *Config) { c.Engine.PrepKernels = 7 },
	"MTP":          func(c *Config) { c.Draft = Draft{Tokens: 2, Layers: 1, Inside: true} },
	"draft":        func(c *Config) { c.Draft, c.Host = Draft{Tokens: 3, Layers: 2}, WithDraft(c.Host) },
	"draft after":  func(c *Config) { c.Draft, c.Host = Draft{Tokens: 2, Layers: 1}, WithDraftAfter(c.Host) },
	"eager draft":  func(c *Config) { c.Mode, c.Draft, c.Host = Eager, Draft{Tokens: 3, Layers: 2}, WithDraft(c.Host) },
	"ahead":        func(c *Config) { c.Engine.Ahead = 10 },
	"no wait":      func(c *Config) { c.Engine.Ahead, c.Engine.NoWait = 5, true },
	"queue":        func(c *Config) { c.Engine.Ahead, c.Engine.QueueDepth, c.Mode, c.KernelScale = 40, 1024, Eager, 3 },
	"sampler":      func(c *Config) { c.Engine.SampleComm, c.Engine.SampleComms = "allreduce", 2 },
	"logits": func(c *Config) {
		c.Engine.LogitsOutside, c.Engine.SampleComm, c.Engine.SampleComms = true, "allgather", 1
	},
	"pieces":       func(c *Config) { c.Engine.Piecewise, c.Engine.PiecewiseContext = true, true },
	"whole pieces": func(c *Config) { c.Mode, c.Engine.Piecewise = Whole, true },
	"a third":      func(c *Config) { c.Engine.EagerShare = 1.0 / 3 },
	"pipeline":     func(c *Config) { c.Engine.Pipeline, c.Engine.Ahead = 2, 1 },
	"TP and PP":    func(c *Config) { c.Ranks, c.Engine.Pipeline, c.Engine.Ahead = 4, 2, 1 },
	"ranges":       func(c *Config) { c.Engine.RecordSteps, c.Engine.SkipSteps = 8, 4 },
	"rotate":       func(c *Config) { c.Faults = []Fault{{Kind: FaultRotate, US: 300, Rank: -1}} },
	"slow GPU":     func(c *Config) { c.Faults = []Fault{{Kind: FaultSlowGPU, Rank: 1, Factor: 1.5}} },
	"sync":         func(c *Config) { c.Faults = []Fault{{Kind: FaultSync, At: "_forward_step", Rank: -1}} },
	"pageable":     func(c *Config) { c.Mode, c.Faults = Eager, []Fault{{Kind: FaultPageable, US: 20, Rank: -1}} },
	"JIT":          func(c *Config) { c.Faults = []Fault{{Kind: FaultJIT, Every: 20, US: 80_000, Count: 2000, Rank: -1}} },
	"tails":        func(c *Config) { c.Faults = []Fault{{Kind: FaultTail, Share: 0.3, US: 5000, Rank: -1}} },
	"heavy":        func(c *Config) { c.Noise = Noise{Kind: "heavy", Scale: 0.1, Kernels: true} },
	"sticky":       func(c *Config) { c.Noise = Noise{Kind: "sticky", Scale: 0.2, Rho: 0.95, Private: true} },
}

// TestFeatures wants of every feature what holds for any machine, and that the
// truth agrees with the trace.
func TestFeatures(t *testing.T) {
	plain := formatted(t, mustSimulate(t, nil))
	for name, change := range features {
		t.Run(name, func(t *testing.T) {
			c := Default()
			change(&c)
			traces, truth, err := SimulateTruth(c, false)
			if err != nil {
				t.Fatal(err)
			}
			if formatted(t, traces[0]) == plain {
				t.Error("it changes nothing")
			}
			checkStreams(t, traces[0])
			checkTruth(t, &c, traces[0], truth)
		})
	}
}

// checkStreams wants kernels after their calls and one after the other on each
// stream.
func checkStreams(t *testing.T, tr *Trace) {
	t.Helper()
	called := map[callKey]*Call{}
	for c := range tr.Calls.All() {
		called[callKey{c.Process, c.Corr}] = c
	}
	type stream struct {
		device int32
		id     uint32
	}
	free := map[stream]int64{}
	for k := range tr.Kernels.All() {
		c, s := called[callKey{k.Process, k.Corr}], stream{k.Device, k.Stream}
		if c == nil || k.Start < c.Start || k.End <= k.Start || k.Start < free[s] {
			t.Fatalf("kernel %+v: called %+v, its stream free at %d", *k, c, free[s])
		}
		free[s] = k.End
	}
}

// checkTruth wants as many markers as steps and the forward passes one after
// the other, with the allreduces that were recorded.
func checkTruth(t *testing.T, c *Config, tr *Trace, truth *Truth) {
	t.Helper()
	markers := map[int32]int{}
	for n := range tr.NVTX.All() {
		if strings.Contains(tr.Text(n.Text), "_forward_step") {
			markers[n.Process]++
		}
	}
	layers := 0
	for i, r := range truth.Ranks {
		layers += r.Layers
		if want := c.Warmup + c.Steps; len(r.Steps) != want && c.Engine.RecordSteps == 0 || markers[int32(i)] != len(r.Steps) {
			t.Errorf("rank %d: %d steps, %d markers, %d simulated", i, len(r.Steps), markers[int32(i)], want)
		}
		for j, s := range r.Steps {
			if s.Start < s.HostStart || s.End <= s.Start || s.First > s.Start || s.Last < s.End || !s.Recorded ||
				j > 0 && s.Start < r.Steps[j-1].End || s.Reduces > 0 && (s.ReduceStart < s.Start || s.ReduceEnd > s.End) {
				t.Fatalf("rank %d, step %d: %+v", i, j, s)
			}
		}
	}
	if want := truth.Layers * c.Ranks / max(1, c.Engine.Pipeline); layers != want || truth.Layers != c.Layers {
		t.Errorf("%d layers over all ranks, want %d", layers, want)
	}
}

// TestStraggler wants the truth to name a rank that is always late, and none
// where it is another one each time.
func TestStraggler(t *testing.T) {
	cases := map[string]struct {
		change func(*Config)
		want   int
	}{
		"none":     {func(*Config) {}, -1},
		"host":     {func(c *Config) { c.SlowRank, c.Slow = 1, 600 }, 1},
		"GPU":      {features["slow GPU"], 1},
		"rotating": {features["rotate"], -1},
	}
	for name, c := range cases {
		cfg := Default()
		c.change(&cfg)
		if _, truth, err := SimulateTruth(cfg, false); err != nil || truth.Straggler != c.want {
			t.Errorf("%s: rank %d, want %d: %v", name, truth.Straggler, c.want, err)
		}
	}
}

// TestLosses counts markers that were lost, and steps at the ends of a cut
// recording.
func TestLosses(t *testing.T) {
	c := Default()
	c.Engine.LostMarkers = 0.5
	lossy := mustSimulate(t, func(d *Config) { *d = c })
	if all, left := mustSimulate(t, nil).NVTX.Len(), lossy.NVTX.Len(); left >= all-20 || left <= all-48 {
		t.Errorf("%d rows of ranges, %d with half of the markers lost", all, left)
	}
	c = Default()
	c.Warmup, c.Engine.CutFrom, c.Engine.CutTo = 0, 0.31, 0.77
	traces, truth, err := SimulateTruth(c, false)
	if err != nil {
		t.Fatal(err)
	}
	steps := truth.Ranks[0].Steps
	n := len(steps)
	if n < 10 || n > 20 || !steps[0].Partial && !steps[n-1].Partial || steps[1].Partial || steps[n/2].Partial {
		t.Errorf("%d steps: %+v", n, steps)
	}
	if first, last := traces[0].span(); first > steps[1].HostStart || last < steps[n-2].End {
		t.Errorf("recorded from %d to %d: %+v", first, last, steps)
	}
}

// TestRangesAsReports wants each range in a report of its own, whose rows all
// lie inside it.
func TestRangesAsReports(t *testing.T) {
	c := Default()
	c.Engine.RecordSteps, c.Engine.SkipSteps, c.Engine.SplitRanges = 10, 5, true
	traces, truth, err := SimulateTruth(c, false)
	if err != nil || len(traces) != 2 {
		t.Fatalf("%d reports: %v", len(traces), err)
	}
	end := int64(0)
	for i, tr := range traces {
		first, last := tr.span()
		if first <= end || last <= first {
			t.Errorf("report %d: from %d to %d, after %d", i, first, last, end)
		}
		end = last
		if _, err := tr.KernelText(1); err == "" {
			t.Error("no names")
		}
	}
	if n := len(truth.Ranks[0].Steps); n != 20 || truth.Ranks[0].Steps[10].Report != 1 {
		t.Errorf("%d steps", n)
	}
}
