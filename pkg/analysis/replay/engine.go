package replay

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// sink takes the times that rows have in the first scenario.
type sink interface {
	// start and end take a new time of a row, by its stretch and its place there.
	start(stretch int32, ordinal, t int64)
	end(stretch int32, ordinal, t int64)
	// unit takes the times of a unit, old and new, once.
	unit(process int32, kind event.Kind, start, end, newStart, newEnd int64)
}

// engine is one pass over the rows of a trace, in the order of old times, with any number of
// scenarios side by side: slices of new times have one for each of them.
type engine struct {
	t         *Trace
	n         int // scenarios
	changes   []applied
	byName    [][]int32   // ranges and calls: changes by code of the name
	units     [][]float64 // factor of units by code of the name
	ofRank    []applied   // changes of units of one rank
	host      []float64   // factor of all host time
	keep      []bool      // waits for other threads keep their length
	plainHost bool        // no scenario changes host time
	latency   []int64     // by code of the call's name, -1 where unknown
	tokens    bool        // see known
	copies    bool        // likewise
	age       int         // of the record that waits for events are for
	byRange   bool        // steps begin and end with ranges
	stepClass event.Class // else with units of this class, -1 for any
	classed   bool        // changes are about classes of rows
	loads     bool        // and about code that is loaded
	loses     bool        // or about lost CPUs
	paths     *paths

	sink  sink     // nil for none
	learn *learner // nil for none

	processes []process
	threads   []thread
	streams   []stream
	pending   map[int32][]*meeting // collectives that have not ended, by name
	ends      endHeap
	seq       int64
	launched  *thread // that launched last, of all
	steps     []stepTimes
	freeUnits []*unit
	freeRows  []*openRow

	unexplained int64 // ns by which units start later than their constraints, in old times
}

// applied is a change in a scenario.
type applied struct {
	Change
	scenario int
}

// process is the state of a process.
type process struct {
	streams  []*stream
	launched *thread // that launched last
	latest   *unit   // that started last
	starts   []int32 // steps whose start is to come
	last     *unit   // with the latest end
	records  [maxAge]record
	recorded int // records of events so far
	markers  [4]anchor
	marked   int
	gil      anchor // where a range in which a thread holds the interpreter lock ended last
	gilOf    *thread
	sampling int64   // when kernels that sample were launched last, 0 for none since a wait
	sampled  bool    // since a copy to the host came back
	calls    bool    // some thread calls the GPU's library
	begins   []int64 // when its first unit starts, where there are no steps
	ends     []int64 // and its last one ends
}

// record is a call that records an event.
type record struct {
	t    int64
	unit *unit // of those launched before, the one with the latest end so far
}

// anchor is an instant: when it was and when it is.
type anchor struct {
	old int64
	new []int64
}

// set makes it another instant.
func (a *anchor) set(old int64, now []int64) { a.old, a.new = old, append(a.new[:0], now...) }

// stepTimes is when a step begins and ends.
type stepTimes struct {
	start, end []int64
	bound      bool
}

// newEngine makes a pass over a trace.
func newEngine(t *Trace, scenarios []Scenario, know *known) *engine {
	n := len(scenarios)
	e := &engine{
		t: t, n: n, latency: know.latency, age: know.age, tokens: know.tokens, copies: know.copies, plainHost: true,
		processes: make([]process, len(t.processes)), threads: make([]thread, len(t.threads)), streams: make([]stream, len(t.streams)),
		pending: map[int32][]*meeting{}, steps: make([]stepTimes, len(t.steps)),
	}
	e.stepClass = classOfSteps(t.header)
	e.byRange = t.header.Isolation != nil && t.header.Isolation.Method == "nvtx"
	e.host, e.keep = make([]float64, n), make([]bool, n)
	for s := range scenarios {
		e.host[s], e.keep[s] = 1, scenarios[s].Keep
		for _, c := range scenarios[s].Changes {
			e.changes = append(e.changes, applied{c, s})
			e.classed = e.classed || c.what == classTime
			e.loads = e.loads || c.what == classTime && slices.Contains(c.classes, event.Load)
			e.loses = e.loses || c.what == lostTime
		}
	}
	graphs := slices.ContainsFunc(e.changes, func(c applied) bool { return c.what == graphTime })
	e.paths = newPaths(t.names.all, e.changes)
	e.apply()
	for k, p := range t.streams {
		e.streams[k] = stream{process: p.process, device: p.device}
		q := &e.processes[p.process]
		q.streams = append(q.streams, &e.streams[k])
	}
	for k, p := range t.threads {
		e.threads[k] = thread{process: &e.processes[p.process], rank: t.processes[p.process], launches: p.launches, depth: make([]int16, len(e.changes))}
		if graphs && know.passes != nil {
			e.threads[k].passes = know.passes.of[k]
		}
		e.threads[k].process.calls = e.threads[k].process.calls || p.calls
	}
	return e
}

// apply finds what the changes are about.
func (e *engine) apply() {
	names := e.t.names.all
	e.byName, e.units = make([][]int32, len(names)), make([][]float64, len(names))
	all := make([]float64, e.n)
	for s := range all {
		all[s] = 1
	}
	for _, c := range e.changes {
		switch c.what {
		case hostTime, allHost:
			e.host[c.scenario] *= c.Factor
		case gpuTime:
			if c.rank == nil {
				all[c.scenario] *= c.Factor
			} else {
				e.ofRank = append(e.ofRank, c)
			}
		}
		e.plainHost = e.plainHost && (c.what == gpuTime || c.what == kernelTime)
	}
	for code := range names {
		e.units[code] = all
		for k, c := range e.changes {
			switch {
			case c.what == kernelTime && e.fits(&c.Change, c.glob, code):
				if &e.units[code][0] == &all[0] {
					e.units[code] = append([]float64(nil), all...)
				}
				e.units[code][c.scenario] *= c.Factor
			case c.what == launchTime || c.what == otherWaits:
			case c.glob != "" && c.what != kernelTime && e.fits(&c.Change, c.glob, code):
				e.byName[code] = append(e.byName[code], int32(k))
			}
		}
	}
}

// fits tells whether a change is about a name.
func (e *engine) fits(c *Change, glob string, code int) bool {
	n := &e.t.names.all[code]
	if c.folded {
		return n.text == glob
	}
	for k, g := range e.t.names.globs {
		if g == glob && n.fits>>k&1 != 0 {
			return true
		}
	}
	return false
}

// run goes through all rows.
func (e *engine) run() error {
	const rows = 1 << 10
	if err := e.begin(); err != nil || len(e.t.runs) == 0 {
		return err
	}
	m, err := spill.NewMerge(e.t.store, e.t.runs, len(e.t.runs))
	if err != nil {
		return err
	}
	for {
		run, r, i, j, err := m.Next(rows)
		if err != nil {
			return err
		}
		if run == nil {
			break
		}
		for ; i < j; i++ {
			e.row(&row{
				start: r[spill.Key][i], end: r[spill.Then][i], ordinal: r[spill.Seq][i], stretch: int32(run.Tag),
				kind: event.Kind(r[colWhat][i] & 0xff), class: event.Class(r[colWhat][i]>>8 - 1), place: int32(r[colPlace][i]), name: int32(r[colName][i]),
				launch: r[colLaunch][i], launcher: int32(r[colLaunchThread][i]), correlation: r[colCorrelation][i], node: r[colNode][i] != 0,
			})
		}
	}
	e.until(never)
	e.finish()
	return nil
}

// begin gets the steps ready.
func (e *engine) begin() error {
	for k := range e.t.steps {
		e.push(end{t: e.t.steps[k].start, order: stepStarts, step: int32(k)})
	}
	return nil
}

// row is a row as the model sees it.
type row struct {
	start, end  int64
	ordinal     int64
	stretch     int32
	kind        event.Kind
	class       event.Class // -1 for none
	place, name int32
	launch      int64
	launcher    int32
	correlation int64
	node        bool
}

// row adds a row.
func (e *engine) row(r *row) {
	e.until(r.start)
	p := &e.processes[e.t.stretches[r.stretch]]
	if len(p.starts) > 0 {
		e.missed(p, r.start)
	}
	switch {
	case r.kind.IsGPU():
		e.addUnit(p, r)
	case r.kind == event.Sync:
		e.addSync(p, r)
	case r.place < 0:
		e.drift(p, r)
	case r.kind == event.API || r.kind == event.NVTX || r.kind == event.OS:
		e.addHost(r)
	case e.loads && r.kind == event.Overhead && r.class == event.Load && e.sink == nil:
		e.addLoad(r)
	default:
		if e.loses && r.kind == event.Run {
			e.addRun(r)
		}
		e.addInstants(r)
	}
}

// drift moves a row that is of no thread and no stream with the thread that launched last.
func (e *engine) drift(p *process, r *row) {
	if e.sink == nil {
		return
	}
	d := e.shift(p, 0)
	e.sink.start(r.stretch, r.ordinal, r.start+d)
	e.sink.end(r.stretch, r.ordinal, r.end+d)
}

// shift is how much later the thread that launched last in a process is in a scenario.
func (e *engine) shift(p *process, s int) int64 {
	th := p.launched
	if th == nil {
		th = e.launched
	}
	if th == nil {
		return 0
	}
	return th.now[s] - th.last
}

// until handles what ends until t.
func (e *engine) until(t int64) {
	for len(e.ends) > 0 && (e.ends[0].t < t || e.ends[0].t == t && e.ends[0].order < stepStarts) {
		x := e.pop()
		switch x.order {
		case meets:
			if !x.meeting.done {
				e.resolve(x.meeting)
			}
		case hostEnds:
			e.endHost(x.row)
		case stepEnds:
			e.endStep(x.step)
		case stepStarts:
			e.startStep(x.step)
		}
	}
	for len(e.ends) > 0 && e.ends[0].t == t && e.ends[0].order == stepStarts {
		e.startStep(e.pop().step)
	}
}

// The order of what happens at one instant.
const (
	meets      = iota // a collective ends
	hostEnds          // a row of a thread ends
	stepEnds          // a step ends
	stepStarts        // a step starts, and rows do
)

// end is something that is going to happen.
type end struct {
	t       int64
	seq     int64 // of equal ones what began last is first
	order   int
	row     *openRow
	meeting *meeting
	step    int32
}

// endHeap has the earliest first.
type endHeap []end

func (a *end) before(b *end) bool {
	if a.t != b.t {
		return a.t < b.t
	}
	if a.order != b.order {
		return a.order < b.order
	}
	return a.seq > b.seq
}

// push adds what is going to happen.
func (e *engine) push(x end) {
	e.seq++
	x.seq = e.seq
	h := append(e.ends, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	e.ends = h
}

// pop takes what happens first.
func (e *engine) pop() end {
	h := e.ends
	first, n := h[0], len(h)-1
	h[0] = h[n]
	h[n] = end{}
	h = h[:n]
	for i := 0; ; {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && h[k+1].before(&h[k]) {
			k++
		}
		if !h[k].before(&h[i]) {
			break
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
	e.ends = h
	return first
}
