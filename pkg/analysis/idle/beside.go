package idle

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Beside is what a thread did in a group of slices while others waited, and where it ran.
// Times are ns, those while GPUs are idle summed over GPUs.
type Beside struct {
	Ran   int64 // on a CPU in all
	Moves int64 // it came to a CPU that was not its last one
	// Crossings counts those moves between sockets, and Far is the time that it was on a CPU
	// whose NUMA node has none of the rank's GPUs; 0 where nobody knows which are (see [Places]).
	Crossings, Far int64
	// While a GPU is idle because of a launching thread that is blocked until another
	// thread or process does something (calls of the classes wait, io and join): OnCPU is
	// the time that this thread was on a CPU, of the waiting thread itself Waited.
	OnCPU, Waited int64
}

// Add adds what it did in other slices.
func (b *Beside) Add(o Beside) {
	b.Ran += o.Ran
	b.Moves += o.Moves
	b.Crossings += o.Crossings
	b.Far += o.Far
	b.OnCPU += o.OnCPU
	b.Waited += o.Waited
}

// Places says where CPUs and GPUs are. Lists are nil where nothing is known.
type Places struct {
	Sockets  []int32 // of each CPU by its number, -1 where that is not known
	Nodes    []int32 // NUMA nodes, likewise
	GPUNodes []int32 // those of a rank's GPUs, in ascending order
}

// betweenSockets reports whether two CPUs are known to be in two sockets.
func (p *Places) betweenSockets(a, b int32) bool {
	s, t := at(p.Sockets, a), at(p.Sockets, b)
	return s >= 0 && t >= 0 && s != t
}

// far reports whether a CPU is known to be in a NUMA node without a GPU of the rank.
func (p *Places) far(cpu int32) bool {
	node := at(p.Nodes, cpu)
	return node >= 0 && len(p.GPUNodes) > 0 && !slices.Contains(p.GPUNodes, node)
}

// at is the place of a CPU, -1 where it is not known.
func at(places []int32, cpu int32) int32 {
	if cpu < 0 || int(cpu) >= len(places) {
		return -1
	}
	return places[cpu]
}

// ThreadBeside is what is known of one thread in one group.
type ThreadBeside struct {
	Group    int   // as Cut was told
	Thread   int64 // its number
	Launches bool  // it launched GPU work, too
	Beside
}

// cpuRun is a stretch that a thread was on a CPU, in ns; its number is -1 where it is not
// known whether the thread was on any.
type cpuRun struct {
	start, end int64
	cpu        int32
}

// company is what threads do beside one another, and where they run.
type company struct {
	ledger   *ledger
	hosts    *hosts
	runs     bool               // there are runs of threads
	onCPUs   int64              // ns of these
	unplaced int64              // ns of those on a CPU without a number
	besides  []besideAt         // of pending slices, not in of yet
	of       map[int32][]Beside // by group and thread
	waits    *spill.Log         // by slice: spans in which a launching thread waits for others; nil where nobody asks
}

// maxCPURuns is how many runs of a thread are kept: what is before them nobody knows.
const maxCPURuns = 1 << 15

// few is how many runs, or stacks, of a thread are kept before those that no gap reaches back
// to are let go of.
var few = 1 << 13 // changed by tests only

// besideAt is what a thread did in one slice.
type besideAt struct {
	slice, thread int32
	Beside
}

// reach returns the time that the gaps of GPUs reach back to, none where one is yet to
// appear.
func (r *Rank) reach() int64 {
	if len(r.gpus) == 0 {
		return none
	}
	from := r.last
	for _, l := range r.gpus {
		from = min(from, l.End)
	}
	return from
}

// lately returns the runs of a list that end after a time and the one before them, at most
// half of maxCPURuns.
func lately(list []cpuRun, from int64) []cpuRun {
	k := 0
	for k+1 < len(list) && list[k].end <= from && list[k+1].end <= from {
		k++
	}
	return append(list[:0], list[max(k, len(list)-maxCPURuns/2):]...)
}

// onCPU observes a run on a CPU that is known.
func (c *company) onCPU(h *hostThread, run cpuRun, reach int64) {
	if n := len(h.ran); n > 0 { // two at a time are one
		run.start = max(run.start, h.ran[n-1].end)
	}
	if run.start >= run.end {
		return
	}
	c.runOf(h, run)
	if len(h.ran) >= max(few, h.room) {
		h.ran = lately(h.ran, min(reach, c.ledger.slices[len(c.ledger.slices)-1].start))
		h.room = min(2*len(h.ran), maxCPURuns)
	}
	h.ran = append(h.ran, run)
}

// runOf adds a run, which comes after h.ran, to what its thread did in the open slice: all of
// it, of which close leaves what comes after the slice to the next one.
func (c *company) runOf(h *hostThread, run cpuRun) {
	one := &h.beside
	one.Ran += run.end - run.start
	if c.onCPUs += run.end - run.start; run.cpu == event.SomeCPU {
		c.unplaced += run.end - run.start
	} else if n := len(h.ran); n > 0 && h.ran[n-1].cpu != run.cpu && h.ran[n-1].cpu != event.SomeCPU {
		one.Moves++
		if c.ledger.opt.Places.betweenSockets(h.ran[n-1].cpu, run.cpu) {
			one.Crossings++
		}
	}
	if c.ledger.opt.Places.far(run.cpu) {
		one.Far += run.end - run.start
	}
}

// keepQuiet keeps a run of a thread that is quiet.
func (r *Rank) keepQuiet(h *hostThread, run cpuRun) {
	if len(h.early) >= max(few, h.earlyRoom) {
		h.early = lately(h.early, r.reach())
		h.earlyRoom = min(2*len(h.early), maxCPURuns)
		h.Skip(h.early[0].start)
	}
	h.early = append(h.early, run)
}

// wake observes the runs of a thread that was quiet.
func (h *hostThread) wake() {
	for _, run := range h.early {
		h.Advance(run.start)
		h.Host.Run(run.end, run.cpu >= 0)
	}
	h.quiet, h.early = false, nil
}

// ranOn is how long a thread was on a CPU between two times.
func (h *hostThread) ranOn(from, to int64) (ns int64) {
	for k := len(h.ran) - 1; k >= 0 && h.ran[k].end > from; k-- {
		if run := &h.ran[k]; run.start < to {
			ns += min(run.end, to) - max(run.start, from)
		}
	}
	return ns
}

// minPlaced is the time of runs, as a multiple of that of those on a CPU without a number, from
// which it is told where threads ran: what they did there changes little.
const minPlaced = 100

// Placed reports whether it is known of nearly all runs on which CPU they were.
func (c *company) Placed() bool { return minPlaced*c.unplaced <= c.onCPUs }

// observe observes that a GPU is idle between two times because a thread waits for others:
// what these do meanwhile.
func (c *company) observe(from, to int64, waiting *hostThread, why Why) {
	if !c.ledger.opt.Beside || !c.runs || !why.ForOthers() { // Fast path: most recordings have no runs.
		return
	}
	for k := len(c.ledger.slices) - 1; k >= 0 && from < to; k-- {
		start := max(from, c.ledger.slices[k].start)
		if start >= to {
			continue
		}
		if c.waits != nil {
			c.waits.Add(int64(k), start, to)
		}
		for _, h := range c.hosts.threads {
			one := Beside{OnCPU: h.ranOn(start, to)}
			if h == waiting {
				one = Beside{Waited: to - start}
			}
			if k == len(c.ledger.slices)-1 {
				h.beside.Add(one)
			} else {
				c.add(k, h, one)
			}
		}
		to = start
	}
}

// close observes the end of the open slice at a time: what ran on after it did so in
// the next one.
func (c *company) close(k int, at int64) {
	if !c.ledger.opt.Beside || !c.runs {
		return
	}
	for _, h := range c.hosts.threads {
		var after Beside
		for n := len(h.ran) - 1; n >= 0 && h.ran[n].end > at; n-- {
			ns := h.ran[n].end - max(at, h.ran[n].start)
			if after.Ran += ns; c.ledger.opt.Places.far(h.ran[n].cpu) {
				after.Far += ns
			}
		}
		h.beside.Ran -= after.Ran
		h.beside.Far -= after.Far
		c.add(k, h, h.beside)
		h.beside = after
	}
}

// add adds what a thread did in a closed slice to its group, or keeps it until that is
// known.
func (c *company) add(k int, h *hostThread, one Beside) {
	switch group := c.ledger.slices[k].group; {
	case one == Beside{} || group == NoGroup:
	case group == Pending:
		c.besides = append(c.besides, besideAt{int32(k), h.number, one})
	default:
		c.ofGroup(group, h.number).Add(one)
	}
}

// ofGroup is what a thread, by its number, did in a group.
func (c *company) ofGroup(group, thread int32) *Beside {
	if c.of == nil {
		c.of = map[int32][]Beside{}
	}
	list := c.of[group]
	if n := int(thread) + 1 - len(list); n > 0 {
		list = append(list, make([]Beside, n)...)
		c.of[group] = list
	}
	return &list[thread]
}

// settle adds up what was kept of slices that were pending.
func (c *company) settle() {
	for _, b := range c.besides {
		if group := c.ledger.slices[b.slice].group; group >= 0 {
			c.ofGroup(group, b.thread).Add(b.Beside)
		}
	}
	c.besides = c.besides[:0]
}

// EachBeside calls f with what is known of each thread in each group, in no particular
// order, where the option Beside is set.
func (c *company) EachBeside(f func(ThreadBeside)) {
	for group, list := range c.of {
		for n, one := range list {
			if one != (Beside{}) {
				f(ThreadBeside{int(group), c.hosts.numbers[n].id, c.hosts.numbers[n].launches, one})
			}
		}
	}
}

// EachWait calls f with each time, ns, in which a gpu is idle because a launching thread is
// blocked until another one does something, where the option Waits is set. Those of several
// gpus may be the same.
func (c *company) EachWait(f func(group int, from, to int64)) {
	const from, to = spill.Payload, spill.Payload + 1
	if c.waits == nil {
		return
	}
	c.waits.Each(spill.Columns(from, to), func(rows spill.Rows) {
		for i, slice := range rows[spill.Key] {
			if group := c.ledger.slices[slice].group; group >= 0 {
				f(int(group), rows[from][i], rows[to][i])
			}
		}
	})
}

// EachSlice calls f with each slice of a group.
func (c *company) EachSlice(f func(group int, from, to int64)) {
	for k, s := range c.ledger.slices {
		if start, end := c.ledger.Bounds(k); s.group >= 0 {
			f(int(s.group), start, end)
		}
	}
}

// observeRun observes row i, of kind run, of a thread.
func (r *Rank) observeRun(h *hostThread, b *event.Batch, i int) {
	run := cpuRun{b.Start.Values[i], b.End.Values[i], -1}
	if b.Columns.Has(event.ColCPU) {
		if cpu, ok := b.CPU.Get(i); ok {
			run.cpu = cpu
		}
	}
	if h.quiet {
		r.keepQuiet(h, run)
	} else {
		h.Advance(run.start)
		h.Host.Run(run.end, run.cpu >= 0)
	}
	if r.company.runs = true; run.cpu >= 0 && r.opt.Beside {
		r.company.onCPU(h, run, r.reach())
	}
}
