package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
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
