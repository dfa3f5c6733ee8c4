package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// tableOperations is how many operations the table has. Source: SPEC 12 (ten).
const tableOperations = 10

// ErrNoSteps is returned if there are no steps to predict.
var ErrNoSteps = &event.Error{Msg: "no steps: there is nothing to predict", Advice: "isolate says why none were found; verdict --by none takes the whole trace"}

// Predict predicts the step time in the given scenarios.
func (t *Trace) Predict(given ...Scenario) (*Report, error) {
	r, err := t.predict(func(p *predictor) error { return p.add(given...) }, nil)
	if err == nil {
		r.Warnings = append(r.Warnings, r.still()...)
	}
	return r, err
}

// Table predicts the step time for what may help any run, for the run's own main
// operations and the best two of them together, and last for treatments.
func (t *Trace) Table(treatments []Scenario) (*Report, error) {
	return t.predict(func(p *predictor) error { return p.table(treatments) }, treatments)
}

// predict makes predictions for the steps of the benchmark segments. Those of treatments
// come last.
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

// Each predicts the gain of each treatment alone: by how much shorter the mean step of
// the benchmark segments is. In a stream without steps each rank's recording is one
// step. With means, intervals and KeepUs are left out, which take most of the time.
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

// untypical replaces predictions of treatments that make steps typical
// (Scenario.Typical) by predictions over all steps. It does so if rows are a sample, or
// if nothing else changes. The treatments are the last scenarios of the report.
func (p *predictor) untypical(r *Report, treatments []Scenario) *Report {
	all := r.Scenarios[len(r.Scenarios)-len(treatments):]
	for i := range treatments {
		if steps := p.unlike(&treatments[i]); steps != nil && (p.t.sampled != nil || len(treatments[i].Changes) == 0) {
			all[i] = p.ofAll(steps)
		}
	}
	return r
}

// predictor returns a predictor without predictions.
func (t *Trace) predictor() (*predictor, error) {
	know, l, err := t.learn()
	return &predictor{t: t, know: know, learner: l, chosen: t.benchmark()}, err
}

// predictor makes predictions for the chosen steps.
type predictor struct {
	t       *Trace
	know    *known
	learner *learner
	chosen  []chosen
	now     []float64 // recorded periods of the chosen steps, ns
	rows    []predicted

	means       bool          // intervals are not wanted
	unexplained int64         // ns, see gpu
	alone       map[int32]int // see meetings
	gpu, host   *float64      // bounds, us; nil until computed
}

// predicted is the periods of the chosen steps in one scenario.
type predicted struct {
	Scenario
	pair                 bool      // the best two operations together
	periods, keep, older []float64 // ns; keep and older are nil if not of interest
	queued               float64   // mean ns per step, see predictor.queued
	still                bool      // the periods do not change
	unmet                string    // a change that applies to nothing in the trace, "" for none
}

// pass runs a pass with all scenarios. Units count until the segment after the benchmark
// segment begins.
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

// table replays what may help any run, then the run's operations, last treatments.
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

// operations returns the most promising operations: where most host time is spent, and
// the longest waits.
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

// bestTwo is the label of the best two operations together.
const bestTwo = "the best two together"

// both replays the best two operations together, if each helps.
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
