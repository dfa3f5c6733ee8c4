package replay

import (
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
	// call takes those of a call.
	call(process int32, start, end, newStart, newEnd int64)
}

// pass goes through the rows of a trace in the order of old times, with any number of
// scenarios side by side: slices of new times have one for each of them.
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
	even   [][]spentIn // by step: factors that make its host time even over ranks, nil for none
	sink   sink        // nil for none
	learn  *learner    // nil for none
}

// process is the state of a process.
type process struct {
	streams   []*stream
	threads   []*thread
	launched  *thread   // that launched last
	launchers []*thread // that launched
	latest    *unit     // that started last
	starts    []int32   // steps whose start is to come
	records   [maxAge]record
	recorded  int // records of events so far
	markers   [4]anchor
	marked    int
	gil       anchor // where a range in which a thread holds the interpreter lock ended last
	gilOf     *thread
	sampled   bool  // since a copy to the host came back
	calls     bool  // some thread calls the GPU's library
	step      int32 // the latest that has started, -1 for none
	limits    [][2]int64
	progress
	evening
}

// progress is how far the GPU gets with the units of a process.
type progress struct {
	begins []int64 // when the first starts
	ends   []int64 // and the last one ends
	until  int64   // of those that start before
	first  int32   // step of the benchmark segment, -1 for none
	lead   []int64 // by how much later work ends as that begins
}

// evening is what makes the host time of a step even over ranks.
type evening struct {
	even    []spentIn // factors of it
	spentAt []int32   // by name beyond -1: where it may be in the host times of the step
}

// anchor is an instant: when it was and when it is.
type anchor struct {
	old int64
	new []int64
}

// set makes it another instant.
func (a *anchor) set(old int64, now []int64) { a.old, a.new = old, append(a.new[:0], now...) }

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

// newPass makes a pass over a trace.
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

// run goes through all rows.
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

// row adds a row.
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

// drift moves a row that is of no thread and no stream with the thread that launched last.
func (p *pass) drift(q *process, r *row) {
	if p.sink == nil {
		return
	}
	d := p.shift(q, 0)
	p.sink.start(r.stretch, r.ordinal, r.start+d)
	p.sink.end(r.stretch, r.ordinal, r.end+d)
}

// shift is how much later the thread that launched last in a process is in a scenario.
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

// until handles what ends or starts until t: steps start after what else is at one time, rows
// after these.
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

// finish ends what has not ended, and moves the window rows with the steps that bound them.
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
