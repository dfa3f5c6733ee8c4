package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// adviser says what to do.
type adviser struct{ *reader }

// advise says what to do, one sentence for each pattern that fits.
func (c *adviser) advise() {
	if !c.adviseGraphs() {
		c.adviseKernels()
	}
	c.adviseGrown()
	c.adviseNew()
	c.advisePhase()
}

// adviseGrown gives the advice for what grew: what threads wait for, which is the most
// exact, then the rest, the most grown first.
func (c *adviser) adviseGrown() {
	c.adviseWhys()
	grown := append(c.causeAdvices(), c.topicAdvices()...)
	slices.SortStableFunc(grown, func(a, b adviceFor) int { return cmp.Compare(b.delta, a.delta) })
	for _, one := range grown {
		c.mitigate("%s", one.text)
	}
}

// mitigate adds a sentence on what to do.
func (c *adviser) mitigate(format string, args ...any) {
	c.Mitigations = append(c.Mitigations, fmt.Sprintf(format, args...))
}

// adviseGraphs looks for graphs that the baseline replays and the target does not, and reports
// whether it found any.
func (c *adviser) adviseGraphs() bool {
	a, b := c.Steady.Baseline, c.Steady.Target
	if a.Graph == nil || b.Graph == nil || *a.Graph+*a.Replays == 0 ||
		*b.Graph+*b.Replays > few*(*a.Graph+*a.Replays) || *b.Eager <= *a.Eager {
		return false
	}
	what, before, after := "replayed kernels", *a.Graph, *b.Graph
	if *a.Replays > 0 {
		what, before, after = "graph replays", *a.Replays, *b.Replays
	}
	c.mitigate("CUDA graph replays are lost. Per step, before and now: %s %s and %s, kernels launched one by one %s and %s, launch calls %s and %s. Find out why the graph is no longer replayed: a shape or batch was not captured, or an operation cannot be.",
		what, report.Digits(before), report.Digits(after), report.Digits(*a.Eager), report.Digits(*b.Eager), report.Digits(c.base.figures[launchCalls].Mean), report.Digits(c.target.figures[launchCalls].Mean))
	return true
}

// adviseKernels looks for more kernels at similar GPU time.
func (c *adviser) adviseKernels() {
	a, b := c.Steady.Baseline, c.Steady.Target
	before, after := kernelsOf(a), kernelsOf(b)
	if before == 0 || after <= before*(1+few) || !c.kernelsChanged() {
		return
	}
	if c.summary(gpuTime).delta() > few**a.GPU {
		return
	}
	what := "a fusion was lost, or one kernel was split into several"
	if *b.Eager-*a.Eager > *b.Graph-*a.Graph && *b.Graph+*b.Replays > 0 {
		what = "they are launched one by one outside the CUDA graph: bring them into it, or fuse them"
	}
	c.mitigate("More kernels at similar GPU time (%s to %s per step): %s.", report.Digits(before), report.Digits(after), what)
}

// kernelsOf is the number of kernels per step, replayed ones included, 0 where it is not
// known.
func kernelsOf(f *Figures) float64 {
	if f == nil || f.Eager == nil || f.Graph == nil {
		return 0
	}
	return *f.Eager + *f.Graph
}

// kernelsChanged reports whether there is evidence of another number of kernels.
func (c *adviser) kernelsChanged() bool {
	for r := range each(c.Counts) {
		if r.Name != graphLaunches && r.grown() > 0 {
			return true
		}
	}
	return false
}

// adviceFor is advice for what grew by delta, in us per step.
type adviceFor struct {
	delta float64
	text  string
}

// topicAdvices is the advice of the topics that grew, but for operations that wait: what they
// wait for has its own.
func (c *adviser) topicAdvices() (all []adviceFor) {
	names, grown := map[string][]string{}, map[string]float64{}
	for r := range each(c.Operations) {
		topic, advice := c.opt.Sources.advice(r.Name)
		if r.grown() > 0 && advice != "" && topic != collects && c.ownWork(r) && !c.waits(r) {
			names[topic] = append(names[topic], r.Name)
			grown[topic] += r.grown()
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(names)) {
		text := fmt.Sprintf("%s (%s per step): %s", strings.Join(names[topic], ", "), change(grown[topic]), c.opt.Sources.Topics[topic])
		all = append(all, adviceFor{grown[topic], text})
	}
	return all
}

// adviseNew adds up operations that were not there.
func (c *adviser) adviseNew() {
	var names []string
	total := 0.0
	for r := range each(c.Operations) {
		if r.Status == New {
			names = append(names, r.Name)
			total += *r.Delta
		}
	}
	if len(names) > 0 {
		c.mitigate("New in each step (%s): %s. Is it needed in every step, and before the next launch?", change(total), strings.Join(names, ", "))
	}
}

// advisePhase looks for a change in the context phase only.
func (c *adviser) advisePhase() {
	ctx, ok := c.Phases[Context]
	if !ok || c.opt.Phase != Steady || ctx.Wall.CI == nil || ctx.Wall.CI[0] <= sameShare**ctx.Wall.Baseline {
		return
	}
	if w := c.summary(wall); w.grown() == 0 {
		c.mitigate("Only context steps take longer (%s): compare prefill with --phase context.", change(*ctx.Wall.Delta))
	}
}

// causeAdvices is the advice of the causes of idle time that grew, or explain what grew.
func (c *adviser) causeAdvices() (all []adviceFor) {
	for _, r := range c.grownCauses() {
		if advice := c.opt.Sources.Causes[r.Cause]; advice != "" {
			text := fmt.Sprintf("%s %s", causeTitle(r.Cause), change(r.delta()))
			if site := c.site(r); site != nil {
				text += " (" + *site + ")"
			}
			all = append(all, adviceFor{r.delta(), text + ": " + advice})
		}
	}
	return all
}

// grownCauses are the causes of idle time that grew beyond the noise, or are named for a
// step that takes longer, the most first.
func (c *adviser) grownCauses() (all []*IdleRow) {
	for r := range each(c.Causes) {
		isNamed := c.finding.sign > 0 && slices.ContainsFunc(c.finding.named, func(n named) bool { return n.idle != nil && n.idle.Cause == r.Cause })
		if r.grown() > 0 || isNamed {
			all = append(all, r)
		}
	}
	return all
}
