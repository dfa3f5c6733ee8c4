package idle

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

const (
	never = Never
	none  = -1 << 63
)

// Options says what to attribute.
type Options struct {
	// Rank is its number, by which holders of the interpreter lock are distinguished.
	Rank int32
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// PerSite keeps the sites of each slice, and no totals of groups.
	PerSite bool
	// TotalsOnly keeps totals of groups, and nothing of single slices.
	TotalsOnly bool
	// Why divides what is attributed to host threads by why they did not go on, and
	// OSCalls says that calls of the system's libraries were recorded in the rank's
	// process.
	Why, OSCalls bool
	// Stacks keeps in which stacks threads were found while GPUs were idle. It takes Why.
	Stacks bool
	// LockStacks divides, with Why, waits that stacks of calls show to be for the interpreter
	// lock, as by a holder whom nobody knows (InStack).
	LockStacks bool
	// Beside keeps, with Why, what the other threads do meanwhile, and where threads run.
	Beside bool
	// Places says, with Beside, where the CPUs and the rank's GPUs are.
	Places Places
	// HostTime keeps what launching threads did in each slice.
	HostTime bool
	// GPUs is how many GPUs run the rank's kernels and graph replays at most, 0 where nobody knows.
	// Once so many have appeared, no gap reaches back beyond those that are open.
	GPUs int
	// MaxStates is how many states of a rank's threads are kept, 0 for 262,144.
	MaxStates int
	// Store keeps what grows with the trace.
	Store *spill.Store
	// Method is how steps were isolated, "" for streams without.
	Method string
	// Markers are the forward-step markers, nil for the presets.
	Markers *marker.Set
}

// Rank attributes the idle time of one rank's GPUs. It observes the rows of the rank
// in their order.
type Rank struct {
	sites *Sites
	opt   Options
	busy  uint32 // the bits of the kinds that are GPU activity

	last   int64 // start of the last row
	origin int64 // start of the first slice in a group
	closed []attribution

	slices  []slice // the last one is open
	now     sums    // of the open slice
	samples log
	causes  []attribution // of the slice that is being kept
	totals  []attribution
	pending []attribution
	late    log
	host    log
	open    []groupSums

	gpus    []*GPU
	gpu     *GPU // of the last activity
	threads []*hostThread
	byID    map[int64]*hostThread
	thread  *hostThread // of the last host row
	before  *hostThread // the last other one

	unknown   Key // what nobody knows a thread to be doing
	forgotten int64
	gap       []lateAttribution // what the last gap was attributed to
	edges     edges
	holds     []hold // of the interpreter lock, in the order of their start
	held      bool   // holds of the interpreter lock are recorded
	pauses    []span
	evidence  []Evidence
	drawn     []stat.Counts      // by key: samples of the CPU in parts of gaps
	runs      bool               // there are runs of threads
	onCPUs    int64              // ns of these
	unplaced  int64              // ns of those on a CPU without a number
	besides   []besideAt         // of pending slices, not in beside yet
	beside    map[int32][]Beside // by group and thread
	numbers   []threadNumber     // at the end
}

// Kept returns an error, an *event.Error, where a store could not keep all.
func Kept(s *spill.Store) error {
	if err := s.Err(); err != nil {
		return &event.Error{Msg: "the steps do not fit into memory, and " + err.Error(), Advice: "set TMPDIR to a folder with more room, or give more memory with --memory"}
	}
	return nil
}

// hostThread is a thread of the rank's process.
type hostThread struct {
	Thread
	id       int64
	number   int32
	launches bool
	forgot   bool // some of what it did was let go of

	// While it is quiet nothing is known of it but its runs, early: what it did is found out
	// when somebody asks. Most threads only ever run.
	quiet     bool
	early     []cpuRun
	earlyRoom int // how many of them there may be before some are let go of

	beside  Beside    // in the open slice so far
	ran     []cpuRun  // on known CPUs, in the order of their start
	room    int       // likewise of them
	samples stackList // in the order of their start, as called
	called  stackList // stacks of calls
}

// NewRank returns a rank of which nothing was observed.
func NewRank(sites *Sites, opt Options) *Rank {
	r := &Rank{
		sites: sites, opt: opt, busy: 1<<event.Kernel | 1<<event.Graph, last: none, origin: never,
		byID: map[int64]*hostThread{}, slices: []slice{{none, NoGroup}}, edges: newEdges(opt),
		samples: log{opt.Store.NewLog(2, 0)}, host: log{opt.Store.NewLog(2, 0)}, late: log{opt.Store.NewLog(3, 0)},
	}
	r.opt.MaxStates = cmp.Or(r.opt.MaxStates, maxStates)
	if r.unknown = Key(Untraced); opt.Why {
		r.unknown = sites.divide(r.unknown, Unknown)
	}
	if opt.BusyAll {
		r.busy |= 1<<event.Memcpy | 1<<event.Memset
	}
	return r
}

// HostRow is a host row as it was observed.
type HostRow struct {
	Thread int         // number of the thread within the rank, -1 where it is not known
	Class  event.Class // Other and Range where the row has none
	Name   int32       // of Sites.Names for calls, of Sites.Ranges for ranges
	Path   int32       // of ranges around it, -1 for none
}

// Observe observes rows i to j, all of the rank and of the open slice. Rows that are
// neither GPU activity, calls nor ranges mean nothing here.
func (r *Rank) Observe(b *event.Batch, i, j int) {
	var a Activity
	kinds := b.Kind.Values[:j]
	for ; i < j; i++ {
		switch kinds[i] {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			if r.IsActivity(b, i) {
				r.Read(b, i, &a)
				r.Activity(&a)
			}
		case event.API:
			r.Call(b, i)
		case event.NVTX:
			r.Range(b, i)
		case event.OS, event.Run, event.Overhead:
			r.Host(b, i)
		case event.Sample, event.Backtrace:
			r.Stack(b, i)
		}
	}
	r.Bound()
}

// callStates are the states of a thread in calls of each class.
var callStates = func() (states [32]State) {
	for i := range states {
		states[i] = InAPI
	}
	states[event.Launch], states[event.GraphLaunch] = InLaunch, InLaunch
	states[event.APISync] = InSync
	states[event.Memop] = InMemop
	states[event.Alloc] = InAlloc
	return states
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
	state := callStates[host.Class&31]
	h.Call(start, b.End.Values[i], state, State(r.sites.call(Cause(state), host.Path, host.Name)))
	h.launches = h.launches || state == InLaunch
	return host
}

// Range observes row i, an NVTX range, and returns what it is to an analysis: Thread is -1
// where the row names none, Path that of the ranges which are open around it, -1 for none. Ranges
// of the interpreter lock and of the garbage collector are states of the thread and never
// part of a path: a site's name must not depend on who held the lock.
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
		r.held = true
		if r.opt.Why {
			r.holds = append(r.holds, hold{start, end, h})
		}
	case host.Class == event.GC:
		h.Collect(start, end)
	default:
		h.Advance(start)
		host.Path = h.Path()
		h.Range(start, end, r.sites.paths.Child(host.Path, host.Name))
	}
	return host
}

// osClasses are the classes of calls of the system's libraries, as native.Classes.
var osClasses = []event.Class{
	event.OSLock, event.OSWait, event.OSJoin, event.OSSleep, event.OSIO, event.OSDriver, event.OSMemory, event.OSFile, event.Other,
}

// osIndex are the indices of classes in native.Classes, that of other for those that are none.
var osIndex = func() []int32 {
	all := make([]int32, len(event.Classes))
	for class := range all {
		if all[class] = int32(slices.Index(osClasses, event.Class(class))); all[class] < 0 {
			all[class] = int32(len(osClasses) - 1)
		}
	}
	return all
}()

// osClass returns the index of a class in native.Classes, that of other for one that is
// not known.
func osClass(class event.Class) int32 {
	if class < 0 || int(class) >= len(osIndex) {
		class = event.Other
	}
	return osIndex[class]
}

// heldBy are the classes of overheads that hold a thread up.
var heldBy = map[event.Class]Overhead{
	event.ByProfiler: ByProfiler, event.QueueFull: ByFullQueue, event.Load: ByLoad,
}

// Host observes row i, which says what the operating system did with a thread, or that an
// overhead held it up. It means nothing without the option Why. It returns the number of the
// thread within the rank, -1 where it is not known.
func (r *Rank) Host(b *event.Batch, i int) int {
	id, ok := b.Thread.Get(i)
	if !ok || !r.opt.Why {
		return -1
	}
	start, end := b.Start.Values[i], b.End.Values[i]
	r.last = start
	if b.Kind.Values[i] == event.Run {
		h := r.threadOf(id, start, true)
		r.observeRun(h, b, i)
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
		h.Host.Call(start, end, osClass(class), name, r.sites.mayWait(name))
	case event.Overhead:
		if by, ok := heldBy[class]; ok {
			h.Host.Hold(by, end)
		}
	}
	return int(h.number)
}

// hostThread returns the thread with the given number, of which a row starts at t that is
// not of kind run.
func (r *Rank) hostThread(id, t int64) *hostThread {
	h := r.threadOf(id, t, false)
	if h.quiet {
		h.wake()
	}
	return h
}

// threadOf returns the thread with the given number, of which a row starts at t; a new one
// may be quiet.
func (r *Rank) threadOf(id, t int64, quiet bool) *hostThread {
	if r.thread != nil && r.thread.id == id {
		return r.thread
	}
	if h := r.before; h != nil && h.id == id { // Fast path: rows of two threads come by turns.
		r.thread, r.before = h, r.thread
		return h
	}
	h := r.byID[id]
	if h == nil {
		h = &hostThread{Thread: *NewThread(t), id: id, number: int32(len(r.threads)), quiet: quiet}
		if r.opt.Why {
			h.Host = NewHostState(t, r.opt.OSCalls)
			h.Divide = func(s State, why Why) State { return State(r.sites.divide(Key(s), why)) }
		}
		r.byID[id] = h
		r.threads = append(r.threads, h)
	}
	r.thread, r.before = h, r.thread
	return h
}

// Launches tells, at the end, whether a thread, by its number within the rank, has launched GPU
// work.
func (r *Rank) Launches(thread int) bool { return r.numbers[thread].launches }

// Close observes the end of the rank's rows and lets go of what only they needed.
func (r *Rank) Close() {
	r.closeSlice(never)
	if r.slices[len(r.slices)-1].start < never {
		r.slices = append(r.slices, slice{never, NoGroup})
	}
	for _, d := range r.gpus {
		r.endGPU(d, never)
	}
	for _, g := range r.open {
		r.totals = g.sums.drain(r.totals, g.group)
	}
	for _, l := range []*spill.Log{r.samples.Log, r.host.Log, r.late.Log} {
		l.Seal()
	}
	for _, h := range r.threads {
		r.numbers = append(r.numbers, threadNumber{h.id, h.launches})
	}
	r.threads, r.byID, r.thread, r.before, r.open, r.gap, r.holds = nil, nil, nil, nil, nil, nil, nil
	r.now, r.edges, r.pending, r.closed, r.causes, r.besides = sums{}, edges{}, nil, nil, nil, nil
	r.slices = slices.Clone(r.slices) // without the room that they had to grow
}
