package compare

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
)

// MatchBatch compares steps with equal numbers of requests with one another.
const MatchBatch = "batch"

// Options are the options of a comparison. The zero value compares steady steps.
type Options struct {
	// Phase is Steady, Context, Generation or All; "" is Steady, or with MatchBatch,
	// All.
	Phase string
	// Match is "" or MatchBatch.
	Match string
	// Sources maps ranges to functions; nil means the built-in table.
	Sources *findings.Sources
}

// Compare compares two runs, or breaks down baseline if target is nil. It measures both
// sides, tests what changed, and draws a conclusion. An error is an *event.Error about
// the temporary file of a run.
func Compare(baseline, target *Run, opt Options) (*Comparison, error) {
	if opt.Phase == "" {
		if opt.Phase = Steady; opt.Match == MatchBatch {
			opt.Phase = All
		}
	}
	if opt.Sources == nil {
		opt.Sources = findings.DefaultSources()
	}
	c := &Comparison{
		opt: opt,
		Method: Method{
			Phase: opt.Phase, Match: opt.Match, Level: stat.Level, Alpha: alpha, Control: "discovery", Scope: opt.Phase + " steps",
			Duration: bounds[baseline.Method][0], Gap: bounds[baseline.Method][1],
			InterStep: betweenSteps,
		},
		Answer: Answer{
			Comparable: true, Conclusion: None,
			Reasons: []string{}, Explanation: []string{}, Mitigations: []string{}, Warnings: []string{}, Renames: []struct{}{}, Phases: map[string]struct{}{},
		},
	}
	c.measure(baseline, target)
	(&examiner{c}).examine()
	(&tester{c}).compareRows()
	(&reader{c}).conclude()
	for _, s := range c.sides() {
		if err := s.run.kept(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// measure computes the figures of both runs over the chosen steps.
func (c *Comparison) measure(baseline, target *Run) {
	c.Labels[0] = baseline.Name
	steps := baseline.phase(c.opt.Phase)
	if target == nil {
		c.Runs = RunCount{Baseline: len(baseline.repeats)}
		c.base = measure(steps, 1, nil)
		c.Steady = Pair{Baseline: c.base.pair()}
		return
	}
	c.Labels[1] = target.Name
	c.Runs = RunCount{len(baseline.repeats), len(target.repeats)}
	others := target.phase(c.opt.Phase)
	if c.opt.Match == MatchBatch {
		c.match(&steps, &others)
	}
	a, b, now := float64(max(1, steps.n)), float64(max(1, others.n)), renames(baseline, target)
	var both sync.WaitGroup
	both.Go(func() { c.base = measure(steps, a/b, now) })
	c.target = measure(others, b/a, nil)
	both.Wait()
	c.Steady = Pair{c.base.pair(), c.target.pair()}
}

// match keeps, for each batch, as many steps on both sides as the side with fewer of
// them has, evenly spread over its own.
func (c *Comparison) match(a, b *choice) {
	x, y, all := a.batches(), b.batches(), a.n+b.n
	common := map[batch]int{}
	for batch, n := range x {
		if m := min(n, y[batch]); m > 1 && batch.ctx != unknown {
			common[batch] = m
		}
	}
	a.keep(x, common)
	b.keep(y, common)
	if left := float64(a.n + b.n); left > 0 && left < commonSteps*float64(all) {
		c.warn("%.0f %% of the steps are left out: the other side has fewer with their numbers of requests", 100-100*left/float64(all))
	}
}

// sides returns the baseline and, if there is one, the target.
func (c *Comparison) sides() []*side {
	if c.target == nil {
		return []*side{c.base}
	}
	return []*side{c.base, c.target}
}

// chosen names the chosen steps; counted names n of them.
func (c *Comparison) chosen() string { return strings.TrimPrefix(c.opt.Phase+" steps", All+" ") }
func (c *Comparison) counted(n int) string {
	return report.Counted(n, strings.TrimSuffix(c.chosen(), "s"))
}

// warn adds a warning, a sentence that every report shows.
func (c *Comparison) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}
