package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// Causes of idle time that are no work of the range they occur in.
const (
	waitsForGIL = "gil"
	collects    = "gc"
)

// causeText are causes of idle time as text; host:NAME is not among them.
var causeText = map[string]string{
	"launch": "launching kernels", "sync": "calls that wait for the GPU", "memop": "copies and fills",
	"alloc": "allocating and freeing memory", "api": "other CUDA calls",
	waitsForGIL: "waiting for the interpreter lock (GIL)", collects: "garbage collection (GC)",
	"graph": "gaps within graph replays", "queued": "launched work that has not begun",
	"tail": "nothing more to run", "untraced": "host work that was not traced",
}

// causeChange is by how much the idle time of one cause grew, over its sites.
type causeChange struct {
	cause string
	delta float64    // us per step
	inter float64    // the part of it between steps
	rows  []*IdleRow // that grew beyond the noise
}

// grownCauses are the causes whose idle time grew beyond the noise, the largest
// growth first. Sites are added up that grew beyond the noise themselves: a cause
// of which each site changed a little is not among them.
func (c *Comparison) grownCauses() []causeChange {
	var all []causeChange
	for i := range c.Idle {
		r := &c.Idle[i]
		if r.grown() == 0 {
			continue
		}
		k := slices.IndexFunc(all, func(g causeChange) bool { return g.cause == r.Cause })
		if k < 0 {
			k = len(all)
			all = append(all, causeChange{cause: r.Cause})
		}
		g := &all[k]
		g.delta += r.grown()
		g.inter += r.inter()
		g.rows = append(g.rows, r)
	}
	slices.SortStableFunc(all, func(a, b causeChange) int { return cmp.Compare(b.delta, a.delta) })
	return all
}

// title is the cause as text.
func (g *causeChange) title() string { return causeTitle(g.cause) }

// causeTitle is a cause of package idle for people.
func causeTitle(cause string) string {
	if name, ok := strings.CutPrefix(cause, "host:"); ok {
		return "host work in " + name
	}
	if words := causeText[cause]; words != "" {
		return words
	}
	return cause
}

// String says by how much and where, with the site that has most of it.
func (g *causeChange) String() string {
	where := "within steps"
	if g.inter > g.delta/2 {
		where = "between steps"
	}
	s := fmt.Sprintf("%s %s %s", g.title(), change(g.delta), where)
	if site := g.rows[0].Site; site != nil && !strings.HasPrefix(g.cause, "host:") {
		s += " (" + *site + ")"
	}
	return s
}

// mainCause is the cause that most of the growth of idle time comes from, nil where
// there is no such cause or the conclusion is not host overhead.
func (c *Comparison) mainCause() *causeChange {
	if c.Conclusion != HostInStep && c.Conclusion != HostInterStep {
		return nil
	}
	grown := c.grownCauses()
	if len(grown) == 0 || 2*grown[0].delta < c.summary(idleTime).delta() {
		return nil
	}
	return &grown[0]
}

// explainCauses says why there is more idle time.
func (c *Comparison) explainCauses() {
	var parts []string
	sum := 0.0
	for _, g := range c.grownCauses() {
		sum += g.delta
		if len(parts) < 4 {
			parts = append(parts, g.String())
		}
	}
	if len(parts) == 0 {
		c.explainLikely()
		return
	}
	c.say("Idle time that grew, by cause: %s.", strings.Join(parts, ", "))
	if all := c.summary(idleTime).grown(); 2*sum < all {
		c.say("These are %s of the %s that idle time grew by; the rest lies in causes that stay within the noise one by one.", report.Micros(sum), report.Micros(all))
	}
}

// explainLikely names the cause that most of a growth of the wall time or of idle time lies
// in, where no cause has grown beyond the noise of all of them: few long events in a short run.
func (c *Comparison) explainLikely() {
	all := max(c.summary(wall).grown(), c.summary(idleTime).grown())
	for i := range c.Idle {
		if r := &c.Idle[i]; all > 0 && r.net == nil && 2*r.delta() >= all && r.CI != nil && r.CI[0] > 0 {
			g := causeChange{r.Cause, r.delta(), r.inter(), []*IdleRow{r}}
			c.say("Most of the growth is %s, 95 %% interval %s to %s, which may be chance among so many causes.", g.String(), change(r.CI[0]), change(r.CI[1]))
		}
	}
}

// causeAdvices is the advice of the causes that grew.
func (c *Comparison) causeAdvices() (all []adviceFor) {
	for _, g := range c.grownCauses() {
		if advice := c.opt.Sources.Causes[g.cause]; advice != "" {
			all = append(all, adviceFor{g.delta, g.String() + ": " + advice})
		}
	}
	return all
}

// ownWork tells whether an operation takes longer by what it does itself: less than
// half of what it exposes more is waiting for the interpreter lock, collecting
// garbage, or the like, and less than half of what it takes more can be waiting for GPUs
// that are busy for longer. Where it is not known it counts as its own.
func (c *Comparison) ownWork(r *Row) bool {
	if c.awaitsGPU(r) {
		return false
	}
	if r.Exposed == nil || r.Exposed.Delta == nil || *r.Exposed.Delta <= 0 || len(c.Idle) == 0 {
		return true
	}
	own, others := 0.0, 0.0
	for i := range c.Idle {
		switch one := &c.Idle[i]; {
		case one.grown() == 0:
		case one.within(r.Name):
			own += one.grown()
		case one.Cause == waitsForGIL || one.Cause == collects:
			others += one.grown()
		}
	}
	return 2*own >= *r.Exposed.Delta || own >= others
}

// awaitsGPU tells whether GPUs are busy for most of what an operation takes longer, and
// are so for longer than before.
func (c *Comparison) awaitsGPU(r *Row) bool {
	if c.target == nil || r.grown() == 0 || r.Exposed == nil || r.Exposed.Delta == nil {
		return false
	}
	hidden := r.grown() - *r.Exposed.Delta
	return 2*hidden > r.grown() && 2*c.summary(busyTime).grown() >= hidden
}

// inter is the part between steps of what is left of a change.
func (r *IdleRow) inter() float64 {
	d := r.InterStep.Delta
	switch {
	case d == nil:
		return 0
	case r.net != nil:
		return *d * *r.net / *r.Delta
	}
	return *d
}

// within tells whether idle time arose in ranges of a name.
func (r *IdleRow) within(name string) bool {
	path := strings.TrimPrefix(r.Cause, "host:")
	if r.Site != nil {
		path = *r.Site
		if _, ranges, ok := strings.Cut(path, " in "); ok && !strings.HasPrefix(r.Cause, "host:") {
			path = ranges
		}
	}
	return slices.Contains(strings.Split(path, " > "), name)
}

// explainIdle says what the idle time of one run is due to.
func (c *Comparison) explainIdle() {
	var parts []string
	for i := range c.Idle {
		if r := &c.Idle[i]; r.Baseline != nil && *r.Baseline > 0 && len(parts) < 3 {
			parts = append(parts, fmt.Sprintf("%s %s", r.title(), report.Micros(*r.Baseline)))
		}
	}
	if len(parts) > 0 {
		c.say("Idle time by cause: %s.", strings.Join(parts, ", "))
	}
}

// title is the cause as text, with the site of a call.
func (r *IdleRow) title() string {
	if r.Site == nil || strings.HasPrefix(r.Cause, "host:") {
		return causeTitle(r.Cause)
	}
	return causeTitle(r.Cause) + " (" + *r.Site + ")"
}
