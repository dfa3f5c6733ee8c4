package replay

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// sink receives the new times of rows in the first scenario.
type sink interface {
	// start and end receive a new time of a row, given by its stretch and its ordinal
	// there.
	start(stretch int32, ordinal, t int64)
	end(stretch int32, ordinal, t int64)
	// unit receives the old and the new times of a unit, once.
	unit(process int32, kind event.Kind, start, end, newStart, newEnd int64)
	// call receives those of a call.
	call(process int32, start, end, newStart, newEnd int64)
}

// pass replays the rows of a trace in the order of their old times, for any number of
// scenarios side by side. Slices of new times have one element per scenario.
type pass struct {
	t      *Trace
	n      int // scenarios
	plan   *plan
	agenda agenda
	hosts  hosts
	waits  waits
	gpu    gpu
	steps  bounds
	procs  []process
	even   [][]spentIn // by step: factors that even out its host time over ranks, nil for none
	sink   sink        // nil for none
	learn  *learner    // nil for none
}

// process is the state of a process.
type process struct {
	streams   []*stream
	threads   []*thread
	launched  *thread   // the thread that launched last
	launchers []*thread // threads that have launched
	latest    *unit     // the unit that started last
	starts    []int32   // steps whose start is still due
	records   [maxAge]record
	recorded  int // event records so far
	markers   [4]anchor
	marked    int
	gil       anchor  // the last end of a range in which a thread held the interpreter lock
	gilOf     *thread // that thread
	sampled   bool    // a sampling kernel ran, and no copy to the host followed yet
	calls     bool    // some thread calls the GPU's library
	step      int32   // the latest step that has started, -1 for none
	limits    [][2]int64
	progress
	evening
}

// progress is the extent of a process's units, by scenario.
type progress struct {
	begins []int64 // start of the first unit
	ends   []int64 // end of the last unit
	until  int64   // only units that start before count, in old time
	first  int32   // first step of the benchmark segment, -1 for none
	lead   []int64 // when that step begins: by how much later the latest unit ends
}

// evening is what evens out the host time of a step over ranks.
type evening struct {
	even    []spentIn // factors of the current step
	spentAt []int32   // by name code + 1: its likely index in the step's host times
}

// anchor is an instant in old time, and in new time by scenario.
type anchor struct {
	old int64
	new []int64
}

// set moves the anchor; it copies now.
func (a *anchor) set(old int64, now []int64) { a.old, a.new = old, append(a.new[:0], now...) }

// row is what the model needs of a row.
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

// newPass prepares a pass over a trace.
func newPass(t *Trace, scenarios []Scenario, know *known) *pass {
	p := &pass{t: t, n: len(scenarios), plan: newPlan(t, scenarios, know), procs: make([]process, len(t.processes))}
	p.hosts = hosts{pass: p, threads: make([]thread, len(t.threads))}
	p.waits = waits{pass: p, tokens: know.tokens, unhindered: know.free, age: know.age}
	p.gpu = gpu{pass: p, streams: make([]stream, len(t.streams)), latency: know.latency, meetings: meetings{pending: map[int32][]*meeting{}, alone: map[int32]int{}}}
	p.gpu.meetings.gpu = &p.gpu
	p.steps = newBounds(p)
	for k := range p.procs {
		p.procs[k].step, p.procs[k].first, p.procs[k].until = -1, -1, never
		if know.limits != nil {
			p.procs[k].limits = know.limits[k]
		}
	}
	p.even = know.even
	for k, s := range t.streams {
		p.gpu.streams[k] = stream{process: s.process, device: s.device}
		q := &p.procs[s.process]
		q.streams = append(q.streams, &p.gpu.streams[k])
	}
	for k, s := range t.threads {
		q := &p.procs[s.process]
		rank := t.processes[s.process]
		id := identity{process: q, number: int32(k), rank: rank, launches: s.launches, device: s.device, watched: t.header.Records(event.OS, rank)}
		p.hosts.threads[k] = thread{identity: id, depth: make([]int16, len(p.plan.changes))}
		if p.plan.asks[graphTime] && know.passes != nil {
			p.hosts.threads[k].passes = know.passes.of[k]
		}
		q.threads = append(q.threads, &p.hosts.threads[k])
		q.calls = q.calls || s.calls
	}
	return p
}

// run replays all rows.
func (p *pass) run() error {
	if len(p.t.runs) == 0 {
		return nil
	}
	m, err := spill.NewMerge(p.t.store, p.t.runs, len(p.t.runs))
	if err != nil {
		return err
	}
	var one row
	for {
		run, r, i, j, err := m.Next(spill.BlockRows)
		if err != nil {
			return err
		}
		if run == nil {
			break
		}
		one.stretch = int32(run.Tag)
		for ; i < j; i++ {
			one.start, one.end, one.ordinal = r[spill.Key][i], r[spill.Then][i], r[spill.Seq][i]
			one.kind, one.class = event.Kind(r[colWhat][i]&0xff), event.Class(r[colWhat][i]>>8-1)
			one.place, one.name = int32(r[colPlace][i]), int32(r[colName][i])
			one.launch, one.launcher = r[colLaunch][i], int32(r[colLaunchThread][i])
			one.correlation, one.node = r[colCorrelation][i], r[colNode][i] != 0
			p.row(&one)
		}
	}
	p.until(never)
	p.finish()
	return nil
}

// row replays a row.
func (p *pass) row(r *row) {
	p.until(r.start)
	q := &p.procs[p.t.stretches[r.stretch]]
	if len(q.starts) > 0 {
		p.steps.missed(q, r.start)
	}
	if len(p.plan.whys.changes) > 0 && !r.kind.IsGPU() && r.kind != event.Sync && r.place >= 0 {
		p.hosts.observe(r)
	}
	if p.learn != nil && (r.kind == event.Run || r.kind == event.OS) && r.place >= 0 {
		p.learn.ran(p.t.stretches[r.stretch], r)
	}
	switch {
	case r.kind.IsGPU():
		p.gpu.add(q, r)
	case r.kind == event.Sync:
		p.hosts.addSync(q, r)
	case r.place < 0:
		p.drift(q, r)
	case r.kind == event.API || r.kind == event.NVTX || r.kind == event.OS:
		p.hosts.add(r)
	default:
		p.hosts.addInstants(r)
	}
}

// drift moves a row that has neither thread nor stream, with the thread that launched
// last.
func (p *pass) drift(q *process, r *row) {
	if p.sink == nil {
		return
	}
	d := p.shift(q, 0)
	p.sink.start(r.stretch, r.ordinal, r.start+d)
	p.sink.end(r.stretch, r.ordinal, r.end+d)
}

// shift returns how much later, in scenario s, the thread is that launched last in a
// process (or in any process, if none did).
func (p *pass) shift(q *process, s int) int64 {
	th := q.launched
	if th == nil {
		th = p.hosts.launched
	}
	if th == nil {
		return 0
	}
	return th.now[s] - th.last
}

// until handles what starts or ends up to t. At one time steps start after what ends,
// and before rows.
func (p *pass) until(t int64) {
	for {
		next := p.agenda.next()
		if start := p.steps.nextStart(); start < next && start <= t {
			p.steps.begin(start)
			continue
		}
		if next > t || next == never {
			return
		}
		switch x := p.agenda.pop(); x.what() {
		case meets:
			p.gpu.meetings.due(x.ref)
		case hostEnds:
			p.hosts.end(p.hosts.rows[x.ref])
		case stepEnds:
			p.steps.end(x.ref)
		}
	}
}

// finish ends what is open, and moves the window rows with the steps that bound them.
func (p *pass) finish() {
	for k := range p.hosts.threads {
		for th := &p.hosts.threads[k]; th.held != nil; {
			p.hosts.release(th.held)
		}
	}
	for k := range p.procs {
		p.steps.missed(&p.procs[k], never)
	}
	p.until(never)
	if p.sink != nil {
		p.steps.windows()
	}
}
