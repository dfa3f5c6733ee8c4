package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is how CUDA graphs are used and recorded.
type Mode string

// The modes. Eager runs no graphs. Node and Whole replay generation steps from a graph,
// recorded kernel by kernel or as one row.
const (
	Eager Mode = "eager"
	Node  Mode = "node"
	Whole Mode = "graph"
)

// Config describes a run to simulate. Default returns a complete one; make others by
// changing it.
type Config struct {
	Seed    uint64 // of all noise
	Ranks   int    // tensor-parallel processes, each with its own GPUs
	Devices int    // GPUs of each process

	Mode       Mode    // of CUDA graphs
	Markers    Markers // wording of the forward steps
	Literal    bool    // TensorRT-LLM's ranges have literal text, as in old versions
	Collective string  // implementation of allreduce: "trtllm", "nccl" or "vllm"
	Layers     int     // with several GPUs, each has 2 allreduces, and the embedding one
	Fused      bool    // rope and activation are fused into their neighbours: 7 kernels per layer, not 9
	Dropped    float64 // share of graph replays that were not recorded

	Warmup       int     // steps of the warm-up segment
	Pause        float64 // idle milliseconds after the warm-up
	Steps        int     // steps of the benchmark segment
	Events       int     // if not 0: replaces Steps, and the run ends when the trace has this many rows
	ContextEvery int     // every n-th step is a context step; 0: only the first
	Batch        int     // generation requests in a steady step
	Tail         int     // last steps with half the batch
	Tokens       int     // context tokens in a context step
	PrefillScale float64 // factor on kernels in a context step

	Host        []HostOp // operations of a step, in order
	KernelScale float64  // factor on every kernel
	LaunchCost  float64  // microseconds of a launch call
	GraphCost   float64  // microseconds of a graph launch call
	KernelNoise float64  // relative standard deviation of kernel durations
	Overlap     bool     // the host waits for the previous step, not for this one

	AllocEvery int     // a cudaMalloc and a cudaFree in every n-th step; 0: only at the start
	GCEvery    int     // Python's garbage collector runs in every n-th step; 0: never
	GC         float64 // microseconds per collection
	GIL        float64 // microseconds that a step waits for the GIL; 0: not traced
	SlowRank   int     // -1: none
	Slow       float64 // microseconds by which a step of the slow rank is longer
	SlowOp     string  // operation in which the slow rank is slow
	Frontend   bool    // there is a process without a GPU, with ranges of its own
	Overheads  bool    // the profiler's own time is recorded

	Traffic Traffic   // what requests ask for
	Model   Model     // what the layers are made of
	Draft   Draft     // speculative decoding
	Engine  Engine    // how steps are scheduled and launched
	Noise   Noise     // beyond that of each operation
	Faults  []Fault   // planted causes of lost time
	Why     HostCause // why hosts lose time, and what the operating system shows of it
	Helpers []Helper  // further threads, recorded if Why records what threads do

	Start       int64     // start of the run, ns after that of the session
	UTC         int64     // session start, ns since 1970
	ClockOffset []float64 // microseconds by which report i's clock is late and its session start early
	ClockError  []float64 // microseconds by which report i's session start is wrong
	Secret      string    // see Capture.Secret
}

// Default returns a small host-bound run: two tensor-parallel ranks, a Llama-like model
// with 16 layers, generation steps replayed from a graph and recorded kernel by kernel,
// and TensorRT-LLM's newest markers.
func Default() Config {
	return Config{
		Seed: 1, Ranks: 2, Devices: 1,
		Mode: Node, Markers: TRTLLM4, Collective: "trtllm", Layers: 16,
		Warmup: 4, Pause: 400, Steps: 30, ContextEvery: 8, Batch: 4, Tail: 2, Tokens: 512, PrefillScale: 3,
		Host:        HostOps(TRTLLM4),
		KernelScale: 1, LaunchCost: 3.5, GraphCost: 28, KernelNoise: 0.04,
		GC: 900, SlowRank: -1, SlowOp: "_prepare_inputs",
		Start: 50_000_000, UTC: 1_780_000_000_123_456_789,
	}
}

// SetHost changes the mean cost of a host operation, in microseconds, and reports whether
// there is one with that name. It copies the operations of c first, so other Configs keep
// theirs.
func (c *Config) SetHost(name string, mean float64) bool {
	i := slices.IndexFunc(c.Host, func(op HostOp) bool { return op.Name == name })
	if i < 0 {
		return false
	}
	c.Host = slices.Clone(c.Host)
	c.Host[i].Mean = mean
	return true
}

// check returns an error if the run cannot be simulated.
func (c *Config) check() error {
	switch {
	case c.Ranks < 1 || c.Devices < 1:
		return fmt.Errorf("%d ranks of %d devices: there must be one at least", c.Ranks, c.Devices)
	case c.Layers < 1:
		return fmt.Errorf("%d layers: there must be one at least", c.Layers)
	case c.Batch < 1:
		return fmt.Errorf("batch %d: there must be a request at least", c.Batch)
	case c.Mode != Eager && c.Mode != Node && c.Mode != Whole:
		return fmt.Errorf("mode %q is not eager, node or graph", c.Mode)
	case !slices.Contains(AllMarkers(), c.Markers):
		return fmt.Errorf("markers %q are not known", c.Markers)
	case collectiveNames[c.Collective] == "":
		return fmt.Errorf("collective %q is not trtllm, nccl or vllm", c.Collective)
	case c.Steps < 1 && c.Events < 1:
		return fmt.Errorf("no steps")
	}
	if err := c.checkFeatures(); err != nil {
		return err
	}
	return checkHost(c.Host)
}

// domain returns the NVTX domain of the engine's ranges, and where they keep their text.
func (c *Config) domain() (domain uint32, form TextForm) {
	if c.Literal || !strings.HasPrefix(string(c.Markers), "trtllm") && c.Markers != NoMarkers {
		return 0, Literal
	}
	return engineDomain, Registered
}
