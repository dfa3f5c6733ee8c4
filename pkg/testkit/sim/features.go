package sim

import (
	"fmt"
	"slices"
)

// Traffic is what requests ask of the engine. Its zero value is a load without
// end that never changes.
type Traffic struct {
	Chunks     int     // a prefill is split over so many steps; 0, 1: it is not
	Decode     bool    // no context steps: the prompts were read before the recording
	Alone      bool    // context steps hold no generation requests
	FinishStep int     // a request ends every so many steps, to be replaced at the next context step; 0: none
	IdleEvery  int     // no requests come for a while every so many steps; 0: never
	IdleMin    float64 // ms, the shortest such while
	IdleMax    float64 // ms, the longest
}

// Model is what the layers are made of. Its zero value is a dense Llama.
type Model struct {
	AttentionEvery int    // a Mamba hybrid with attention in one layer of so many; 0: in all
	Experts        bool   // mixture-of-experts layers, but for the first DenseFirst
	DenseFirst     int    // dense layers ahead of those with experts
	Shared         bool   // a shared expert beside the routed ones
	AllToAll       bool   // experts are reached by all-to-all, not by allreduce
	AttentionDP    bool   // attention is data-parallel: no allreduce after it
	SideStream     bool   // the allreduces run on a second stream
	CopyStream     bool   // inputs and outputs are copied on a stream of their own
	PrefillComm    string // allreduce of context steps, as Config.Collective; "": the same
	Scatter        bool   // sequence parallelism: reduce-scatter and all-gather in place of each allreduce
	Kernels        string // whose names kernels have: "" TensorRT-LLM's, "compiled" torch.compile's, "torch" PyTorch's and flashinfer's
}

// Draft is speculative decoding. Its zero value is none.
type Draft struct {
	Tokens int  // forward passes of the draft model per step
	Layers int  // of the draft model, each with its two allreduces
	Inside bool // inside the forward step's range and graph (MTP, Eagle in one model), else ahead of it
}

// Engine is how steps are scheduled and launched. Its zero value is a plain
// loop.
type Engine struct {
	Ahead            int     // the host waits for the step so many before this one, at most 64; 0: as Config.Overlap says
	NoWait           bool    // the wait is not recorded as a call, as where another thread waits
	SampleComm       string  // collective of the sampler, outside the markers: "", "allreduce", "allgather"
	SampleComms      int     // how many of them per step
	Piecewise        bool    // a graph per piece between eager attention calls, as vLLM compiles
	PiecewiseContext bool    // context steps replay pieces, too
	EagerShare       float64 // share of the generation steps that find no graph and run eagerly
	Pipeline         int     // pipeline stages, each of Ranks/Pipeline tensor-parallel ranks; 0, 1: none
	RecordSteps      int     // cudaProfilerStart and Stop around so many benchmark steps at a time; 0: all is recorded
	SkipSteps        int     // steps between two such ranges
	SplitRanges      bool    // each range is a report of its own (--capture-range-end=repeat)
	QueueDepth       int     // launches that fit into the GPU's queue: one more blocks; 0: no limit
	PrepKernels      int     // small kernels that prepare the inputs of a step, ahead of the forward pass
	LostMarkers      float64 // share of the forward-step ranges that the profiler lost
	CutFrom          float64 // recording begins after this share of the run, in the middle of things
	CutTo            float64 // and ends here; 0: with the run
	LogitsOutside    bool    // the sampler computes the logits, outside the graph and the marker
	MaxGraph         int     // generation steps with more requests find no graph and run eagerly; 0: none
}

// The kinds of a Fault.
const (
	FaultSync     = "sync"     // a cudaDeviceSynchronize at the end of a host operation
	FaultPageable = "pageable" // a pageable cudaMemcpyAsync that blocks for US, in every layer of an eager step
	FaultJIT      = "jit"      // modules are loaded for US and thousands (Count) of elementwise kernels launched
	FaultTail     = "tail"     // the operation takes US longer
	FaultGC       = "gc"       // Python's garbage collector runs for US, without a range
	FaultAlloc    = "alloc"    // cudaMalloc and cudaFree of US together
	FaultSlowGPU  = "slowgpu"  // kernels of the rank take Factor times as long
	FaultRotate   = "rotate"   // another rank each step takes US longer
	FaultLayer    = "layer"    // another rank in each layer with experts of an eager step takes US longer, in a range called At
	FaultCopy     = "copy"     // a copy from pageable memory at the end of a host operation, which waits for the GPU and takes US
)

// Fault is something planted that costs time.
type Fault struct {
	Kind   string  // one of the above
	At     string  // host operation where it strikes; empty: the one that prepares inputs
	Every  int     // strikes in one step of so many, from the Every-th on
	Share  float64 // or in this share of the steps, by chance; with neither: in all
	Rank   int     // where it strikes; -1: on all ranks
	US     float64 // microseconds
	Factor float64 // of FaultSlowGPU
	Count  int     // of FaultJIT
}

var faultKinds = []string{FaultSync, FaultPageable, FaultJIT, FaultTail, FaultGC, FaultAlloc, FaultSlowGPU, FaultRotate, FaultLayer, FaultCopy}

// checkFeatures says what of the newer parts of a Config cannot be simulated.
func (c *Config) checkFeatures() error {
	if err := c.Why.check(); err != nil {
		return err
	}
	for _, f := range c.Faults {
		if !slices.Contains(faultKinds, f.Kind) {
			return fmt.Errorf("fault %q is not known", f.Kind)
		}
		if f.waits() && !slices.ContainsFunc(c.Host, func(op HostOp) bool { return op.Name == f.At && op.Parent == "" }) {
			return fmt.Errorf("fault %s: no host operation %q of its own", f.Kind, f.At)
		}
	}
	if _, ok := kernelNames[c.Model.Kernels]; !ok {
		return fmt.Errorf("kernels %q are not known", c.Model.Kernels)
	}
	switch p := max(1, c.Engine.Pipeline); {
	case c.Ranks%p != 0 || c.Layers < p:
		return fmt.Errorf("%d ranks and %d layers do not divide into %d pipeline stages", c.Ranks, c.Layers, p)
	case c.Engine.Ahead < 0 || c.Engine.Ahead > 64:
		return fmt.Errorf("%d steps ahead", c.Engine.Ahead)
	case !slices.Contains([]string{"", "allreduce", "allgather"}, c.Engine.SampleComm):
		return fmt.Errorf("sampler collective %q is not allreduce or allgather", c.Engine.SampleComm)
	case c.Model.PrefillComm != "" && collectiveNames[c.Model.PrefillComm] == "":
		return fmt.Errorf("collective %q is not trtllm, nccl or vllm", c.Model.PrefillComm)
	case c.Engine.CutTo > 0 && c.Engine.RecordSteps > 0:
		return fmt.Errorf("the recording is cut and has ranges")
	case !slices.Contains(noiseKinds, c.Noise.Kind):
		return fmt.Errorf("noise %q is not known", c.Noise.Kind)
	}
	return nil
}

// strikes reports whether a fault is felt by a rank in a step.
func (r *rank) strikes(f *Fault) bool {
	if f.Rank >= 0 && f.Rank != r.index {
		return false
	}
	switch n := r.step.number; {
	case f.Kind == FaultRotate:
		return n%len(r.s.ranks) == r.index
	case f.Every > 0:
		return n%f.Every == f.Every-1
	case f.Share > 0:
		return r.s.chance("fault "+f.Kind+f.At, max(-1, f.Rank), n).Float64() < f.Share
	}
	return true
}

// waits reports whether the fault waits for the GPUs.
func (f *Fault) waits() bool { return f.Kind == FaultSync || f.Kind == FaultCopy }

// layer is what a layer with experts takes longer on this rank.
func (r *rank) layer() {
	r.experts++
	for i := range r.s.c.Faults {
		f := &r.s.c.Faults[i]
		if f.Kind == FaultLayer && r.experts%len(r.s.ranks) == r.index {
			start := r.now
			r.now += int64(f.US * 1e3)
			r.push(f.At, start)
		}
	}
}

// at reports whether a fault strikes in this operation.
func (f *Fault) in(op *HostOp) bool {
	return f.At == op.Name || f.At == "" && op.Role == Prepare
}

// suffer plants the faults of an operation that is under way.
func (r *rank) suffer(op *HostOp) {
	for i := range r.s.c.Faults {
		f := &r.s.c.Faults[i]
		if !f.in(op) || !r.strikes(f) {
			continue
		}
		ns := int64(f.US * 1e3)
		switch f.Kind {
		case FaultTail, FaultGC, FaultRotate:
			r.now += ns
		case FaultAlloc:
			r.call(apiMalloc, ns*6/10)
			r.call(apiFree, ns*4/10)
		case FaultJIT:
			r.compile(f, ns)
		}
	}
}

// compile is what a first use of a kernel's new form costs: modules built and
// loaded, and the tuning runs of the kernels in them.
func (r *rank) compile(f *Fault, ns int64) {
	const modules = 12
	for range modules {
		start := r.now
		r.call(apiLoad, ns/modules)
		r.t.Overheads.Add(Overhead{Start: start + 1000, End: r.now - 1000, Name: r.t.String("Driver Compiler"),
			Process: r.process, TID: r.tid, Kind: 2, CUPTI: true})
	}
	tuning := make([]work, f.Count)
	for i := range tuning {
		tuning[i] = r.m.tuning
	}
	for _, d := range r.devices {
		d.launch(tuning)
	}
}

// slowdown is how much longer the kernels of a rank take.
func (r *rank) slowdown() float64 {
	factor := 1.0
	for i := range r.s.c.Faults {
		if f := &r.s.c.Faults[i]; f.Kind == FaultSlowGPU && r.strikes(f) {
			factor *= f.Factor
		}
	}
	return factor
}

// blocks returns the cost of a pageable copy in each layer of this step, in ns,
// 0 for none.
func (r *rank) pageable() int64 {
	for i := range r.s.c.Faults {
		if f := &r.s.c.Faults[i]; f.Kind == FaultPageable && r.strikes(f) {
			return int64(f.US * 1e3)
		}
	}
	return 0
}
