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
	// Likewise while such a thread is blocked in a call of the class file.
	OnCPUAtFile, AtFile int64
	// While a GPU is idle because this launching thread has lost its CPU: Lost is that time,
	// and Taken the part in which another thread of the process was on that CPU.
	Lost, Taken int64
}

// Add adds what it did in other slices.
func (b *Beside) Add(o Beside) {
	b.Ran += o.Ran
	b.Moves += o.Moves
	b.Crossings += o.Crossings
	b.Far += o.Far
	b.OnCPU += o.OnCPU
	b.Waited += o.Waited
	b.OnCPUAtFile += o.OnCPUAtFile
	b.AtFile += o.AtFile
	b.Lost += o.Lost
	b.Taken += o.Taken
}

// Places says where CPUs and GPUs are. Lists are nil where nothing is known.
type Places struct {
	Sockets  []int32 // of each CPU by its number, -1 where that is not known
	Nodes    []int32 // NUMA nodes, likewise
	GPUNodes []int32 // those of a rank's GPUs, in ascending order
}

// betweenSockets tells whether two CPUs are known to be in two sockets.
func (p *Places) betweenSockets(a, b int32) bool {
	s, t := at(p.Sockets, a), at(p.Sockets, b)
	return s >= 0 && t >= 0 && s != t
}

// far tells whether a CPU is known to be in a NUMA node without a GPU of the rank.
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
func (r *Rank) onCPU(h *hostThread, run cpuRun) {
	if n := len(h.ran); n > 0 { // two at a time are one
		run.start = max(run.start, h.ran[n-1].end)
	}
	if run.start >= run.end {
		return
	}
	r.runOf(h, run)
	if len(h.ran) >= max(few, h.room) {
		h.ran = lately(h.ran, min(r.reach(), r.slices[len(r.slices)-1].start))
		h.room = min(2*len(h.ran), maxCPURuns)
	}
	h.ran = append(h.ran, run)
}

// runOf adds a run, which comes after h.ran, to what its thread did in the open slice: all of
// it, of which closeBeside leaves what comes after the slice to the next one.
func (r *Rank) runOf(h *hostThread, run cpuRun) {
	one := &h.beside
	one.Ran += run.end - run.start
	if r.onCPUs += run.end - run.start; run.cpu == event.SomeCPU {
		r.unplaced += run.end - run.start
	} else if n := len(h.ran); n > 0 && h.ran[n-1].cpu != run.cpu && h.ran[n-1].cpu != event.SomeCPU {
		one.Moves++
		if r.opt.Places.betweenSockets(h.ran[n-1].cpu, run.cpu) {
			one.Crossings++
		}
	}
	if r.opt.Places.far(run.cpu) {
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

// ranOn is how long a thread was on a CPU between two times, -1 for any.
func (h *hostThread) ranOn(cpu int32, from, to int64) (ns int64) {
	for k := len(h.ran) - 1; k >= 0 && h.ran[k].end > from; k-- {
		if run := &h.ran[k]; run.start < to && (cpu < 0 || run.cpu == cpu) {
			ns += min(run.end, to) - max(run.start, from)
		}
	}
	return ns
}

// lastCPU returns the CPU that a thread was on last at a time, -1 where nobody knows.
func (h *hostThread) lastCPU(t int64) int32 {
	k := searchBack(len(h.ran), func(i int) bool { return h.ran[i].start > t }) - 1
	if k < 0 || h.ran[k].cpu == event.SomeCPU {
		return -1
	}
	return h.ran[k].cpu
}

// minPlaced is the time of runs, as a multiple of that of those on a CPU without a number, from
// which it is told where threads ran: what they did there changes little.
const minPlaced = 100

// Placed tells whether it is known of nearly all runs on which CPU they were.
func (r *Rank) Placed() bool { return minPlaced*r.unplaced <= r.onCPUs }

// observeBeside observes that a GPU is idle between two times because of what a thread does:
// what the others do meanwhile, where it has lost its CPU or waits for others.
func (r *Rank) observeBeside(from, to int64, waiting *hostThread, why Why) {
	if !r.opt.Beside || !r.runs { // Fast path: most recordings have none.
		return
	}
	lost := why.Lost() || why == Off
	if !lost && !why.ForOthers() && !why.AtFile() {
		return
	}
	cpu := ForOthers // or the one that was lost
	switch {
	case lost:
		cpu = waiting.lastCPU(from)
	case why.AtFile():
		cpu = AtFile
	}
	for k := len(r.slices) - 1; k >= 0 && from < to; k-- {
		start := max(from, r.slices[k].start)
		if start >= to {
			continue
		}
		if r.waits != nil && (!lost || cpu >= 0) {
			r.waits.Add(int64(k), start, to, int64(cpu), waiting.id)
		}
		r.besideIn(k, waiting, start, to, lost, cpu)
		to = start
	}
}

// besideIn observes that of one slice.
func (r *Rank) besideIn(k int, waiting *hostThread, from, to int64, lost bool, cpu int32) {
	open := k == len(r.slices)-1
	if lost {
		one := Beside{Lost: to - from}
		for _, h := range r.threads {
			if h != waiting && cpu >= 0 {
				one.Taken += h.ranOn(cpu, from, to)
			}
		}
		if open {
			waiting.beside.Add(one)
		} else {
			r.addBeside(k, waiting, one)
		}
		return
	}
	for _, h := range r.threads {
		var one Beside
		b := &h.beside
		if !open {
			b = &one
		}
		switch {
		case h == waiting && cpu == AtFile:
			b.AtFile += to - from
		case h == waiting:
			b.Waited += to - from
		case cpu == AtFile:
			b.OnCPUAtFile += h.ranOn(cpu, from, to)
		default:
			b.OnCPU += h.ranOn(cpu, from, to)
		}
		if !open {
			r.addBeside(k, h, one)
		}
	}
}

// closeBeside observes the end of the open slice at a time: what ran on after it did so in
// the next one.
func (r *Rank) closeBeside(k int, at int64) {
	if !r.opt.Beside || !r.runs {
		return
	}
	for _, h := range r.threads {
		var after Beside
		for n := len(h.ran) - 1; n >= 0 && h.ran[n].end > at; n-- {
			ns := h.ran[n].end - max(at, h.ran[n].start)
			if after.Ran += ns; r.opt.Places.far(h.ran[n].cpu) {
				after.Far += ns
			}
		}
		h.beside.Ran -= after.Ran
		h.beside.Far -= after.Far
		r.addBeside(k, h, h.beside)
		h.beside = after
	}
}

// addBeside adds what a thread did in a closed slice to its group, or keeps it until that is
// known.
func (r *Rank) addBeside(k int, h *hostThread, one Beside) {
	switch group := r.slices[k].group; {
	case one == Beside{} || group == NoGroup:
	case group == Pending:
		r.besides = append(r.besides, besideAt{int32(k), h.number, one})
	default:
		r.groupBeside(group, h.number).Add(one)
	}
}

// groupBeside is what a thread, by its number, did in a group.
func (r *Rank) groupBeside(group, thread int32) *Beside {
	if r.beside == nil {
		r.beside = map[int32][]Beside{}
	}
	list := r.beside[group]
	if n := int(thread) + 1 - len(list); n > 0 {
		list = append(list, make([]Beside, n)...)
		r.beside[group] = list
	}
	return &list[thread]
}

// settleBeside adds up what was kept of slices that were pending.
func (r *Rank) settleBeside() {
	for _, b := range r.besides {
		if group := r.slices[b.slice].group; group >= 0 {
			r.groupBeside(group, b.thread).Add(b.Beside)
		}
	}
	r.besides = r.besides[:0]
}

// EachBeside calls f with what is known of each thread in each group, in no particular
// order, where the option Beside is set.
func (r *Rank) EachBeside(f func(ThreadBeside)) {
	for group, list := range r.beside {
		for n, one := range list {
			if one != (Beside{}) {
				f(ThreadBeside{int(group), r.numbers[n].id, r.numbers[n].launches, one})
			}
		}
	}
}

// Wait is a time, ns, in which a gpu is idle because a launching thread is blocked until
// another thread or process does something, or has lost its CPU.
type Wait struct {
	Group    int   // of slices, as Cut was told
	Thread   int64 // the number of the launching thread
	From, To int64 // ns
	CPU      int32 // that it has lost, ForOthers or AtFile where it is blocked
}

// What a launching thread is blocked in that has lost no CPU: a call of the classes wait, io and
// join, or of the class file.
const (
	ForOthers int32 = -1
	AtFile    int32 = -2
)

// EachWait calls f with each such time, where the option Waits is set. Those of several gpus
// may be the same.
func (r *Rank) EachWait(f func(Wait)) {
	const from, to, cpu, thread = spill.Payload, spill.Payload + 1, spill.Payload + 2, spill.Payload + 3
	r.waits.Each(spill.Columns(from, to, cpu, thread), func(rows spill.Rows) {
		for i, slice := range rows[spill.Key] {
			if group := r.slices[slice].group; group >= 0 {
				f(Wait{int(group), rows[thread][i], rows[from][i], rows[to][i], int32(rows[cpu][i])})
			}
		}
	})
}

// EachSlice calls f with each slice of a group.
func (r *Rank) EachSlice(f func(group int, from, to int64)) {
	for k, s := range r.slices {
		if start, end := r.Bounds(k); s.group >= 0 {
			f(int(s.group), start, end)
		}
	}
}

// threadNumber is what is left of a thread after the end.
type threadNumber struct {
	id       int64
	launches bool
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
	if r.runs = true; run.cpu >= 0 && r.opt.Beside {
		r.onCPU(h, run)
	}
}
