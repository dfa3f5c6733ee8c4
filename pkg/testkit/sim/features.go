package sim

import (
	"fmt"
	"slices"
)

// Traffic is the load of requests. The zero value is an endless load that never changes.
type Traffic struct {
	Chunks     int     // steps over which a prefill is split; 0, 1: it is not
	Decode     bool    // no context steps: prompts were read before the recording
	Alone      bool    // context steps hold no generation requests
	FinishStep int     // every n-th step a request ends, to be replaced at the next context step; 0: never
	IdleEvery  int     // every n-th step no requests come for a while; 0: never
	IdleMin    float64 // shortest time without requests, ms
	IdleMax    float64 // longest time without requests, ms
}

// Model is the structure of the layers. The zero value is a dense Llama.
type Model struct {
	AttentionEvery int    // a Mamba hybrid with attention in every n-th layer; 0: in all
	Experts        bool   // mixture-of-experts layers, except the first DenseFirst
	DenseFirst     int    // dense layers before those with experts
	Shared         bool   // a shared expert besides the routed ones
	AllToAll       bool   // experts are reached by all-to-all, not by allreduce
	AttentionDP    bool   // attention is data-parallel: no allreduce after it
	SideStream     bool   // the allreduces run on a second stream
	CopyStream     bool   // inputs and outputs are copied on a stream of their own
	PrefillComm    string // allreduce of context steps, as Config.Collective; "": the same
	Scatter        bool   // sequence parallelism: reduce-scatter and all-gather replace each allreduce
	Kernels        string // kernel names: "" for TensorRT-LLM's, "compiled" for torch.compile's, "torch" for PyTorch's and flashinfer's
}

// Draft is speculative decoding. The zero value is none.
type Draft struct {
	Tokens int  // forward passes of the draft model per step
	Layers int  // layers of the draft model, each with two allreduces
	Inside bool // inside the forward step's range and graph (MTP, Eagle in one model), otherwise before it
}

// Engine is how steps are scheduled and launched. The zero value is a plain loop.
type Engine struct {
	Ahead            int     // the host waits for the n-th step before this one, at most 64; 0: as Config.Overlap says
	NoWait           bool    // the wait is not recorded as a call, as if another thread waited
	SampleComm       string  // collective of the sampler, outside the markers: "", "allreduce", "allgather"
	SampleComms      int     // number of these per step
	Piecewise        bool    // one graph per piece between eager attention calls, as vLLM compiles
	PiecewiseContext bool    // context steps also replay pieces
	EagerShare       float64 // share of steps that find no graph and run eagerly
	Pipeline         int     // pipeline stages, each of Ranks/Pipeline tensor-parallel ranks; 0, 1: none
	RecordSteps      int     // benchmark steps between cudaProfilerStart and Stop; 0: all is recorded
	SkipSteps        int     // steps between two of these ranges
	SplitRanges      bool    // each range is a report of its own (--capture-range-end=repeat)
	QueueDepth       int     // launches that fit into the GPU's queue, one more blocks; 0: no limit
	PrepKernels      int     // small kernels that prepare a step's inputs, before the forward pass
	LostMarkers      float64 // share of forward-step ranges that the profiler lost
	CutFrom          float64 // recording begins after this share of the run, in mid-step
	CutTo            float64 // recording ends after this share; 0: with the run
	LogitsOutside    bool    // the sampler computes the logits, outside the graph and the marker
	MaxGraph         int     // generation steps with more requests find no graph and run eagerly; 0: none
}

// The kinds of a Fault.
const (
	FaultSync     = "sync"     // a cudaDeviceSynchronize at the end of a host operation
	FaultPageable = "pageable" // a pageable cudaMemcpyAsync that blocks for US, in every layer of an eager step
	FaultJIT      = "jit"      // modules are loaded for US, and Count elementwise kernels launched
	FaultTail     = "tail"     // the operation takes US longer
	FaultGC       = "gc"       // Python's garbage collector runs for US, without a range
	FaultAlloc    = "alloc"    // cudaMalloc and cudaFree of US together
	FaultSlowGPU  = "slowgpu"  // kernels of the rank take Factor times as long
	FaultRotate   = "rotate"   // each step, another rank takes US longer
	FaultLayer    = "layer"    // in each layer with experts of an eager step, another rank takes US longer, in a range named At
	FaultCopy     = "copy"     // a copy from pageable memory at the end of a host operation, which waits for the GPU and takes US
)

// Fault is a planted cause of lost time.
type Fault struct {
	Kind   string  // one of the constants
	At     string  // host operation in which it strikes; empty: the one that prepares inputs
	Every  int     // strikes in every n-th step, from the n-th on
	Share  float64 // or in this share of steps, by chance; with neither: in all
	Rank   int     // rank that it strikes; -1: all ranks
	US     float64 // microseconds
	Factor float64 // factor on kernels, for FaultSlowGPU
	Count  int     // number of kernels, for FaultJIT
}

var faultKinds = []string{FaultSync, FaultPageable, FaultJIT, FaultTail, FaultGC, FaultAlloc, FaultSlowGPU, FaultRotate, FaultLayer, FaultCopy}

// checkFeatures returns an error if the newer parts of a Config cannot be simulated.
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

// strikes reports whether a rank suffers a fault in the current step.
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

// layer counts a layer with experts, and adds the time of a FaultLayer that strikes it.
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

// in reports whether a fault strikes in this operation.
func (f *Fault) in(op *HostOp) bool {
	return f.At == op.Name || f.At == "" && op.Role == Prepare
}

// suffer adds the faults of an operation that is under way.
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

// compile simulates the first use of a new form of a kernel: modules are built and
// loaded, and their kernels tuned.
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

// slowdown returns the factor on the kernels of a rank.
func (r *rank) slowdown() float64 {
	factor := 1.0
	for i := range r.s.c.Faults {
		if f := &r.s.c.Faults[i]; f.Kind == FaultSlowGPU && r.strikes(f) {
			factor *= f.Factor
		}
	}
	return factor
}

// pageable returns the cost of a pageable copy in each layer of this step, in ns, 0 for
// none.
func (r *rank) pageable() int64 {
	for i := range r.s.c.Faults {
		if f := &r.s.c.Faults[i]; f.Kind == FaultPageable && r.strikes(f) {
			return int64(f.US * 1e3)
		}
	}
	return 0
}
