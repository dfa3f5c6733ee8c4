package compare

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
)

// Ways to bound false alarms among the many rows.
const (
	// Family bounds the probability of one false alarm or more in the whole
	// comparison.
	Family = "family"
	// Discovery bounds the expected share of false alarms among those raised.
	Discovery = "discovery"
)

// MatchBatch compares steps of equal numbers of requests with one another.
const MatchBatch = "batch"

// Options says what to compare and when to believe it. The zero value compares steady
// steps with a chance of one false alarm or more of 5 %.
type Options struct {
	// Phase is Steady, Context, Generation or All; "" is Steady, with
	// MatchBatch it is All.
	Phase string
	// Match is "" or MatchBatch.
	Match string
	// Alpha bounds false alarms, 0 is 0.05.
	Alpha float64
	// Control is Family or Discovery; "" is Family.
	Control string
	// Sources tells what functions ranges come from; nil takes those built in.
	Sources *Sources
	// Verdict, where the caller knows one of the run that is to be optimised,
	// goes into the hand-off.
	Verdict *report.Handoff
}

// check completes the options.
func (o *Options) check() error {
	if o.Phase == "" {
		if o.Phase = Steady; o.Match == MatchBatch {
			o.Phase = All
		}
	}
	o.Alpha = cmp.Or(o.Alpha, 0.05)
	o.Control = cmp.Or(o.Control, Family)
	if o.Sources == nil {
		o.Sources = DefaultSources()
	}
	switch {
	case !slices.Contains([]string{Steady, Context, Generation, All}, o.Phase):
		return fmt.Errorf("unknown phase %q: it is steady, context, generation or all", o.Phase)
	case o.Match != "" && o.Match != MatchBatch:
		return fmt.Errorf("unknown match %q: it is batch or nothing", o.Match)
	case o.Control != Family && o.Control != Discovery:
		return fmt.Errorf("unknown control %q: it is family or discovery", o.Control)
	case !(o.Alpha > 0 && o.Alpha < 1):
		return fmt.Errorf("alpha %v is not between 0 and 1", o.Alpha)
	}
	return nil
}

// Compare compares two runs, or breaks one down where target is nil. An error is
// about the options, or an *event.Error about the temporary file of a run.
func Compare(baseline, target *Run, opt Options) (*Comparison, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	c := &Comparison{
		opt: opt, Comparable: true, Phases: map[string]PhasePair{}, Conclusion: None,
		Reasons: []string{}, Explanation: []string{}, Mitigations: []string{}, Renames: []Rename{}, Warnings: []string{},
		Method: Method{
			Phase: opt.Phase, Match: opt.Match, Level: stat.Level, Alpha: opt.Alpha, Control: opt.Control, Scope: opt.Phase + " steps",
			Duration: bounds[baseline.Method][0], Gap: bounds[baseline.Method][1],
			InterStep: baseline.betweenSteps(),
		},
	}
	c.measure(baseline, target)
	c.examine()
	c.compareRows()
	c.weigh()
	c.comparePhases()
	c.renames()
	c.conclude()
	c.handoff()
	for _, s := range c.sides() {
		if err := s.run.kept(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// measure takes the figures of both runs over the steps that the options say.
func (c *Comparison) measure(baseline, target *Run) {
	c.Labels[0] = baseline.Name
	steps := baseline.phase(c.opt.Phase)
	if target == nil {
		c.Runs = RunCount{Baseline: baseline.repeats}
		c.base = measure(steps, nil)
		c.Steady = Pair{Baseline: c.base.pair()}
		return
	}
	c.Labels[1] = target.Name
	c.Runs = RunCount{baseline.repeats, target.repeats}
	others := target.phase(c.opt.Phase)
	var w weights
	if c.opt.Match == MatchBatch {
		w = c.match(&steps, &others)
	}
	var both sync.WaitGroup
	both.Go(func() { c.base = measure(steps, w) })
	c.target = measure(others, w)
	both.Wait()
	c.Steady = Pair{c.base.pair(), c.target.pair()}
}

// match returns the weights of the batches that both sides have.
func (c *Comparison) match(a, b *choice) weights {
	w := weights{}
	x, y := a.batches(), b.batches()
	total := 0
	for batch, n := range x {
		if m := y[batch]; n >= 2 && m >= 2 && batch.ctx != unknown {
			w[batch] = float64(n + m)
			total += n + m
		}
	}
	for batch := range w {
		w[batch] /= float64(total)
	}
	if all := a.n + b.n; len(w) > 0 && 10*total < 9*all {
		c.warn("%.0f %% of the steps have numbers of requests that are rare on the other side, and are left out", 100-100*float64(total)/float64(all))
	}
	return w
}

// warn adds a warning, a sentence, that stands in every report.
func (c *Comparison) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}
