package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Conclusions.
const (
	HostInterStep = "host_inter_step"
	HostInStep    = "host_in_step"
	GPU           = "gpu"
	None          = "none"
	NotComparable = "not_comparable"
)

// Directions.
const (
	Slower  = "slower"
	Faster  = "faster"
	Same    = "same"
	Unclear = "unclear"
)

// direction says which way the wall time went, by its interval alone.
func (c *Comparison) direction() string {
	w := c.summary(wall)
	if !c.Comparable || w.Unknown != "" || w.CI == nil || w.Baseline == nil {
		return Unclear
	}
	switch same := sameShare * *w.Baseline; {
	case w.CI[0] >= -same && w.CI[1] <= same:
		return Same
	case w.CI[0] > 0:
		return Slower
	case w.CI[1] < 0:
		return Faster
	}
	return Unclear
}

// Conclusions as text.
var conclusionText = map[string]string{
	HostInterStep: "inter-step host overhead",
	HostInStep:    "host overhead inside the steps",
	GPU:           "GPU execution",
	None:          "nothing beyond the noise",
	NotComparable: "not comparable",
}

// summaryRow returns a row of the summary by name.
func (c *Comparison) summary(name string) *Row {
	for i := range c.Summary {
		if c.Summary[i].Name == name {
			return &c.Summary[i]
		}
	}
	panic("BUG: no summary row " + name)
}

// moved is by how much a row has changed beyond the noise, 0 where it has not. Of what has
// another name it is the change of both names together.
func (r *Row) moved() float64 {
	switch {
	case r.net != nil:
		return *r.net
	case r.Significant:
		return *r.Delta
	}
	return 0
}

// grown is by how much a row has grown beyond the noise, 0 where it has not.
func (r *Row) grown() float64 { return max(0, r.moved()) }

// delta is the change of a row, 0 where it is not known.
func (r *Row) delta() float64 {
	if r.Delta == nil {
		return 0
	}
	return *r.Delta
}

// conclude finds the cause and says it. Only what grew can be a cause: of a run that
// became faster the rows say where, and the conclusion is None.
func (c *Comparison) conclude() {
	if c.target == nil {
		c.Warnings = append(c.Reasons, c.Warnings...)
		c.explainOne()
		return
	}
	c.Direction = new(c.direction())
	if !c.Comparable {
		c.Conclusion = NotComparable
		reasons := make([]string, len(c.Reasons))
		for i, r := range c.Reasons {
			reasons[i] = "not comparable: " + r
		}
		c.Warnings = append(reasons, c.Warnings...)
		c.say("The runs cannot be compared (see the warnings): no change has a status, and nothing is concluded.")
		return
	}
	idle, busy := c.summary(idleTime).grown(), c.summary(busyTime).grown()
	if c.onlyTheSum() || c.onlyTheMedian() && idle == 0 && busy == 0 {
		idle, busy = c.summary(idleTime).delta(), c.summary(busyTime).delta()
	}
	switch {
	case idle == 0 && busy == 0:
	case busy >= idle:
		c.Conclusion = GPU
	case c.summary(idleOut).delta() > c.summary(idleIn).delta():
		c.Conclusion = HostInterStep
	default:
		c.Conclusion = HostInStep
	}
	c.explain()
	c.advise()
}

// onlyTheSum tells whether the wall time grew beyond the noise in all steps, and
// neither idle nor busy time alone did: then the larger part is the cause.
func (c *Comparison) onlyTheSum() bool {
	return c.summary(wall).grown() > 0 && c.summary(idleTime).grown() == 0 && c.summary(busyTime).grown() == 0 &&
		!c.tailGrown() && len(c.inFewSteps(true)) == 0
}

// onlyTheMedian tells whether the median step takes longer beyond the noise where a few slow
// steps leave no more of the mean than that it probably grew, too: then most steps do.
func (c *Comparison) onlyTheMedian() bool {
	w := c.summary(wall)
	return !w.Significant && w.Unknown == "" && c.mayBeAll() && c.summary(wallP50).grown() > 0
}

// bounds say what duration and gap are measured between, by method.
var bounds = map[string][2]string{
	"allreduce": {"from the start of a step's first all-reduce kernel to the end of its last one", "from the end of a step's last all-reduce kernel to the start of the next step's first one"},
	"nvtx":      {"the forward-step marker range, on the host", "from the end of a forward-step marker range to the start of the next one, on the host"},
	"graph":     {"from the first start to the last end of what a graph launch runs on the GPU", "from the last end of what a graph launch runs to the first start of what the next one runs"},
}

// betweenSteps says what idle time of a run lies between steps.
func (r *Run) betweenSteps() string {
	switch {
	case r.hasCounts():
		return "idle time of a GPU that ends with its first activity that was launched in the step's marker range"
	case r.Method == "graph":
		return "idle time before the first activity of a step's graph launch, or before kernels that run right before it"
	case r.Method == "allreduce":
		return "the longest idle time between the last all-reduce kernel of a step and the first of the next"
	}
	return "idle time of a GPU that ends with the first activity of a step"
}

// say adds a sentence to the explanation.
func (c *Comparison) say(format string, args ...any) {
	c.Explanation = append(c.Explanation, fmt.Sprintf(format, args...))
}

// explainOne says where the time of one run goes.
func (c *Comparison) explainOne() {
	f := c.Steady.Baseline
	if f.Wall == nil || *f.Wall == 0 {
		return
	}
	gpus := float64(max(1, f.GPUs)) / float64(max(1, f.Ranks))
	c.say("A step takes %s; GPUs are idle %s of it (%s steps).", report.Micros(*f.Wall), report.Percent(*f.Idle/(*f.Wall*gpus)), c.opt.Phase)
	var best *Row
	for i := range c.Operations {
		if r := &c.Operations[i]; best == nil || *r.Ceiling > *best.Ceiling {
			best = r
		}
	}
	if best != nil && *best.Ceiling > 0 {
		c.say("Most idle time is under %s: %s per step, the most you could save by eliminating it.", best.Name, report.Micros(*best.Ceiling))
	}
	c.explainIdle()
	c.explainWhysOfOne()
	c.adviseGraphs()
	c.adviseBursts()
}

// explain says what changed, from the wall time down.
func (c *Comparison) explain() {
	c.explainWall()
	switch c.Conclusion {
	case HostInterStep:
		c.say("Idle time grew more than busy time, and between steps (%s) more than within (%s): the host takes longer from one step to the next.",
			change(c.summary(idleOut).delta()), change(c.summary(idleIn).delta()))
	case HostInStep:
		c.say("Idle time grew more than busy time, and within steps (%s) more than between them (%s): the host cannot keep the GPU fed inside a step.",
			change(c.summary(idleIn).delta()), change(c.summary(idleOut).delta()))
	case GPU:
		c.explainBusy()
	}
	if c.onlyTheSum() {
		c.say("Neither alone is beyond the noise; both together, as the wall time, are.")
	}
	c.explainFew()
	c.explainWhys()
	c.explainCauses()
	c.sayMovers("Operations that take longer: %s.", func(r *Row) bool { return r.grown() > 0 && c.ownWork(r) })
	c.sayMovers("Operations that take longer, but not by their own work: %s.", func(r *Row) bool { return r.grown() > 0 && !c.ownWork(r) })
	c.sayMovers("Operations that take less: %s.", func(r *Row) bool { return r.moved() < 0 })
	c.sayRenames()
	if !c.Runs.repeated() {
		c.say("The intervals do not cover what differs from one start to the next: that takes at least two runs per side; the baseline has %d, the target %d.", c.Runs.Baseline, c.Runs.Target)
	}
}

// explainBusy says what busy time grew by. Collectives run while they wait: where most of it is
// theirs, a rank is late, for which its host is as likely as its GPU.
func (c *Comparison) explainBusy() {
	if busy, idle := c.summary(busyTime).delta(), c.summary(idleTime).delta(); idle > busy {
		c.say("Busy time grew by %s beyond the noise. Idle time grew by more, %s, for which there is no evidence: it may be the larger cause all the same.", report.Micros(busy), report.Micros(idle))
		return
	}
	if c.inCollectives() {
		c.say("Busy time grew more than idle time, mostly in collectives (%s), which also run while they wait for the rank that is last: for its host as well as for its GPU. See gaps of the target for which rank is late, and why.", change(c.collectives()))
		return
	}
	c.say("Busy time grew more than idle time: the GPU does more work or does it more slowly; see the kernels.")
}

// inCollectives tells whether most of what busy time grew by lies in collectives.
func (c *Comparison) inCollectives() bool {
	return c.Conclusion == GPU && c.collectives() > c.summary(busyTime).delta()/2
}

// conclusionName is the conclusion as text.
func (c *Comparison) conclusionName() string {
	if c.inCollectives() {
		return "collectives take longer, or wait longer for a rank that is late"
	}
	return conclusionText[c.Conclusion]
}

// collectives is by how much the time in collectives changed.
func (c *Comparison) collectives() (delta float64) {
	for i := range c.Classes {
		if r := &c.Classes[i]; r.Name == event.Classes[event.Allreduce] || r.Name == event.Classes[event.Comm] {
			delta += r.delta()
		}
	}
	return delta
}

// explainWall says what became of the wall time.
func (c *Comparison) explainWall() {
	w := c.summary(wall)
	switch {
	case w.Significant:
		c.say("A step takes %s %s (%s, 95 %% interval %s to %s): %s of that is GPU idle time, %s GPU busy time.",
			report.Micros(math.Abs(*w.Delta)), longer(*w.Delta), report.Change(*w.DeltaPercent/100), change(w.CI[0]), change(w.CI[1]),
			change(c.summary(idleTime).delta()), change(c.summary(busyTime).delta()))
	case c.onlyTheMedian():
		m := c.summary(wallP50)
		c.say("The median step takes %s longer (%s, 95 %% interval %s). A few slow steps leave the mean uncertain: %s (%s), %s of that is GPU idle time, %s GPU busy time.",
			report.Micros(*m.Delta), report.Change(*m.DeltaPercent/100), interval(m.CI), change(w.delta()), interval(w.CI),
			change(c.summary(idleTime).delta()), change(c.summary(busyTime).delta()))
	case w.Unknown != "":
		c.say("Cannot tell whether a step takes longer or shorter: %s, but %s.", change(w.delta()), w.Unknown)
	default:
		chance := ""
		if w.CI != nil && (w.CI[0] > 0 || w.CI[1] < 0) {
			chance = ", which may be chance among so many comparisons"
		}
		c.say("There is no evidence that a step takes longer or shorter: %s, 95 %% interval %s%s.", change(w.delta()), interval(w.CI), chance)
		if d := w.Detectable; d != nil && *d > 0 {
			c.say("A change of %s would have been found.", report.Micros(*d))
		}
	}
}

// longer says which way a step's time went.
func longer(delta float64) string {
	if delta < 0 {
		return "less"
	}
	return "longer"
}

// sayMovers lists the largest changes of operations, where there are any.
func (c *Comparison) sayMovers(format string, of func(*Row) bool) {
	const most = 5
	var parts []string
	more := 0
	for i := range c.Operations {
		switch r := &c.Operations[i]; {
		case !of(r):
		case len(parts) >= most:
			more++
		default:
			parts = append(parts, fmt.Sprintf("%s %s", r.Name, change(r.moved())))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	if len(parts) > 0 {
		c.say(format, strings.Join(parts, ", "))
	}
}

// interval shows an interval.
func interval(ci *Interval) string {
	if ci == nil {
		return "unknown"
	}
	return fmt.Sprintf("%s to %s", change(ci[0]), change(ci[1]))
}
