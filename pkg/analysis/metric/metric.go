// Package metric measures how busy the GPUs of a run are and what the host does
// meanwhile: the figures from which the verdict follows.
//
// # Definitions
//
// All figures are lengths of unions of spans, cut to a set W of windows of each
// rank. A GPU is a pair of rank and device with activity: kernels and
// whole-graph replays, and with Options.BusyAll also copies and memsets. In terms of
//
//	wall      |W| summed over ranks
//	capacity  |W| summed over GPUs
//	busy      the union of a GPU's activity, summed over GPUs
//	idle      capacity − busy
//	prep      the union of a rank's ranges that prepare the input of a step,
//	          summed over GPUs
//	exposed   the part of prep during which the GPU is not busy
//
// the metrics are
//
//	gpu_idle_ratio              idle / capacity
//	launch_overhead_ratio       the union of a thread's kernel launches, less
//	                            launch_backpressure_ratio's part of it / wall
//	host_prep_exposed_ratio     exposed / prep
//	host_prep_perf_impact       exposed / capacity
//	host_prep_idle_attribution  exposed / idle
//	gpu_utilization             busy / capacity
//	nccl_ratio                  the union of a GPU's NCCL kernels / busy
//	graph_launch_ratio          the union of a thread's graph launches / wall
//	comm_ratio                  the union of a GPU's collectives / busy
//	launch_backpressure_ratio   the part of the union of a thread's kernel
//	                            launches in which it waits for a full queue
//	                            (cudaname.QueueFull) / wall: the GPU is late
//	                            then, not the host
//	collective_wait_ratio       the waits of a GPU in collectives for a late rank
//	                            (package collective), summed / capacity
//	host_wait_ratio             the part of these waits with a host cause / capacity
//	host_bound_ratio            the idle time and these waits, each with a host
//	                            cause / capacity
//
// Idle time has a host cause (package idle's causes but graph, queued and tail) until the
// launching call of the activity that ends it returns, except while a thread waits for
// requests. The part of a wait with a host cause is in proportion to what the late rank did.
// collective_wait_ratio is not applicable where whole-graph rows hide collectives or none of
// them could be matched, the other two where no launches were recorded.
//
// In the scope "aggregate", W is the benchmark windows or, with WindowTrace and for streams
// without steps, each rank's span of activity on any of its GPUs. In the scopes "context"
// and "generation" it is the periods of such steps in the benchmark segments, or in all
// segments of a rank without a benchmark segment. Time that was not recorded is in none of
// them.
//
// # Why one pass is enough
//
// Rows of a rank come in the order of their start. So a union is one open span: it
// grows as long as the next span overlaps it, and its length is credited when one
// does not. A step.Walker cuts time into slices. At each cut an open span is credited
// to the slice that ends, and goes on in the next one. Slices are added up per step,
// because only the window rows at the very end say which segment is the benchmark.
//
// exposed needs no intersection: it is |prep ∪ busy| − |busy|.
package metric

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Windows for the aggregate.
const (
	WindowBenchmark = "benchmark" // the benchmark segments of the ranks
	WindowTrace     = "trace"     // from the first GPU activity to the last
)

// Options selects what to measure.
type Options struct {
	// Window is the window of the aggregate, WindowBenchmark or WindowTrace; "" is
	// WindowBenchmark.
	Window string
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Prep is a text that the names of input-preparation ranges contain. "" stands for the
	// first of marker.PrepNames that occurs in a rank.
	Prep string
	// NoSteps says that the stream has no steps because none could be identified.
	NoSteps bool
	// Samples keeps the measurements of each step.
	Samples bool
	// Log receives remarks, a sentence each. It may be nil.
	Log func(string)
}

// Compute reads the stream to its end and measures it. Missing columns and an unknown window are
// errors.
func Compute(src event.Source, opt Options) (*Result, error) {
	h := src.Header()
	need := event.BaseCols &^ (1<<event.ColStream | 1<<event.ColDomain | 1<<event.ColBytes |
		1<<event.ColLaunchStart | 1<<event.ColLaunchThread)
	if h.Isolation != nil {
		need |= event.StepCols
	}
	if err := h.Require(need); err != nil {
		return nil, err
	}
	switch opt.Window {
	case "", WindowBenchmark, WindowTrace:
	default:
		return nil, &event.Error{Msg: "unknown window " + opt.Window, Advice: "--window takes benchmark or trace"}
	}
	c := newComputer(h, opt)
	c.store = spill.NewStore(keptInMemory)
	defer c.store.Close()
	if err := c.read(src); err != nil {
		return nil, err
	}
	for _, r := range c.ranks {
		r.walk.Finish()
		r.settle()
	}
	c.dropUnclear()
	res := c.result()
	if err := c.store.Err(); err != nil {
		return nil, &event.Error{Msg: "the collectives do not fit into memory, and " + err.Error(), Advice: "set TMPDIR to a folder with more room, or give more memory with --memory"}
	}
	return res, nil
}

// read measures all rows of a source, its parts in parallel.
func (c *computer) read(src event.Source) error {
	parts, beside := event.PartsOf(src)
	if len(parts) == 0 {
		return event.Each(src, c.add)
	}
	of := make([]*computer, len(parts))
	err := event.Beside(len(parts), beside, func(k int) error {
		of[k] = newComputer(c.header, c.opt)
		of[k].names, of[k].store = c.names, c.store
		return event.Each(parts[k], of[k].add)
	})
	if err != nil {
		return err
	}
	for _, one := range of {
		c.ranks = append(c.ranks, one.ranks...)
	}
	rest, err := src.(event.Parted).Rest()
	if err != nil {
		return err
	}
	return event.Each(rest, c.add)
}

// dropUnclear drops the steps of ranks in which they could not be identified. If no rank with
// steps remains, the stream counts as one without steps (Options.NoSteps).
func (c *computer) dropUnclear() {
	none := c.header.Isolation != nil && c.header.Isolation.Method == step.None
	clear := 0
	for _, r := range c.ranks {
		switch {
		case r.walk.Unclear:
			none = true // its window is known nevertheless
			r.apart = r.aggregate(WindowBenchmark)
			r.walk.RankSteps, r.steps, r.gaps = step.RankSteps{Rank: r.id}, tallies{}, tally{}
		case r.walk.Steps.Len() > 0:
			clear++
		}
	}
	if none && clear == 0 {
		h := *c.header
		h.Isolation = nil
		c.header, c.opt.NoSteps = &h, true
	}
}

// computer is the state of Compute.
type computer struct {
	header *event.Header
	opt    Options
	rules
	ranks []*rank
	est   stat.Estimator // for the intervals of all scopes, because it caches tables
}

// rules are the options in the form that the loop over rows needs.
type rules struct {
	busy     uint32   // bit set of the kinds that are GPU activity
	prep     []string // texts in names of input preparation; the first that occurs counts
	anyRange bool     // ranges of any class may be input preparation
	nccl     event.Memo[bool]
	names    *collective.Names
	store    *spill.Store // holds the collectives
}

// HostClasses returns the classes of API calls and NVTX ranges that Compute needs of a stream. It
// returns false if it may need any class.
func HostClasses(h *event.Header, opt Options) (event.ClassSet, bool) {
	classes := event.ClassesOf(event.Launch, event.GraphLaunch, event.Prep, event.StepMarker)
	requests := slices.ContainsFunc(h.RankNumbers(), func(id int32) bool { return h.Records(event.OS, id) })
	return classes, opt.Prep == "" && !opt.BusyAll && !requests
}

// newComputer returns the state before the first row of the stream that h describes.
func newComputer(h *event.Header, opt Options) *computer {
	c := &computer{header: h, opt: opt}
	c.busy = 1<<event.Kernel | 1<<event.Graph
	if opt.BusyAll {
		c.busy |= 1<<event.Memcpy | 1<<event.Memset
	}
	names := marker.PrepNames()
	c.prep = names[:]
	if opt.Prep != "" {
		c.prep, c.anyRange = []string{opt.Prep}, true
	}
	c.names = collective.NewNames()
	if c.opt.Log == nil {
		c.opt.Log = func(string) {}
	}
	return c
}

// add hands the rows of a batch to their ranks, a run of one rank at a time.
func (c *computer) add(b *event.Batch) error {
	return b.EachRank(func(id int32, i, j int) error { return c.rank(id).walk.Add(b, i, j) })
}

// rank returns the rank with a number, which may be new. Rows of a rank usually come together, so
// it searches from the last one.
func (c *computer) rank(id int32) *rank {
	for k := len(c.ranks) - 1; k >= 0; k-- {
		if c.ranks[k].id == id {
			return c.ranks[k]
		}
	}
	r := newRank(c.header, id, &c.rules, c.opt.BusyAll)
	c.ranks = append(c.ranks, r)
	return r
}
