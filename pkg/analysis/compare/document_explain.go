package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// writer describes the result in sentences made from rows.
type writer struct{ *Comparison }

// say adds a sentence to the explanation.
func (c *writer) say(format string, args ...any) {
	c.Explanation = append(c.Explanation, fmt.Sprintf(format, args...))
}

// conclusionText are the conclusions: for a headline about slower or faster steps, and
// as a sentence.
var conclusionText = map[string]struct{ slower, faster, sentence string }{
	HostInterStep: {"inter-step host overhead", "less host overhead between steps",
		"Idle time with a host cause changed most, more of it between steps than within."},
	HostInStep: {"host overhead inside the steps", "less host overhead inside the steps",
		"Idle time with a host cause changed most, more of it within steps than between them."},
	GPU: {"GPU execution", "less GPU work, or faster kernels", "GPU work changed most: there is more or less of it, or it runs at another speed."},
	Imbalance: {"waiting for a rank whose GPU works longer", "less waiting for a rank whose GPU works longer",
		"GPU work changed on some ranks, and the others wait for them in collectives."},
	Unclear: {"unclear", "unclear", "Neither idle time with a host cause nor GPU work is known to have changed most."},
}

// bounds say, by method, between which points duration and gap are measured.
var bounds = map[string][2]string{
	"allreduce": {"from the start of a step's first all-reduce kernel to the end of its last one", "from the end of a step's last all-reduce kernel to the start of the next step's first one"},
	"nvtx":      {"the forward-step marker range, on the host", "from the end of a forward-step marker range to the start of the next one, on the host"},
	"graph":     {"from the first start to the last end of what a graph launch runs on the GPU", "from the last end of what a graph launch runs to the first start of what the next one runs"},
}

// betweenSteps says which idle time counts as between steps, however steps were found.
const betweenSteps = "idle time of a GPU that ends with the first activity of a step"

// explainOne says where the time of one run goes.
func (c *writer) explainOne() {
	f := c.Steady.Baseline
	if f.Wall == nil || *f.Wall == 0 {
		return
	}
	gpus := float64(max(1, f.GPUs)) / float64(max(1, f.Ranks))
	c.say("A step takes %s; GPUs are idle %s of it (%s steps).", report.Micros(*f.Wall), report.Percent(*f.Idle/(*f.Wall*gpus)), c.opt.Phase)
	if best := c.mostExposed(); best != nil {
		c.say("Most idle time is under %s: %s per step, the most you could save by eliminating it.", best.Name, report.Micros(*best.Ceiling))
	}
}

// explain says what changed, from the wall time down.
func (c *writer) explain() {
	c.explainWall()
	c.explainCauses()
	if r := c.summary(hostWork); r.Significant {
		c.say("All host work changed by one factor: %s. That may be the machine (clocks, neighbours, placement) as well as the code.", r.sentence())
	}
	for _, said := range c.fewSteps() {
		c.say("%s%s.", strings.ToUpper(said[:1]), said[1:])
	}
	c.explainWhys()
	own := (&reader{c.Comparison}).ownWork
	c.sayMovers("Operations that take longer: %s.", func(r *Row) bool { return r.grown() > 0 && own(r) })
	c.sayMovers("Ranges that take longer by what they contain or wait for (GPU, GIL, garbage collection): %s.", func(r *Row) bool { return r.grown() > 0 && !own(r) })
	c.sayMovers("Longer by their intervals, in too few independent steps to be sure: %s.", func(r *Row) bool { return r.Unknown != "" && r.went(1) })
	c.sayMovers("Operations that take less: %s.", func(r *Row) bool { return r.moved() < 0 })
	if c.Runs.Baseline == 1 || c.Runs.Target == 1 {
		of := "Intervals ignore run-to-run variation"
		if c.Runs.Baseline+c.Runs.Target > 2 {
			of = "The side with one run is taken to vary from run to run as the other does"
		}
		c.say("%s: give two or more runs per side, ideally three (now %d and %d).", of, c.Runs.Baseline, c.Runs.Target)
	}
}

// explainWall describes the wall time by its mean and, if that says otherwise, its
// median.
func (c *writer) explainWall() {
	w, m := c.summary(wall), c.summary(wallP50)
	c.say("Mean step: %s. GPU idle time: %s (with a host cause %s). GPU busy time: %s.",
		w.sentence(), change(c.summary(idleTime).delta()), change(c.summary(hostIdle).delta()), change(c.summary(busyTime).delta()))
	if m.P != nil && (m.Significant != w.Significant || m.delta()*w.delta() < 0) {
		c.say("Median step: %s. It differs from the mean if a few slow steps, or steps of another kind, dominate the mean.", m.sentence())
	}
	if d := w.Detectable; !w.Significant && w.Unknown == "" && d != nil && *d > 0 {
		c.say("A change of the mean by %s would have been detected.", report.Micros(*d))
	}
}

// sentence describes the change of a row and its evidence.
func (r *Row) sentence() string {
	percent := ""
	if r.DeltaPercent != nil {
		percent = " (" + report.Change(*r.DeltaPercent/100) + ")"
	}
	s := change(r.delta()) + percent
	if r.CI != nil {
		s += ", 95 % interval " + interval(r.CI)
	}
	switch {
	case r.Unknown != "":
		return s + ", cannot tell: " + r.Unknown
	case r.P == nil:
		return s + ", not tested"
	case r.Significant:
		return s
	case r.CI != nil && (r.CI[0] > 0 || r.CI[1] < 0):
		return s + ", not significant among all rows"
	}
	return s + ", not significant"
}

// explainCauses names what made the step slower or faster, and how much of the change
// that explains.
func (c *writer) explainCauses() {
	f := &c.finding
	if !f.changed {
		return
	}
	c.say("%s", conclusionText[c.Conclusion].sentence)
	var parts []string
	for _, n := range f.named {
		where := ""
		if n.idle != nil {
			if where = " within steps"; math.Abs(*n.idle.InterStep.Delta) > explains*math.Abs(n.row.delta()) {
				where = " between steps"
			}
			if site := (&reader{c.Comparison}).site(n.idle); site != nil && !strings.HasPrefix(n.idle.Cause, "host:") {
				where += " (" + *site + ")"
			}
		}
		doubt := ""
		if !n.row.Significant {
			doubt = ", not significant alone"
		}
		parts = append(parts, fmt.Sprintf("%s %s%s (95 %% interval %s%s)", n.title, change(n.row.delta()), where, interval(n.row.CI), doubt))
	}
	if len(parts) == 0 {
		c.say("No single cause can be named.")
		return
	}
	c.say("What explains %s of the change: %s.", report.Percent(min(1, f.explained)), strings.Join(parts, ", "))
	if f.explained < explains {
		c.say("The rest is in causes that each changed by less.")
	}
	if c.heldByHost() && len(c.IdleWhy) == 0 {
		c.say("Host time is work or time off the CPU (locks, a CPU limit, other threads): --why tells which, if context switches or OS calls were recorded.")
	}
}

// fewSteps describes what happens in few steps, and slower tails, as phrases without
// capital and full stop.
func (c *Comparison) fewSteps() (said []string) {
	for r := range each(c.Rare) {
		if r.grown() {
			said = append(said, "in a few steps only: "+r.String())
		}
	}
	if r := c.slowerTail(); r != nil {
		said = append(said, fmt.Sprintf("the slowest steps take longer: %s %s, before %s", summaryTitles[r.Name], report.Micros(*r.Target), report.Micros(*r.Baseline)))
	}
	return said
}

// sayMovers lists the largest changes of operations, if there are any.
func (c *writer) sayMovers(format string, of func(*Row) bool) {
	var parts []string
	for r := range each(c.Operations) {
		if of(r) {
			parts = append(parts, fmt.Sprintf("%s %s", r.Name, change(r.delta())))
		}
	}
	if more := len(parts) - maxSaid; more > 0 {
		parts = append(parts[:maxSaid], fmt.Sprintf("and %d more", more))
	}
	if len(parts) > 0 {
		c.say(format, strings.Join(parts, ", "))
	}
}

// change formats a change in us with its sign.
func change(us float64) string { return report.Signed(report.Micros(us)) }

// interval formats an interval in us.
func interval(ci *Interval) string {
	if ci == nil {
		return "unknown"
	}
	bound := func(v float64) string {
		if math.IsInf(v, 0) {
			return "unknown"
		}
		return change(v)
	}
	return bound(ci[0]) + " to " + bound(ci[1])
}
