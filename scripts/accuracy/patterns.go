package main

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// pattern is one way in which engines run, and the change to a run that produces it.
type pattern struct {
	name   string
	engine sim.Markers // gives operations and wording; "" for one of TensorRT-LLM's
	change func(c *sim.Config, r *rand.Rand)
	split  bool // one report per rank
}

// patterns are what engines in use do: TensorRT-LLM's PyExecutor, vLLM's GPUModelRunner
// and SGLang's scheduler. The most common come first.
var patterns = []pattern{
	{"decode from graphs", "", func(c *sim.Config, r *rand.Rand) {}, false},
	{"decode from graphs, a report a rank", "", func(c *sim.Config, r *rand.Rand) {}, true},
	{"eager", "", func(c *sim.Config, r *rand.Rand) { c.Mode = sim.Eager }, false},
	{"whole graphs", "", func(c *sim.Config, r *rand.Rand) { c.Mode = sim.Whole }, false},
	{"one GPU, graphs", "", func(c *sim.Config, r *rand.Rand) { c.Ranks = 1 }, false},
	{"one GPU, eager", "", func(c *sim.Config, r *rand.Rand) { c.Ranks, c.Mode = 1, sim.Eager }, false},
	{"overlap scheduler", "", func(c *sim.Config, r *rand.Rand) { c.Overlap = true }, false},
	{"overlap scheduler, GPU-bound", "", func(c *sim.Config, r *rand.Rand) { c.Overlap, c.KernelScale = true, 4*c.KernelScale }, false},
	{"host ten steps ahead", "", func(c *sim.Config, r *rand.Rand) { c.Engine.Ahead, c.KernelScale = 10, 5 }, false},
	{"host ahead, queue full", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Engine.Ahead, c.Engine.QueueDepth, c.KernelScale = sim.Eager, 40, 256, 3
	}, false},
	{"SGLang, overlap", sim.SGLang, func(c *sim.Config, r *rand.Rand) { c.Overlap = true }, false},
	{"SGLang, sampler all-reduce", sim.SGLang, func(c *sim.Config, r *rand.Rand) {
		c.Engine.SampleComm, c.Engine.SampleComms = "allreduce", 1
	}, false},
	{"vLLM, whole decode graph", sim.VLLM, func(c *sim.Config, r *rand.Rand) {
		c.Engine.LogitsOutside, c.Engine.SampleComm, c.Engine.SampleComms = true, "allgather", 1
	}, false},
	{"vLLM, piecewise", sim.VLLM2, func(c *sim.Config, r *rand.Rand) {
		c.Engine.Piecewise, c.Engine.PiecewiseContext, c.Engine.LogitsOutside = true, true, true
		c.Engine.SampleComm, c.Engine.SampleComms = "allgather", 1
	}, false},
	{"vLLM, piecewise, one GPU, whole graphs", sim.VLLM2, func(c *sim.Config, r *rand.Rand) {
		c.Ranks, c.Mode, c.Engine.Piecewise, c.Engine.PiecewiseContext, c.Engine.LogitsOutside = 1, sim.Whole, true, true, true
	}, false},
	{"vLLM, async scheduling", sim.VLLM, func(c *sim.Config, r *rand.Rand) { c.Overlap, c.KernelScale = true, 2 }, false},
	{"sampler's all-reduce outside markers", "", func(c *sim.Config, r *rand.Rand) {
		c.Engine.SampleComm, c.Engine.SampleComms = "allreduce", 1+r.IntN(2)
	}, false},
	{"eager, sampler's all-reduce outside markers", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Engine.SampleComm, c.Engine.SampleComms = sim.Eager, "allreduce", 1
	}, false},
	{"draft model outside markers", "", func(c *sim.Config, r *rand.Rand) {
		c.Draft, c.Host = sim.Draft{Tokens: 2 + r.IntN(3), Layers: 1 + r.IntN(3)}, sim.WithDraft(c.Host)
	}, false},
	{"draft model, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Draft, c.Host = sim.Eager, sim.Draft{Tokens: 2 + r.IntN(3), Layers: 1 + r.IntN(3)}, sim.WithDraft(c.Host)
	}, false},
	{"vLLM, Eagle after sampling", sim.VLLM2, func(c *sim.Config, r *rand.Rand) {
		c.Engine.LogitsOutside, c.Engine.SampleComm, c.Engine.SampleComms = true, "allgather", 1
		c.Draft, c.Host = sim.Draft{Tokens: 1 + r.IntN(3), Layers: 1}, sim.WithDraftAfter(c.Host)
	}, false},
	{"MTP inside markers", "", func(c *sim.Config, r *rand.Rand) {
		c.Draft = sim.Draft{Tokens: 1 + r.IntN(3), Layers: 1, Inside: true}
	}, false},
	{"chunked prefill", "", func(c *sim.Config, r *rand.Rand) {
		c.Traffic.Chunks, c.PrefillScale = 2+r.IntN(4), 5+20*r.Float64()
	}, false},
	{"long prefill", "", func(c *sim.Config, r *rand.Rand) { c.PrefillScale, c.Traffic.Alone = 60+140*r.Float64(), true }, false},
	{"prefill alone, no graphs", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.PrefillScale, c.Traffic.Alone, c.ContextEvery = sim.Eager, 40+60*r.Float64(), true, 2
	}, false},
	{"mixed batches", "", func(c *sim.Config, r *rand.Rand) { c.ContextEvery = 2 + r.IntN(2) }, false},
	{"requests that finish", "", func(c *sim.Config, r *rand.Rand) {
		c.Batch, c.Traffic.FinishStep, c.ContextEvery = 8+r.IntN(24), 1+r.IntN(2), 10+r.IntN(10)
	}, false},
	{"pauses between requests", "", func(c *sim.Config, r *rand.Rand) {
		c.Traffic.IdleEvery, c.Traffic.IdleMin, c.Traffic.IdleMax = 12+r.IntN(8), 50, 300
	}, false},
	{"pipeline of two", "", func(c *sim.Config, r *rand.Rand) {
		c.Ranks, c.Engine.Pipeline, c.Engine.Ahead = 2, 2, 1
	}, false},
	{"pipeline of two, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Ranks, c.Engine.Pipeline, c.Engine.Ahead, c.Mode = 2, 2, 1, sim.Eager
	}, false},
	{"two by two", "", func(c *sim.Config, r *rand.Rand) {
		c.Ranks, c.Engine.Pipeline, c.Engine.Ahead = 4, 2, 1
		c.Steps = c.Steps * 2 / 3
	}, false},
	{"profiler ranges in one report", "", func(c *sim.Config, r *rand.Rand) {
		c.Engine.RecordSteps, c.Engine.SkipSteps = 12+r.IntN(6), 5+r.IntN(20)
		c.Steps *= 2
	}, false},
	{"profiler ranges, a report each", "", func(c *sim.Config, r *rand.Rand) {
		c.Engine.RecordSteps, c.Engine.SkipSteps, c.Engine.SplitRanges = 15+r.IntN(10), 10+r.IntN(20), true
		c.Steps *= 2
	}, false},
	{"code compiled in the window", "", func(c *sim.Config, r *rand.Rand) {
		c.Faults = []sim.Fault{{Kind: sim.FaultJIT, Every: 19, US: 60_000, Count: 1500, Rank: -1}}
	}, false},
	{"a third without graphs", "", func(c *sim.Config, r *rand.Rand) { c.Engine.EagerShare = 1.0 / 3 }, false},
	{"a third without graphs, one GPU", "", func(c *sim.Config, r *rand.Rand) { c.Ranks, c.Engine.EagerShare = 1, 1.0/3 }, false},
	{"replays not recorded", "", func(c *sim.Config, r *rand.Rand) { c.Dropped = 0.2 + 0.7*r.Float64() }, false},
	{"Mamba hybrid", "", func(c *sim.Config, r *rand.Rand) { c.Layers, c.Model.AttentionEvery = 16, 8 }, false},
	{"Mamba hybrid, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Layers, c.Model.AttentionEvery, c.Mode = 16, 8, sim.Eager
	}, false},
	{"experts, first layers dense", "", func(c *sim.Config, r *rand.Rand) {
		c.Model = sim.Model{Experts: true, DenseFirst: 1 + r.IntN(3), Shared: true}
	}, false},
	{"attention DP, all-to-all", "", func(c *sim.Config, r *rand.Rand) {
		c.Model = sim.Model{Experts: true, DenseFirst: 1, Shared: true, AllToAll: true, AttentionDP: true}
	}, false},
	{"attention DP, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Model = sim.Eager, sim.Model{Experts: true, DenseFirst: 1, AllToAll: true, AttentionDP: true}
	}, false},
	{"all-reduce on a second stream", "", func(c *sim.Config, r *rand.Rand) {
		c.Collective, c.Model.SideStream, c.Model.CopyStream = "nccl", true, true
	}, false},
	{"second stream, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Collective, c.Model.SideStream = sim.Eager, "nccl", true
	}, false},
	{"decode only, gaps of 0.1 to 3 ms", "", func(c *sim.Config, r *rand.Rand) { decodeOnly(c, r) }, false},
	{"decode only, eager", "", func(c *sim.Config, r *rand.Rand) { decodeOnly(c, r); c.Mode = sim.Eager }, false},
	{"fast decode, gaps of 30 us", "", func(c *sim.Config, r *rand.Rand) {
		decodeOnly(c, r)
		hostScale(c, 0.04)
		c.Overlap = true
	}, false},
	{"heavy-tailed host", "", func(c *sim.Config, r *rand.Rand) { c.Noise = sim.Noise{Kind: "heavy", Scale: 0.3} }, false},
	{"bursty host", "", func(c *sim.Config, r *rand.Rand) { c.Noise = sim.Noise{Kind: "bursty", Scale: 1} }, false},
	{"collections of 30 ms", "", func(c *sim.Config, r *rand.Rand) { c.GCEvery, c.GC = 13, 30_000 }, false},
	{"collections without ranges, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Faults = sim.Eager, []sim.Fault{{Kind: sim.FaultGC, Every: 11, US: 20_000, Rank: -1}}
	}, false},
	{"stalls inside eager steps", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Faults = sim.Eager, []sim.Fault{{Kind: sim.FaultPageable, US: 300 + 900*r.Float64(), Rank: -1}}
	}, false},
	{"synchronisation between layers and sampling", "", func(c *sim.Config, r *rand.Rand) {
		c.Faults = []sim.Fault{{Kind: sim.FaultSync, At: "_forward_step", Rank: -1}}
	}, false},
	{"memory allocated in each step", "", func(c *sim.Config, r *rand.Rand) {
		c.Faults = []sim.Fault{{Kind: sim.FaultAlloc, US: 250, Rank: -1}}
	}, false},
	{"5 ms more in some steps", "", func(c *sim.Config, r *rand.Rand) {
		c.Faults = []sim.Fault{{Kind: sim.FaultTail, US: 5000, Share: 0.1, Rank: -1}}
	}, false},
	{"slow host on one rank", "", func(c *sim.Config, r *rand.Rand) { c.SlowRank, c.Slow = 1, 300+1500*r.Float64() }, true},
	{"slow GPU on one rank, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Faults = sim.Eager, []sim.Fault{{Kind: sim.FaultSlowGPU, Factor: 2, Rank: 1}}
	}, false},
	{"another rank slow each step", "", func(c *sim.Config, r *rand.Rand) {
		c.Ranks, c.Faults = 3, []sim.Fault{{Kind: sim.FaultRotate, US: 900, Rank: -1}}
		c.Steps = c.Steps * 2 / 3
	}, false},
	{"other all-reduce in prefill", "", func(c *sim.Config, r *rand.Rand) {
		c.Collective, c.Model.PrefillComm = "trtllm", "nccl"
	}, false},
	{"reduce-scatter and all-gather", sim.VLLM, func(c *sim.Config, r *rand.Rand) { c.Model.Scatter = true }, false},
	{"two GPUs in one process", "", func(c *sim.Config, r *rand.Rand) { c.Ranks, c.Devices = 1, 2 }, false},
	{"few steps", "", func(c *sim.Config, r *rand.Rand) { c.Steps, c.Warmup, c.Tail = 6+r.IntN(8), 0, 0 }, false},
	{"few steps, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Steps, c.Warmup, c.Tail, c.Mode = 6+r.IntN(8), 0, 0, sim.Eager
	}, false},
	{"prefill server", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.ContextEvery, c.Traffic.Alone, c.PrefillScale = sim.Eager, 1, true, 10+60*r.Float64()
	}, false},
	{"prefill server, pauses", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.ContextEvery, c.Traffic.Alone, c.PrefillScale = sim.Eager, 1, true, 10+60*r.Float64()
		c.Traffic.IdleEvery, c.Traffic.IdleMin, c.Traffic.IdleMax = 2, 2, 90
	}, false},
	{"recording begins and ends in a step", "", func(c *sim.Config, r *rand.Rand) {
		c.Engine.CutFrom, c.Engine.CutTo, c.Pause = 0.2+0.1*r.Float64(), 0.8+0.1*r.Float64(), 0
	}, false},
	{"recording begins and ends in a step, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Engine.CutFrom, c.Engine.CutTo, c.Pause = sim.Eager, 0.2+0.1*r.Float64(), 0.8+0.1*r.Float64(), 0
	}, false},
	{"some markers lost", "", func(c *sim.Config, r *rand.Rand) { c.Engine.LostMarkers = 0.05 + 0.3*r.Float64() }, false},
	{"some markers lost, eager", "", func(c *sim.Config, r *rand.Rand) {
		c.Mode, c.Engine.LostMarkers = sim.Eager, 0.05+0.3*r.Float64()
	}, false},
	{"states that stick", "", func(c *sim.Config, r *rand.Rand) {
		c.Noise = sim.Noise{Kind: "sticky", Scale: 1, Rho: 0.95, Kernels: true}
	}, false},
	{"large model", "", func(c *sim.Config, r *rand.Rand) { c.Layers, c.KernelScale, c.Fused, c.Steps = 48, 3, true, 30 }, false},
}

// decodeOnly sets up a run of generation steps with 0.1 to 3 ms of idle time between
// them.
func decodeOnly(c *sim.Config, r *rand.Rand) {
	c.ContextEvery, c.Tail, c.Warmup = 0, 0, 0
	total := 0.0
	for _, op := range c.Host {
		total += op.Mean
	}
	hostScale(c, 100*math.Pow(30, r.Float64())/total)
}

func hostScale(c *sim.Config, factor float64) {
	host := make([]sim.HostOp, len(c.Host))
	for i, op := range c.Host {
		op.Mean *= factor
		host[i] = op
	}
	c.Host = host
}

// trial returns one run of a pattern. Runs differ in everything that the pattern does not
// fix: size of the model, speed of host and GPUs, load and wording, and unless quiet also
// noise and what prepares inputs.
func (p *pattern) trial(seed int, marked, quiet bool) sim.Config {
	r := rand.New(rand.NewPCG(uint64(seed), hash(p.name)))
	c := sim.Default()
	c.Seed = r.Uint64()
	c.Markers = p.engine
	if c.Markers == "" {
		c.Markers = []sim.Markers{sim.TRTLLM1, sim.TRTLLM2, sim.TRTLLM3, sim.TRTLLM4}[r.IntN(4)]
	}
	c.Host = sim.HostOps(c.Markers)
	c.Collective = []string{"trtllm", "nccl", "vllm"}[r.IntN(3)]
	c.Layers, c.Fused = 4+r.IntN(9), r.IntN(2) == 0
	c.KernelScale = 0.5 * math.Pow(6, r.Float64())
	hostScale(&c, 0.15*math.Pow(10, r.Float64()))
	c.ContextEvery, c.Batch, c.PrefillScale = 6+r.IntN(15), 4+r.IntN(28), 2*math.Pow(8, r.Float64())
	c.Steps, c.Warmup, c.Tail = 50+r.IntN(20), r.IntN(6), r.IntN(3)
	prepare := []int{0, 3, 12}[r.IntN(3)]
	noise := sim.Noise{Kind: []string{"", "normal", "ar1", "drift"}[r.IntN(4)], Scale: 0.1, Rho: 0.7, Kernels: r.IntN(2) == 0}
	if !quiet {
		c.Noise, c.Engine.PrepKernels = noise, prepare
	}
	p.change(&c, r)
	c.Model.Kernels = kernels(c.Markers, r)
	if !marked {
		c.Markers = sim.NoMarkers
	}
	return c
}

// kernels draws whose kernel names an engine uses.
func kernels(m sim.Markers, r *rand.Rand) string {
	switch m {
	case sim.VLLM, sim.VLLM2:
		return []string{"compiled", "torch"}[r.IntN(2)]
	case sim.SGLang:
		return "torch"
	}
	return []string{"", "", "compiled", "torch"}[r.IntN(4)]
}

// written returns how to export the run. Every other run without markers has no ranges at
// all.
func written(seed int, marked bool) (opt sim.Options) {
	if !marked && seed%2 == 1 {
		opt.Drop = []string{"NVTX_EVENTS"}
	}
	return opt
}

func hash(s string) (h uint64) {
	for _, c := range []byte(s) {
		h = h*1099511628211 + uint64(c)
	}
	return h
}

// mixed returns n patterns that each combine two others, drawn at random.
func mixed(n int) []*pattern {
	r := rand.New(rand.NewPCG(uint64(n), 0x313d))
	var plain []*pattern
	for i := range patterns {
		if patterns[i].engine == "" {
			plain = append(plain, &patterns[i])
		}
	}
	var list []*pattern
	for len(list) < n {
		a, b := plain[r.IntN(len(plain))], plain[r.IntN(len(plain))]
		m := &pattern{name: a.name + " + " + b.name, split: a.split || b.split}
		m.change = func(c *sim.Config, r *rand.Rand) {
			a.change(c, r)
			b.change(c, r)
		}
		if c := m.trial(0, true, false); c.Ranks%max(1, c.Engine.Pipeline) == 0 && !(c.Engine.CutTo > 0 && c.Engine.RecordSteps > 0) {
			list = append(list, m)
		}
	}
	return list
}

// chosen returns the patterns that --only selects.
func chosen(o options) []*pattern {
	var list []*pattern
	for i := range patterns {
		if strings.Contains(patterns[i].name, o.only) {
			list = append(list, &patterns[i])
		}
	}
	return list
}
