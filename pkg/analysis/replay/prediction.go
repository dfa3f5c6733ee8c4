package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Report is the predicted step times. Times are in us per step.
type Report struct {
	Steps  int     `json:"steps"`   // in the benchmark segments of all ranks, as in gaps
	StepUs float64 `json:"step_us"` // their mean period as recorded
	Bounds Bounds  `json:"bounds"`  // what one side alone needs
	// Scenarios are in display order.
	Scenarios []Prediction `json:"scenarios"`
	// UnexplainedUs is how much later units start than the model's dependencies explain.
	UnexplainedUs float64 `json:"unexplained_us"`
	// EventAge is the youngest and the oldest record that event waits may be for. 1 is
	// the latest before the wait; null means no such waits.
	EventAge *[2]int  `json:"event_age"`
	Warnings []string `json:"warnings"` // a sentence each
	// Doubt is the warning that no gain is certain, "" if gains are certain. Single: the
	// reason is that there is only one step, so that gains have no interval.
	Doubt  string `json:"-"`
	Single bool   `json:"-"`

	rank   int32 // rank and number of a steady step of median length
	number int64
}

// Shown returns the step that a page shows as recorded and as predicted, and the
// scenario for that. The step is a steady one of median length, by rank and number (-1
// for none). The scenario is the one with the largest gain.
func (r *Report) Shown() (rank int32, number int64, most Scenario) {
	return r.rank, r.number, r.best().of.Scenario
}

// best returns the scenario with the largest gain. There must be at least one scenario.
func (r *Report) best() *Prediction {
	best := &r.Scenarios[0]
	for i := range r.Scenarios {
		if one := &r.Scenarios[i]; one.GainUs > best.GainUs {
			best = one
		}
	}
	return best
}

// Bounds are the step times that no change of one side alone can go below; null if they
// were not computed, or if no gain is certain.
type Bounds struct {
	GPUUs  *float64 `json:"gpu_us"`  // the host takes no time
	HostUs *float64 `json:"host_us"` // units take no time
}

// Prediction is the step time in a scenario.
type Prediction struct {
	Change    string      `json:"change"`     // Scenario.Name, or its changes as options
	StepUs    float64     `json:"step_us"`    // the mean predicted period
	GainUs    float64     `json:"gain_us"`    // Report.StepUs - StepUs; negative if steps get longer
	CIUs      *[2]float64 `json:"ci_us"`      // 95 % interval of the gain; null if there are too few steps
	GainShare float64     `json:"gain_share"` // GainUs / Report.StepUs
	// KeepUs is the step time under the other assumption about waits for other threads
	// (see Scenario.Keep), if it differs by more than 2 % of the step.
	KeepUs *float64 `json:"keep_us,omitempty"`
	// OlderUs is the step time if event waits are for the oldest possible record. It is
	// null unless the run does not show which record, and the time differs by more than
	// 2 % of the step.
	OlderUs *float64 `json:"older_us,omitempty"`
	// TokensPerS is tokens per second and rank in steady steps, null if token counts are
	// unknown.
	TokensPerS *float64         `json:"tokens_per_s"`
	Phases     map[string]Phase `json:"phases"` // by name: context, generation, unknown; those with steps

	of *predicted
}

// Phase is the prediction for the steps of one phase.
type Phase struct {
	Steps     int     `json:"steps"`      // of all ranks
	StepUs    float64 `json:"step_us"`    // the mean predicted period
	GainUs    float64 `json:"gain_us"`    // the mean recorded period - StepUs
	GainShare float64 `json:"gain_share"` // GainUs / the mean recorded period
}

// report makes the report.
func (p *predictor) report() *Report {
	r := &Report{StepUs: p.mean(p.now) / 1e3, Bounds: Bounds{p.gpu, p.host}, Warnings: []string{}}
	if r.Steps = len(p.chosen); r.Steps > 0 {
		r.UnexplainedUs = float64(p.unexplained) / 1e3 / float64(max(len(p.t.steps), 1))
	}
	r.EventAge = p.eventAge()
	r.Warnings = append(r.Warnings, p.unseen()...)
	if r.Doubt, r.Single = p.doubt(); r.Doubt != "" {
		r.Warnings = append(r.Warnings, r.Doubt)
		r.Bounds = Bounds{} // neither includes what delays the work
	}
	for i := range p.rows {
		r.Scenarios = append(r.Scenarios, p.prediction(&p.rows[i]))
	}
	if slices.ContainsFunc(r.Scenarios, func(p Prediction) bool { return p.OlderUs != nil }) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("it is ambiguous which event record waits are for (%d or %d before the latest): the answer has both results", r.EventAge[0]-1, r.EventAge[1]-1))
	}
	r.rank, r.number = p.typicalStep()
	return r
}

// Missing returns an error if a change of the first scenario applies to nothing in the
// trace. Otherwise it would look as if there were nothing to gain.
func (r *Report) Missing() error {
	if change := r.Scenarios[0].of.unmet; change != "" {
		return &event.Error{Msg: "nothing in the trace matches this change: " + change,
			Advice: "whatif without changes lists candidates, gaps the stall classes; '*NAME*=0' matches every name that contains NAME; nsys2arrow --doctor says what was recorded"}
	}
	return nil
}

// still returns a sentence for each scenario that changes no step. That is expected if
// nothing that it changes lies on the path from one step to the next.
func (r *Report) still() (all []string) {
	for i := range r.Scenarios {
		one, why := &r.Scenarios[i], "nothing matches it, or no step waits for what does"
		if !one.of.still {
			continue
		}
		if one.KeepUs != nil {
			why = fmt.Sprintf("waits for other threads take its place; taken the other way (--waits), a step takes %s", report.Micros(*one.KeepUs))
		}
		all = append(all, fmt.Sprintf("%s changes no step: %s", one.Change, why))
	}
	return all
}

// Doubts returns sentences on why the rows of a report's only scenario show less than
// its prediction.
func (r *Report) Doubts() []string {
	all, one := append(slices.Clone(r.Warnings), r.still()...), &r.Scenarios[0]
	if late := one.of.queued / 1e3; math.Abs(late) > worthBoth*r.StepUs {
		all = append(all, fmt.Sprintf("a step takes %s, and %s from one forward-step range to the next: the host runs further and further ahead of its GPU, which does the rest after the last range (whatif --report)",
			report.Micros(one.StepUs), report.Micros(one.StepUs-late)))
	}
	if one.KeepUs != nil {
		all = append(all, fmt.Sprintf("a step takes %s here, and %s with the other setting of --waits", report.Micros(one.StepUs), report.Micros(*one.KeepUs)))
	}
	return all
}

// doubt says why no gain is certain, "" if gains are certain. single reports whether the
// reason is that there is only one step.
func (p *predictor) doubt() (text string, single bool) {
	total := 0.0
	for _, period := range p.now {
		total += period
	}
	switch {
	case len(p.chosen) == 1 && p.chosen[0].step >= 0:
		return "one whole step is too few to tell what a change would save: the figures are those of that step", true
	case float64(p.unexplained) > total:
		text = "work starts later than its known dependencies explain, by more than the steps take: what delays it was not recorded, and no gain is certain"
	}
	return text, false
}

// unseen returns a sentence for each thing in this run that the model does not follow.
func (p *predictor) unseen() (all []string) {
	total := 0.0
	for _, period := range p.now {
		total += period
	}
	if ns := p.learner.alone[event.OSIO] + p.learner.alone[event.OSWait] + p.learner.alone[event.OSJoin]; float64(ns) > worthBoth*total {
		all = append(all, fmt.Sprintf("launching threads wait %s per step for messages or threads that were not recorded: these waits keep their length", report.Micros(float64(ns)/1e3/float64(max(len(p.now), 1)))))
	}
	if ranks := p.unmet(); len(ranks) > 0 {
		all = append(all, fmt.Sprintf("most collectives of rank %s match none of another rank: clocks differ, or ranks are missing. Waits between it and other ranks keep their length", strings.Join(ranks, ", ")))
	}
	if h := p.t.header; h.Rows(event.Graph) > 0 && h.NumRanks() > 1 {
		all = append(all, "graphs recorded as a whole hide their collectives: the waits inside them are not followed (record with --cuda-graph-trace=node)")
	}
	return all
}

// unmet returns the ranks, if there are several, most of whose collectives match no
// other rank's.
func (p *predictor) unmet() (ranks []string) {
	for q, rank := range p.t.processes {
		if p.alone[int32(q)] > 0 && p.t.header.NumRanks() > 1 {
			ranks = append(ranks, fmt.Sprint(rank))
		}
	}
	return ranks
}

// prediction returns the prediction for one scenario.
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

// otherwise returns the mean of other periods, us, or nil if it is within 2 % of a step
// of then.
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

// share returns part/all, 0 if all is 0.
func share(part, all float64) float64 {
	if all == 0 {
		return 0
	}
	return part / all
}

// tokens returns tokens per second and rank in steady steps, nil if a count is unknown.
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
