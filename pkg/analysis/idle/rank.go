package idle

import (
	"cmp"
	"math"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

const (
	never = Never
	none  = math.MinInt64
)

// Options selects what to attribute.
type Options struct {
	// Rank is the number of the rank, for [Holder].
	Rank int32
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Why divides time attributed to host threads by why they were stalled, and by who holds
	// the interpreter lock that they wait for. OSCalls says that OS calls were recorded in the
	// rank's process.
	Why, OSCalls bool
	// Stacks keeps the stacks that threads were in while GPUs were idle. It needs Why.
	Stacks bool
	// Waits keeps when launching threads waited for others. It needs Why.
	Waits bool
	// GPUs is the number of GPUs that run the rank's kernels and graph replays, 0 if unknown.
	// Once that many have appeared, states before all open gaps can be dropped.
	GPUs int
	// MaxStates is how many states of the rank's threads are kept, 0 for 262,144.
	MaxStates int
	// Store keeps what grows with the trace. It must not be nil.
	Store *spill.Store
	// Method is how steps were isolated, "" for streams without steps.
	Method string
	// Markers are the forward-step markers, nil for the presets.
	Markers *marker.Set
}

// Rank attributes the idle time of one rank's GPUs. It must observe the rank's rows in order.
type Rank struct {
	ledger
	hosts
	locks locks
	waits *spill.Log // when launching threads were blocked on others; nil without Options.Waits
	busy  uint32     // bit set of the kinds that are GPU activity

	last   int64 // start of the last row
	origin int64 // start of the first slice that a window may hold
	gpus   []*GPU
	gpu    *GPU // of the last activity
	pauses []span

	unknown   Key // key of time in which a thread's state is unknown
	forgotten int64
	gap       []Sample // what the last gap was attributed to, in order of time
	ended     bool     // the last activity ended an idle gap
	edges     edges
}

// Kept returns an *event.Error if the store could not keep everything, else nil.
func Kept(s *spill.Store) error {
	if err := s.Err(); err != nil {
		return &event.Error{Msg: "the steps do not fit into memory, and " + err.Error(), Advice: "set TMPDIR to a folder with more room, or give more memory with --memory"}
	}
	return nil
}

// NewRank returns a rank without rows.
func NewRank(sites *Sites, opt Options) *Rank {
	r := &Rank{
		ledger: ledger{sites: sites, opt: opt, slices: []slice{{start: none}}, idle: opt.Store.NewLog(logColumns, 0)},
		hosts:  hosts{byID: map[int64]*hostThread{}, calls: opt.OSCalls}, busy: 1<<event.Kernel | 1<<event.Graph, last: none, origin: never,
		edges: edges{stepEnd: never, set: cmp.Or(opt.Markers, marker.Presets), custom: opt.Markers != nil, longest: opt.Method == "allreduce"},
	}
	r.edges.rows = r.edges.longest || opt.Method == "graph"
	if opt.Waits {
		r.waits = opt.Store.NewLog(1, 0)
	}
	r.opt.MaxStates = cmp.Or(r.opt.MaxStates, maxStates)
	if r.unknown = Key(Untraced); opt.Why {
		r.divided, r.unknown = sites, sites.divide(r.unknown, Unknown)
	}
	if opt.BusyAll {
		r.busy |= 1<<event.Memcpy | 1<<event.Memset
	}
	return r
}

// HostRow is what an observed host row is to an analysis.
type HostRow struct {
	Thread int         // number of the thread within the rank, -1 if unknown
	Class  event.Class // if the row has none: Other for calls, Range for ranges
	Name   int32       // number in Sites.Names for calls, in Sites.Ranges for ranges
	Path   int32       // path of the ranges open around it, -1 for none or an unknown thread
}

// callCauses maps classes of calls to causes.
var callCauses = func() (causes [32]Cause) {
	for i := range causes {
		causes[i] = API
	}
	causes[event.Launch], causes[event.GraphLaunch], causes[event.APISync], causes[event.Memop], causes[event.Alloc] = Launch, Launch, Sync, Memop, Alloc
	return causes
}()

// Call observes row i, an API call.
func (r *Rank) Call(b *event.Batch, i int) HostRow {
	host := HostRow{Thread: -1, Class: event.Other, Path: -1, Name: r.sites.Names.Of(&b.Name, i)}
	if class, ok := b.Class.Get(i); ok {
		host.Class = class
	}
	start := b.Start.Values[i]
	r.last = start
	id, ok := b.Thread.Get(i)
	if !ok {
		return host
	}
	h := r.hostThread(id, start)
	h.Advance(start)
	host.Thread, host.Path = int(h.number), h.Path()
	cause := callCauses[host.Class&31]
	h.Call(start, b.End.Values[i], cause, r.sites.Call(cause, host.Path, host.Name))
	return host
}

// Range observes row i, an NVTX range. Ranges of the interpreter lock and of the garbage
// collector are states of the thread and never part of a path: the name of a site must not
// depend on who held the lock.
func (r *Rank) Range(b *event.Batch, i int) HostRow {
	host := HostRow{Thread: -1, Class: event.Range, Path: -1}
	if class, ok := b.Class.Get(i); ok {
		host.Class = class
	}
	host.Name = r.sites.Ranges.Of(&b.Name, i)
	start, end := b.Start.Values[i], b.End.Values[i]
	r.last = start
	if host.Class == event.StepMarker || r.edges.custom {
		r.edges.marker(start, end, b.Name.Get(i))
	}
	id, ok := b.Thread.Get(i)
	if !ok {
		return host
	}
	h := r.hostThread(id, start)
	host.Thread = int(h.number)
	switch {
	case host.Class == event.GIL && marker.GILStateOf(r.sites.Ranges.Text(host.Name)) == marker.WaitingGIL:
		h.Wait(start, end)
	case host.Class == event.GIL:
		h.Hold(start, end)
		if r.locks.held = true; r.opt.Why {
			r.locks.holds = append(r.locks.holds, hold{start, end, h})
		}
	case host.Class == event.GC:
		h.Collect(start, end)
	default:
		h.Advance(start)
		host.Path = h.Path()
		h.Range(start, end, r.sites.child(host.Path, host.Name))
	}
	return host
}

// Host observes row i, which is of kind run, os or overhead. It returns the number of the thread
// within the rank, -1 if unknown. Without the option Why it ignores the row and returns -1.
func (r *Rank) Host(b *event.Batch, i int) int {
	id, ok := b.Thread.Get(i)
	if !ok || !r.opt.Why {
		return -1
	}
	start, end := b.Start.Values[i], b.End.Values[i]
	r.last = start
	if b.Kind.Values[i] == event.Run {
		h, run := r.threadOf(id, start, true), cpuRun{start, end, b.Columns.Has(event.ColCPU) && b.CPU.Valid.Get(i)}
		if h.quiet {
			h.run = run
		} else {
			h.observe(run)
		}
		return int(h.number)
	}
	class, ok := b.Class.Get(i)
	if !ok {
		class = event.Other
	}
	h := r.hostThread(id, start)
	h.Advance(start)
	switch b.Kind.Values[i] {
	case event.OS:
		name := r.sites.Calls.Of(&b.Name, i)
		h.Host.Call(start, end, class, name, r.sites.mayWait(name))
	case event.Overhead:
		h.Host.Hold(class, end)
	}
	return int(h.number)
}

// Close observes the end of the rank's rows and releases what only rows need.
func (r *Rank) Close() {
	for _, d := range r.gpus {
		r.endGPU(d, never)
	}
	r.closeSlice()
	r.ledger.seal()
	if r.waits != nil {
		r.waits.Seal()
	}
	r.hosts, r.gap, r.locks.holds, r.edges = hosts{}, nil, nil, edges{}
}
