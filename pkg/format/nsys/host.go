package nsys

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// What the OS did with host threads is read for filters that ask for it (Options.Host).
// OS library calls become rows of kind os. Runs are made from the points at which a
// thread was scheduled on a CPU or left it. A rank may wait for processes that are not
// ranks; only their runs are kept.

// osCall is the eventClass of calls in osTable; other rows mark starts and ends.
const osCall = 27

// pickOSCalls picks the calls whose thread is known.
func (p *picker) pickOSCalls(t *task, b *block) []int32 {
	start, end, class, threads := b.column("start"), b.column("end"), b.column("eventClass"), b.column("globalTid")
	return p.pick(b, func(i int) bool {
		return (t.table.name != osTable || class.Null[i] || class.Int[i] == osCall) && !threads.Null[i] && isSpan(start, end, i)
	})
}

// addOSCalls appends OS library calls.
func (a *adder) addOSCalls(p *chunk, b *block, rows []int32) {
	a.addSpans(p, b, rows)
	names := b.column("nameId")
	for _, i := range rows {
		entry, known := a.osCalls.at(triple{a: orNone(names, i)})
		if !known {
			*entry = a.osCall(orNone(names, i))
		}
		if entry.name == noString && a.report.strings.find(orNone(names, i)) == noString {
			a.found.nameless++
		}
		p.name, p.class = append(p.name, entry.name), append(p.class, entry.class)
	}
}

// osCall returns the name and class of a call by the number of its name. A name that
// does not look like a function's is dropped, so that nothing else that stands in its
// place gets into an output.
func (n *namer) osCall(id int64) nameEntry {
	name := n.report.strings.find(id)
	if text := n.report.strings.str(name); name != noString && isCallName(text) {
		return nameEntry{name, int64(cudaname.ClassOS(text))}
	}
	return nameEntry{noString, int64(event.Other)}
}

// maxCallName is the most bytes of the name of an OS library call.
const maxCallName = 64

// isCallName reports whether a text may be the name of a function.
func isCallName(text string) bool {
	if len(text) > maxCallName {
		return false
	}
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// pickSwitches picks the points at which a known thread got a CPU or left it.
func (p *picker) pickSwitches(_ *task, b *block) []int32 {
	start, in, threads := b.column("start"), b.column("isSchedIn"), b.column("globalTid")
	return p.pick(b, func(i int) bool { return !in.Null[i] && !threads.Null[i] && isSpan(start, start, i) })
}

// addSwitches appends such points. Start and end are equal; the class is 1 if the
// thread got the CPU, 0 if it left.
func (a *adder) addSwitches(p *chunk, b *block, rows []int32) {
	in, cpus := b.column("isSchedIn"), b.column("cpu")
	p.start, p.end = appendRows(p.start, b.column("start"), rows), appendRows(p.end, b.column("start"), rows)
	for _, i := range rows {
		came, cpu := int64(0), cpus.Int[i]
		if in.Int[i] != 0 {
			came = 1
		}
		if cpus.Null[i] || cpu < 0 || cpu >= math.MaxInt32 {
			cpu = event.SomeCPU
		}
		p.class, p.bytes = append(p.class, came), append(p.bytes, cpu)
	}
}

// addHost makes runs from the switches of all processes, and drops the other host rows
// of processes that are not ranks. It counts the rows about host threads of each rank,
// including unwanted ones. A report without ranks keeps all rows: there is nothing else
// to ask it about.
func (r *report) addHost() error {
	ranks := slices.ContainsFunc(r.slots, func(slot int32) bool { return slot != noSlot })
	err := together(len(r.runs), func(n int) error {
		p := &r.runs[n]
		if ranks && r.slots[n] == noSlot {
			p.events = slices.DeleteFunc(p.events, func(run *spill.Run) bool { return eventTables[run.Tag].host })
		}
		return r.addRuns(int32(n), p)
	})
	if err != nil {
		return r.explain(err)
	}
	for n := range r.runs {
		f, counts := &event.RankFacts{}, [event.MaxKinds]int64{} // of no rank
		if slot := r.slots[n]; slot != noSlot {
			f, counts = &r.info.RankFacts[slot], r.dropped[n]
		}
		for _, run := range r.runs[n].events {
			t := &eventTables[run.Tag]
			if !t.host {
				continue
			}
			if t.stacks != "" {
				if err := r.useStacks(run); err != nil {
					return r.explain(err)
				}
			}
			counts[t.kind] += run.Rows
		}
		for kind, rows := range counts {
			if rows > 0 {
				r.info.Rows[event.Kind(kind).String()] += rows
			}
		}
		f.OSCalls, f.Runs = f.OSCalls+counts[event.OS], f.Runs+counts[event.Run]
		f.Samples, f.Backtraces = f.Samples+counts[event.Sample], f.Backtraces+counts[event.Backtrace]
	}
	if r.count(event.Run) > 0 {
		r.placeGPUs()
	} else {
		r.info.Sockets, r.info.Nodes = nil, nil
	}
	return nil
}

// hostColumns returns the columns that rows about host threads need.
func (r *report) hostColumns() (columns event.Set) {
	if r.count(event.Run) > 0 {
		columns |= event.HostCols
	}
	if r.count(event.Sample)+r.count(event.Backtrace) > 0 {
		columns |= event.StackCols
	}
	return columns
}

// switched is the last point at which a thread got a CPU or left it.
type switched struct {
	at, cpu    int64
	known, ran bool // there is such a point; the thread got the CPU
}

// runMaker makes rows of kind run from the switches of a process.
type runMaker struct {
	*sorter
	process   int32
	low, high int64 // span of all rows of ranks, ns on the report's clock
	limit     int   // most rows of a spill run
	threads   []switched
}

// addRuns makes runs from the switches of a process. If the first point of a thread is
// a leave, the thread was on that CPU since the first row of any rank; after a last
// arrival it is there until the end of the last row. It is unknown whether a thread ran
// before a first arrival, or between two points in the same direction: rows for these
// have no CPU.
func (r *report) addRuns(process int32, p *runs) error {
	if len(p.switches) == 0 || r.info.NoSwitches == event.SwitchesDeduced { // these do not come from the scheduler
		return nil
	}
	m, err := spill.NewMerge(r.store, p.switches, r.limits.fanIn/maxLoaders)
	if err != nil {
		return err
	}
	k := &runMaker{sorter: newSorter(r.store), process: process, limit: r.limits.chunkRows, threads: make([]switched, len(r.threads))}
	k.low, k.high = r.extent()
	k.begin(tagOf(schedTable), afterTasks)
	for {
		_, rows, i, j, err := m.Next(spill.BlockRows)
		if err != nil {
			return err
		}
		if i == j {
			break
		}
		for ; i < j; i++ {
			if r.isOwn(rows[colOwner][i]) {
				continue
			}
			now := switched{rows[colStart][i], rows[colBytes][i], true, rows[colClass][i] != 0}
			if err := k.add(rows[colOwner][i], now); err != nil {
				return err
			}
		}
	}
	return k.end(p)
}

// add adds a point of a thread.
func (k *runMaker) add(thread int64, now switched) error {
	last := k.threads[thread]
	k.threads[thread] = now
	switch {
	case !last.known && now.ran:
		return k.run(thread, k.low, now.at, none)
	case !last.known:
		return k.run(thread, min(k.low, now.at-1), now.at, now.cpu) // never empty, so that the thread is known to be off the CPU afterwards
	case last.ran == now.ran:
		return k.run(thread, last.at, now.at, none)
	case last.ran:
		return k.run(thread, last.at, now.at, last.cpu)
	}
	return nil
}

// run adds a row, unless it is empty.
func (k *runMaker) run(thread, start, end, cpu int64) error {
	if start >= end {
		return nil
	}
	c := k.of(k.process)
	c.start, c.end, c.owner, c.bytes = append(c.start, start), append(c.end, end), append(c.owner, thread), append(c.bytes, cpu)
	if k.added(c); k.rows < k.limit {
		return nil
	}
	return k.flush()
}

// end ends the open runs, and adds all runs to the rows of the process.
func (k *runMaker) end(p *runs) error {
	for thread, last := range k.threads {
		if last.known && last.ran {
			if err := k.run(int64(thread), last.at, k.high, last.cpu); err != nil {
				return err
			}
		}
	}
	if err := k.flush(); err != nil {
		return err
	}
	if made := k.processes; int(k.process) < len(made) {
		p.events = append(p.events, made[k.process].events...)
	}
	return nil
}

// extent returns the span from the start of the first row of any rank to the end of the
// last one, in ns on the report's clock.
func (r *report) extent() (low, high int64) {
	low, high = maxTime, -maxTime
	for _, p := range r.parts() {
		low, high = min(low, p.firstRow-r.info.Offset), max(high, p.lastRow-r.info.Offset)
	}
	if end := r.info.BusyEnd; end != nil {
		high = max(high, *end)
	}
	return low, high
}

// ofCallers reports whether Options.Callers restricts the rows of a table to some
// threads.
func (t *table) ofCallers() bool { return t.host && t.kind != event.Run }

// findCallers finds the threads whose rows are then wanted, once CUDA calls and ranges
// are read. If no thread qualifies, all are wanted.
func (c *census) findCallers(loaders []*loader) {
	c.callers, c.calling = make([]bool, len(c.threads)), map[thread]bool{}
	for _, l := range loaders {
		for n := range l.threadFacts {
			if f := &l.threadFacts[n]; f.Kinds[event.API] > 0 || f.Classes[event.GIL] > 0 {
				c.callers[n], c.calling[*c.threads[n]] = true, true
			}
		}
	}
	c.onlyCallers = c.onlyCallers && len(c.calling) > 0
}

// asks reports whether calls of that name are those in which a thread spins (see
// cudaname.Asks).
func (n *namer) asks(name int64) bool {
	is, known := n.asking[name]
	if !known {
		if n.asking == nil {
			n.asking = map[int64]bool{}
		}
		is = cudaname.Asks(n.report.strings.str(n.report.strings.find(name)))
		n.asking[name] = is
	}
	return is
}

// isCaller reports whether such rows of a thread are wanted, by its number.
func (c *census) isCaller(thread int32) bool {
	return !c.onlyCallers || int(thread) < len(c.callers) && c.callers[thread]
}

// dropOthers drops and counts the unwanted rows, whose owners must be known. Calls in
// which a thread spins are wanted for every thread.
func (l *loader) dropOthers(kind event.Kind, b *block, rows []int32) []int32 {
	kept := 0
	var names []int64
	if kind == event.OS {
		names = b.column("nameId").Int
	}
	for k, owner := range l.owners {
		if !l.report.isCaller(owner.number) && !(names != nil && l.asks(names[rows[k]])) {
			l.dropped = grown(l.dropped, owner.process, [event.MaxKinds]int64{})
			l.dropped[owner.process][kind]++
			continue
		}
		l.owners[kept], rows[kept] = owner, rows[k]
		kept++
	}
	l.owners = l.owners[:kept]
	return rows[:kept]
}
