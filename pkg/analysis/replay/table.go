package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Report says what steps would take. Times are us per step.
type Report struct {
	Steps  int     `json:"steps"`   // of the benchmark segments, of all ranks: what gaps divides by, too
	StepUs float64 `json:"step_us"` // the mean period of these now
	Bounds Bounds  `json:"bounds"`  // what one side alone needs
	// Scenarios are in the order in which they are shown.
	Scenarios []Prediction `json:"scenarios"`
	// UnexplainedUs is by how much units start later than what the model has them wait for.
	UnexplainedUs float64 `json:"unexplained_us"`
	// EventAge is which record a wait for an event is for, 1 for the latest before it, from
	// and to; null where the run has no such waits.
	EventAge *[2]int  `json:"event_age"`
	Warnings []string `json:"warnings"` // a sentence each
	// Doubt is the warning that no gain is certain, "" where they are; Single: because there is
	// one step, whose gains have no interval.
	Doubt  string `json:"-"`
	Single bool   `json:"-"`

	rank   int32 // and number of a steady step of median length
	number int64
}

// Shown is a steady step of median length, by its rank and number, and the scenario with the
// largest gain: what a page shows as it is and as it would be.
func (r *Report) Shown() (rank int32, number int64, most Scenario) {
	return r.rank, r.number, r.best().of.Scenario
}

// best is the scenario with the largest gain, of which there is one at least.
func (r *Report) best() *Prediction {
	best := &r.Scenarios[0]
	for i := range r.Scenarios {
		if one := &r.Scenarios[i]; one.GainUs > best.GainUs {
			best = one
		}
	}
	return best
}

// Bounds are what no change of one side alone can go below; null where nothing was computed, or
// no gain is certain.
type Bounds struct {
	GPUUs  *float64 `json:"gpu_us"`  // the GPU alone: the host takes no time
	HostUs *float64 `json:"host_us"` // the host alone: units take no time
}

// Prediction is what a step would take in a scenario.
type Prediction struct {
	Change    string      `json:"change"`     // Scenario.Name, or its changes
	StepUs    float64     `json:"step_us"`    // the mean period then
	GainUs    float64     `json:"gain_us"`    // Report.StepUs less that; negative where it is longer
	CIUs      *[2]float64 `json:"ci_us"`      // of the gain, 95 %; null where there are too few steps
	GainShare float64     `json:"gain_share"` // GainUs by Report.StepUs
	// KeepUs is what a step would take if waits for other threads kept their length, where
	// that differs by more than 2 % of the step.
	KeepUs *float64 `json:"keep_us,omitempty"`
	// OlderUs is what a step would take if waits for events were for one record earlier, where
	// the run does not say which and that differs by more than 2 % of the step.
	OlderUs *float64 `json:"older_us,omitempty"`
	// TokensPerS are tokens per second and rank in steady steps, null where no counts are known.
	TokensPerS *float64         `json:"tokens_per_s"`
	Phases     map[string]Phase `json:"phases"` // by name: context, generation; those with steps

	of *predicted
}

// Phase is what a step of a phase would take.
type Phase struct {
	Steps     int     `json:"steps"`      // of all ranks
	StepUs    float64 `json:"step_us"`    // the mean period then
	GainUs    float64 `json:"gain_us"`    // the mean period now less that
	GainShare float64 `json:"gain_share"` // of the mean period now
}

// The order of magnitude of a table, SPEC 12: ten operations.
const tableOperations = 10

// ErrNoSteps is that there are no steps to answer for.
var ErrNoSteps = &event.Error{Msg: "no steps: there is nothing to predict", Advice: "isolate says why none were found; verdict --by none takes the whole trace"}

// Predict says what steps would take in some scenarios.
func (t *Trace) Predict(given ...Scenario) (*Report, error) {
	r, err := t.predict(func(p *predictor) error { return p.add(given...) }, nil)
	if err == nil {
		r.Warnings = append(r.Warnings, r.still()...)
	}
	return r, err
}

// Table says what steps would take with what may help any run, with the run's own operations, and, the
// last of the scenarios, with treatments.
func (t *Trace) Table(treatments []Scenario) (*Report, error) {
	return t.predict(func(p *predictor) error { return p.table(treatments) }, treatments)
}

// predict gathers predictions for the steps of the benchmark segments, the last ones of treatments.
func (t *Trace) predict(gather func(*predictor) error, treatments []Scenario) (*Report, error) {
	p, err := t.predictor()
	if err == nil && len(p.chosen) == 0 {
		err = ErrNoSteps
	}
	if err == nil {
		err = gather(p)
	}
	if err != nil {
		return nil, err
	}
	return p.untypical(p.report(), treatments), nil
}

// Each says what treatments bring, each alone: by how much shorter a step of the benchmark segment is,
// the mean over all of these, and where a stream has no steps, each rank's recording is one. Means asks for
// no intervals, nor for what they take longest for: waits for other threads that keep their length.
func (t *Trace) Each(treatments []Scenario, means bool) (*Report, error) {
	p, err := t.predictor()
	if err != nil {
		return nil, err
	}
	if p.means = means; len(p.chosen) == 0 {
		p.chosen = p.whole()
	}
	if len(p.chosen) == 0 {
		return nil, ErrNoSteps
	}
	if err := p.add(treatments...); err != nil {
		return nil, err
	}
	return p.untypical(p.report(), treatments), nil
}

// untypical has predictions of treatments, a report's last, whose steps take what others do be of all
// steps, where rows are a sample, and where nothing else changes.
func (p *predictor) untypical(r *Report, treatments []Scenario) *Report {
	all := r.Scenarios[len(r.Scenarios)-len(treatments):]
	for i := range treatments {
		if steps := p.unlike(&treatments[i]); steps != nil && (p.t.sampled != nil || len(treatments[i].Changes) == 0) {
			all[i] = p.ofAll(steps)
		}
	}
	return r
}

// predictor returns one of which nothing was asked.
func (t *Trace) predictor() (*predictor, error) {
	know, l, err := t.learn()
	return &predictor{t: t, know: know, learner: l, chosen: t.benchmark()}, err
}

// predictor gathers predictions.
type predictor struct {
	t       *Trace
	know    *known
	learner *learner
	chosen  []chosen
	now     []float64 // ns, of the steps that were chosen
	rows    []predicted

	means       bool // no intervals are asked for
	unexplained int64
	alone       map[int32]int // see meetings
	gpu, host   *float64
}

// predicted is the periods in one scenario.
type predicted struct {
	Scenario
	pair                 bool      // the best two operations together
	periods, keep, older []float64 // ns, of the steps that were chosen; nil where they are of no interest
	queued               float64   // ns in the mean, see predictor.queued
	still                bool      // they are those of now
	unmet                string    // a change that is about nothing in the trace, "" for none
}

// chosen is a step that counts: its place among the steps of the trace, the one after it
// that its period ends with, or else the steps of its segment.
type chosen struct {
	step, next int
	segment    [2]int
	lost       int64 // not recorded
	rank       int32
	number     int // of the step, of its rank
	phase      event.Phase
	tokens     int64 // -1 where unknown
	steady     bool
}

// benchmark returns the steps of the benchmark segments, nil where there are none.
func (t *Trace) benchmark() (all []chosen) {
	places := make([][]int, len(t.processes))
	for k := range t.steps {
		places[t.steps[k].process] = append(places[t.steps[k].process], k)
	}
	for p, w := range t.ranks {
		if w == nil || w.Steps.Len() != len(places[p]) {
			continue
		}
		steady := w.Steady()
		from, to := w.BenchmarkSteps()
		for k, s := range w.Steps.Between(from, to) {
			c := chosen{step: places[p][k], next: -1, lost: s.Unrecorded, rank: t.processes[p], number: k, phase: s.Phase, tokens: -1}
			if s.Gen != step.Unknown && s.Ctx != step.Unknown {
				c.tokens = s.Gen + s.Ctx
			}
			if t.sampled != nil && (k == from || !t.sampled.hold(w.Steps.At(k-1).Start, s.Start, s.Until)) {
				continue
			}
			_, c.steady = slices.BinarySearch(steady, k)
			seg := &w.Segments[s.Segment]
			if k+1 < seg.First+seg.Steps {
				c.next = places[p][k+1]
			}
			c.segment = [2]int{places[p][seg.First], places[p][seg.First+seg.Steps-1]}
			all = append(all, c)
		}
	}
	return all
}

// whole is a rank's recording as one step, for streams without steps.
func (p *predictor) whole() (all []chosen) {
	for k, rank := range p.t.processes {
		if rank < 0 {
			continue
		}
		if span := p.t.header.Span(rank); span.GPUStart != nil && span.GPUEnd != nil {
			c := chosen{step: -1 - k, rank: rank, phase: event.Unknown, tokens: -1, steady: true}
			for _, u := range span.Unrecorded {
				c.lost += max(0, min(u[1], *span.GPUEnd)-max(u[0], *span.GPUStart))
			}
			all = append(all, c)
		}
	}
	return all
}

// periods returns the periods in each scenario of a pass, ns.
func (p *predictor) periods(e *pass) (all [][]float64, queued []float64) {
	all = make([][]float64, e.n)
	for s := range all {
		all[s] = make([]float64, len(p.chosen))
		for i, c := range p.chosen {
			if c.step < 0 {
				q := &e.procs[-1-c.step]
				if q.ends == nil { // none of its units is in the stream
					continue
				}
				all[s][i] = float64(q.ends[s] - q.begins[s] - c.lost)
				continue
			}
			start := e.steps.times[c.step].start[s]
			until := int64(math.MinInt64)
			if c.next >= 0 {
				until = e.steps.times[c.next].start[s]
			} else {
				for k := c.segment[0]; k <= c.segment[1]; k++ {
					if p.t.steps[k].process == p.t.steps[c.step].process {
						until = max(until, e.steps.times[k].end[s])
					}
				}
			}
			all[s][i] = float64(until - start - c.lost)
		}
	}
	if e.steps.byRange {
		return all, p.queued(e, all)
	}
	return all, make([]float64, e.n)
}

// queued takes back what steps gained, or lost, by running further ahead, or less far. Where steps
// begin and end with the host's ranges, a host without a wait ends long before its GPU: work that is
// queued at the end of a segment, beyond what was at its beginning and what was in the recording, is
// time that its steps need all the same. Each step has its part of it back, in proportion to what it
// gained. In a run that is as short, steps would take that much less still: how much that is, ns in
// the mean, it returns, for intervals.
func (p *predictor) queued(e *pass, periods [][]float64) []float64 {
	share := make([][]float64, len(e.procs)) // of the gain of a step, in each scenario
	for q := range e.procs {
		if steps, ok := p.segment(int32(q)); ok {
			share[q] = e.steps.aheadShare(int32(q), steps)
		}
	}
	queued := make([]float64, e.n)
	for s := range periods {
		n := 0
		for i, c := range p.chosen {
			if c.step >= 0 {
				late := share[p.t.steps[c.step].process][s] * (periods[0][i] - periods[s][i])
				periods[s][i] += late
				queued[s], n = queued[s]+late, n+1
			}
		}
		queued[s] /= float64(max(n, 1))
	}
	return queued
}

// segment is the first and the last step of a process's benchmark segment, ok false without.
func (p *predictor) segment(process int32) (steps [2]int, ok bool) {
	for _, c := range p.chosen {
		if c.step >= 0 && p.t.steps[c.step].process == process {
			return c.segment, true
		}
	}
	return steps, false
}

// aheadShare is the share of what a process's steps, from one to another, gain in each scenario that
// is work left for later.
func (b *bounds) aheadShare(process int32, steps [2]int) []float64 {
	share, ends := make([]float64, b.n), b.procs[process].ends
	var first, last *stepTimes
	for _, k := range b.order {
		at := &b.times[k]
		if b.t.steps[k].process != process || int(k) < steps[0] || int(k) > steps[1] || at.start == nil || at.end == nil {
			continue
		}
		if last = at; first == nil {
			first = at
		}
	}
	for s := 0; last != nil && ends != nil && s < b.n; s++ {
		gained := last.end[0] - first.start[0] - (last.end[s] - first.start[s])
		left := ends[s] - last.end[s] - (ends[0] - last.end[0])
		if lead := b.procs[process].lead; lead != nil {
			left -= lead[s] - (first.start[s] - first.start[0])
		}
		if gained != 0 {
			share[s] = min(1, max(0, float64(left)/float64(gained)))
		}
	}
	return share
}

// pass is one with all scenarios. Units count up to where segments after the benchmark segments begin.
func (p *predictor) pass(scenarios []Scenario, know *known) (*pass, error) {
	e := newPass(p.t, scenarios, know)
	for q := range e.procs {
		steps, ok := p.segment(int32(q))
		if ok {
			e.procs[q].first = int32(steps[0])
		}
		for k := steps[1] + 1; ok && k < len(p.t.steps) && e.procs[q].until == never; k++ {
			if p.t.steps[k].process == int32(q) {
				e.procs[q].until = p.t.steps[k].start
			}
		}
	}
	return e, e.run()
}

// add replays scenarios side by side.
func (p *predictor) add(all ...Scenario) error {
	run := []Scenario{{}}
	keep := p.learner.woken && !p.means
	for _, s := range all {
		run = append(run, s)
		if keep {
			s.Keep = !s.Keep
			run = append(run, s)
		}
	}
	e, err := p.pass(run, p.know)
	if err != nil {
		return err
	}
	periods, queued := p.periods(e)
	p.now, p.unexplained, p.alone = periods[0], e.gpu.unexplained, e.gpu.meetings.alone
	var older [][]float64
	if !slices.Equal(p.know.oldest, p.know.age) {
		know := *p.know
		know.age = know.oldest
		if e, err = p.pass(run, &know); err != nil {
			return err
		}
		var late []float64
		older, late = p.periods(e)
		for s := range queued {
			if math.Abs(late[s]) > math.Abs(queued[s]) {
				queued[s] = late[s]
			}
		}
	}
	for k, next := 0, 1; k < len(all); k++ {
		row := predicted{Scenario: all[k], periods: periods[next], queued: queued[next], unmet: e.plan.unmet(next)}
		if steps := p.unlike(&all[k]); steps != nil {
			p.typical(steps, row.periods)
		}
		if older != nil {
			row.older = older[next]
		}
		if next++; keep {
			row.keep = periods[next]
			next++
		}
		row.still = slices.Equal(p.now, row.periods)
		p.rows = append(p.rows, row)
	}
	return nil
}

// table replays what would help: first what is asked of every run, then the operations, last
// treatments.
func (p *predictor) table(treatments []Scenario) error {
	fixed := []Scenario{
		{Name: "host 10 % faster", Changes: []Change{Host(1 / 1.1)}},
		{Name: "host twice as fast", Changes: []Change{Host(0.5)}},
		{Name: "GPU 10 % faster", Changes: []Change{GPU(1 / 1.1)}},
		{Name: "GPU twice as fast", Changes: []Change{GPU(0.5)}},
		{Name: "launches free", Changes: []Change{Class(0, event.Launch, event.GraphLaunch)}},
	}
	if len(p.know.tokens) > 0 {
		fixed = append(fixed, Scenario{Name: "no waits but the one that brings tokens back", Changes: []Change{{what: noWait, tokens: notTokens}}})
	}
	bounds := []Scenario{{Changes: []Change{{what: allHost}}}, {Changes: []Change{GPU(0)}}}
	if p.know.even != nil {
		fixed = append(fixed, Scenario{Name: "all ranks even", Changes: []Change{Even()}})
	}
	operations := p.operations()
	if err := p.add(slices.Concat(fixed, operations, treatments, bounds)...); err != nil {
		return err
	}
	n := len(p.rows)
	gpu, host := p.mean(p.rows[n-2].periods)/1e3, p.mean(p.rows[n-1].periods)/1e3
	p.gpu, p.host = &gpu, &host
	given := p.rows[n-2-len(treatments) : n-2]
	found := p.rows[len(fixed) : n-2-len(treatments)]
	slices.SortStableFunc(found, func(a, b predicted) int { return cmp.Compare(p.mean(a.periods), p.mean(b.periods)) })
	found = found[:min(tableOperations, len(found))]
	p.rows = slices.Concat(p.rows[:len(fixed)], found)
	err := p.both(found)
	p.rows = append(p.rows, given...)
	return err
}

// operations are the operations that may help most: where host time is spent, and waits.
func (p *predictor) operations() (all []Scenario) {
	names := p.t.names.all
	for _, code := range largest(p.learner.operations(names), tableOperations) {
		all = append(all, Scenario{Changes: []Change{Range(names[code].text, 0)}})
	}
	for _, code := range largest(p.learner.calls, tableOperations) {
		all = append(all, Scenario{Changes: []Change{Call(names[code].text, 0)}})
	}
	for _, at := range p.learner.sites(tableOperations / 2) {
		c := Wait(names[at.call].text)
		if at.within >= 0 {
			c.within = names[at.within].text
		}
		all = append(all, Scenario{Changes: []Change{c}})
	}
	return all
}

// bestTwo is what the best two operations together are called.
const bestTwo = "the best two together"

// both replays the best two operations together.
func (p *predictor) both(rows []predicted) error {
	if len(rows) < 2 || p.mean(rows[1].periods) >= p.mean(p.now) {
		return nil
	}
	two := Scenario{Changes: slices.Concat(rows[0].Changes, rows[1].Changes)}
	err := p.add(two)
	last := &p.rows[len(p.rows)-1]
	last.Name, last.pair = bestTwo+": "+two.String(), true
	return err
}

// mean is the mean over the steps that count.
func (p *predictor) mean(periods []float64) float64 {
	sum := 0.0
	for _, period := range periods {
		sum += period
	}
	return sum / float64(max(len(periods), 1))
}

// report makes a report of what was gathered.
func (p *predictor) report() *Report {
	r := &Report{StepUs: p.mean(p.now) / 1e3, Bounds: Bounds{p.gpu, p.host}, Warnings: []string{}}
	if r.Steps = len(p.chosen); r.Steps > 0 {
		r.UnexplainedUs = float64(p.unexplained) / 1e3 / float64(max(len(p.t.steps), 1))
	}
	r.EventAge = p.eventAge()
	r.Warnings = append(r.Warnings, p.unseen()...)
	if r.Doubt, r.Single = p.doubt(); r.Doubt != "" {
		r.Warnings = append(r.Warnings, r.Doubt)
		r.Bounds = Bounds{} // what delays work is in neither
	}
	for i := range p.rows {
		r.Scenarios = append(r.Scenarios, p.prediction(&p.rows[i]))
	}
	if slices.ContainsFunc(r.Scenarios, func(p Prediction) bool { return p.OlderUs != nil }) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("which event record the waits of the run are for is ambiguous (%d or %d before the latest): the answer has both results", r.EventAge[0]-1, r.EventAge[1]-1))
	}
	r.rank, r.number = p.typicalStep()
	return r
}

// Missing is an error where a change that was asked for is about nothing in the trace: it would look as if
// there was nothing to gain.
func (r *Report) Missing() error {
	if change := r.Scenarios[0].of.unmet; change != "" {
		return &event.Error{Msg: "nothing in the trace is what this change is about: " + change,
			Advice: "whatif without changes lists what is worth one, gaps the stall classes; '*NAME*=0' takes all that holds NAME; nsys2arrow --doctor says what was recorded"}
	}
	return nil
}

// still says of scenarios that they move no step, which is no finding where nothing that they are about is
// on the way from one step to the next.
func (r *Report) still() (all []string) {
	for i := range r.Scenarios {
		if one := &r.Scenarios[i]; one.of.still {
			all = append(all, fmt.Sprintf("no step takes longer or shorter with %s: there is nothing of what it is about, or no step waits for that", one.Change))
		}
	}
	return all
}

// Doubts says of one scenario why its rows tell less than its prediction.
func (r *Report) Doubts() []string {
	all, one := append(slices.Clone(r.Warnings), r.still()...), &r.Scenarios[0]
	if late := one.of.queued / 1e3; math.Abs(late) > worthBoth*r.StepUs {
		all = append(all, fmt.Sprintf("a step takes %s, and %s from one forward-step range to the next: the host runs further and further ahead of its GPU, which does the rest after the last range (whatif --report)",
			report.Micros(one.StepUs), report.Micros(one.StepUs-late)))
	}
	if one.KeepUs != nil {
		all = append(all, fmt.Sprintf("a step takes %s here, and %s where waits for other threads are taken the other way (--waits)", report.Micros(one.StepUs), report.Micros(*one.KeepUs)))
	}
	return all
}

// typicalStep is the rank and the number of a steady step of median length.
func (p *predictor) typicalStep() (rank int32, number int64) {
	var steady []int
	for i, c := range p.chosen {
		if c.steady && c.step >= 0 && c.rank == p.chosen[0].rank {
			steady = append(steady, i)
		}
	}
	if len(steady) == 0 {
		return 0, -1
	}
	slices.SortStableFunc(steady, func(a, b int) int { return cmp.Compare(p.now[a], p.now[b]) })
	c := p.chosen[steady[len(steady)/2]]
	return c.rank, p.t.steps[c.step].number
}

// doubt says why no gain is certain, "" where they are; single reports whether that is because one
// step is all there is.
func (p *predictor) doubt() (text string, single bool) {
	total := 0.0
	for _, period := range p.now {
		total += period
	}
	switch {
	case len(p.chosen) == 1 && p.chosen[0].step >= 0:
		return "there is one whole step, which cannot tell what a change brings: the figures are of that step alone", true
	case float64(p.unexplained) > total:
		text = "work starts later than its known dependencies explain, by more than the steps take: what delays it was not recorded, and no gain is certain"
	}
	return text, false
}

// unseen says what the model does not follow of this run.
func (p *predictor) unseen() (all []string) {
	total := 0.0
	for _, period := range p.now {
		total += period
	}
	if ns := p.learner.alone[event.OSIO] + p.learner.alone[event.OSWait] + p.learner.alone[event.OSJoin]; float64(ns) > worthBoth*total {
		all = append(all, fmt.Sprintf("launching threads wait %s per step for messages or threads that were not recorded: these waits keep their length", report.Micros(float64(ns)/1e3/float64(max(len(p.now), 1)))))
	}
	if ranks := p.unmet(); len(ranks) > 0 {
		all = append(all, fmt.Sprintf("most collectives of rank %s end with none of another rank: clocks differ, or ranks are missing. Its waits for other ranks, and theirs for it, keep their length", strings.Join(ranks, ", ")))
	}
	if h := p.t.header; h.Rows(event.Graph) > 0 && h.NumRanks() > 1 {
		all = append(all, "graphs recorded as a whole hide their collectives: waits of ranks for one another there are not followed (record with --cuda-graph-trace=node)")
	}
	return all
}

// unmet are the ranks, of several, most of whose collectives no other rank takes part in.
func (p *predictor) unmet() (ranks []string) {
	for q, rank := range p.t.processes {
		if p.alone[int32(q)] > 0 && p.t.header.NumRanks() > 1 {
			ranks = append(ranks, fmt.Sprint(rank))
		}
	}
	return ranks
}

// prediction is what one scenario comes to.
func (p *predictor) prediction(row *predicted) Prediction {
	now, then := p.mean(p.now), p.mean(row.periods)
	one := Prediction{of: row, Change: row.String(), StepUs: then / 1e3, GainUs: (now - then) / 1e3, GainShare: share(now-then, now), Phases: map[string]Phase{}}
	if !p.means {
		one.CIUs = p.interval(row)
	}
	one.KeepUs, one.OlderUs = p.otherwise(row.keep, then, now), p.otherwise(row.older, then, now)
	one.TokensPerS = p.tokens(row.periods)
	for phase, name := range event.Phases {
		var a, b float64
		n := 0
		for i, c := range p.chosen {
			if c.phase == event.Phase(phase) {
				a, b, n = a+p.now[i], b+row.periods[i], n+1
			}
		}
		if n > 0 {
			steps := float64(n)
			one.Phases[name] = Phase{n, b / steps / 1e3, (a - b) / steps / 1e3, share(a-b, a)}
		}
	}
	return one
}

// otherwise is the mean of other periods, us, where it differs by more than 2 % of a step.
func (p *predictor) otherwise(periods []float64, then, now float64) *float64 {
	if periods == nil {
		return nil
	}
	other := p.mean(periods)
	if math.Abs(other-then) <= worthBoth*now {
		return nil
	}
	other /= 1e3
	return &other
}

// share is part of all, 0 of nothing.
func share(part, all float64) float64 {
	if all == 0 {
		return 0
	}
	return part / all
}

// tokens are tokens per second and rank in steady steps, nil where no counts are known.
func (p *predictor) tokens(periods []float64) *float64 {
	var tokens int64
	var ns float64
	for i, c := range p.chosen {
		if !c.steady {
			continue
		}
		if c.tokens < 0 {
			return nil
		}
		tokens += c.tokens
		ns += periods[i]
	}
	if ns <= 0 {
		return nil
	}
	v := float64(tokens) / ns * 1e9
	return &v
}

// interval holds the gain of a scenario in 95 % of runs, us; nil where there are too few steps.
// It is the interval over steps, as far on both sides as predictions are off, and it holds what
// the other readings of the run say.
func (p *predictor) interval(row *predicted) *[2]float64 {
	ci := p.spread(row.periods)
	now := p.mean(p.now) / 1e3
	gain := now - p.mean(row.periods)/1e3
	if ci == nil || row.queued == 0 && row.still {
		return ci
	}
	off := offStep*now + offGain*math.Abs(gain)
	if len(row.Changes) == 0 { // steps that take what others do: nothing is predicted of rows
		off = 0
	}
	least, most := min(0, row.queued)/1e3-off, max(0, row.queued)/1e3+off
	ci[0], ci[1] = ci[0]+least, ci[1]+most
	for _, other := range [][]float64{row.keep, row.older} {
		if v := p.otherwise(other, 1e3*(now-gain), 1e3*now); v != nil {
			ci[0], ci[1] = min(ci[0], now-*v+least), max(ci[1], now-*v+most)
		}
	}
	return ci
}

// spread holds the mean gain over steps in 95 % of runs, us; nil where there are too few. What steps of
// one number gain on all ranks is one sample, as ranks take part in the same steps; where they do
// not, and some have more of them, the mean is that over all all the same.
func (p *predictor) spread(periods []float64) *[2]float64 {
	var gains []float64
	next := map[int32]int{} // by rank
	all := 0.0
	for i, c := range p.chosen {
		k := next[c.rank]
		if next[c.rank]++; k == len(gains) {
			gains = append(gains, 0)
		}
		gains[k] += (p.now[i] - periods[i]) / 1e3
		all++
	}
	for k := range gains {
		gains[k] *= float64(len(gains)) / all
	}
	var w stat.Estimator
	zero := stat.Constant(0, len(gains), float64(len(gains)))
	gain := w.Mean(gains)
	d := stat.Compare(&zero, &gain)
	if math.IsNaN(d.Lo) || math.IsInf(d.Lo, 0) || math.IsInf(d.Hi, 0) {
		return nil
	}
	if !slices.ContainsFunc(gains, func(g float64) bool { return g < 0 }) { // no step loses, and nor does their mean: a few that gain much are far from normal
		d.Lo = max(0, d.Lo)
	}
	return &[2]float64{d.Lo, d.Hi}
}
