package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// reader draws the conclusion from the rows.
type reader struct{ *Comparison }

// finding is what the conclusion rests on.
type finding struct {
	wall    *Row    // mean or median: the one with evidence, else the mean
	changed bool    // it did, beyond the noise and by more than sameShare
	sign    float64 // of the change
	// By how much idle time and waits with a host cause, GPU work, waits for a rank with more of
	// it, and idle time and waits without a host cause changed in that direction, us.
	host, work, uneven, other float64
	balance                   stat.Difference // of host less work and uneven, in that direction; unknown where nothing changed
	named                     []named         // what explains most of it, the most first
	explained                 float64         // share of the change that named is
	do                        string          // what to do first, "" for nothing
}

// named is a cause of idle time, a class of kernels or an operation, and its change.
type named struct {
	title string
	cause string // of idle time, "" where it is none
	row   *Row
	idle  *IdleRow // the same, of idle time; nil: it is no idle time
}

// conclude finds the cause, says it, and says what to do.
func (c *reader) conclude() {
	w, a := &writer{c.Comparison}, &adviser{c}
	switch {
	case c.target == nil:
		c.Warnings = append(c.Reasons, c.Warnings...)
		w.explainOne()
	case !c.Comparable:
		c.Direction, c.Conclusion = new(Unclear), NotComparable
		var reasons []string
		for _, r := range c.Reasons {
			reasons = append(reasons, "not comparable: "+r)
		}
		c.Warnings = append(reasons, c.Warnings...)
		w.say("The runs cannot be compared (see the warnings): no row has a status, and there is no conclusion.")
	default:
		c.find()
		w.explain()
		a.advise()
	}
	a.handoff()
}

// find fills in the finding, the direction and the conclusion.
func (c *reader) find() {
	f := &c.finding
	f.wall = c.summary(wall)
	if m := c.summary(wallP50); !f.wall.Significant && m.Significant {
		f.wall = m
	}
	c.Direction = new(f.wall.direction())
	f.changed = f.wall.Significant && *c.Direction != Same
	f.sign = math.Copysign(1, f.wall.delta())
	f.host, f.work, f.uneven = f.sign*c.delta(hostHeld), f.sign*c.delta(workTime), f.sign*c.delta(imbalanceTime)
	f.other = f.sign*(c.delta(idleTime)+c.delta(waitTime)) - f.host - f.uneven
	f.balance = stat.Unknown(0)
	switch {
	case c.apart():
		c.Conclusion = Unclear
	case f.changed:
		f.balance = c.balance()
		c.Conclusion = c.cause()
	}
	c.name()
}

// apart reports whether the mean step changed in the other direction than the median, which has the
// evidence: causes are of the mean, and tell nothing of such a change.
func (c *Comparison) apart() bool {
	f := &c.finding
	return f.changed && f.wall.Name == wallP50 && f.sign*c.summary(wall).delta() < 0
}

// delta is by how much a figure changed, us.
func (c *reader) delta(name string) float64 {
	if d := number(c.target.figures[name].Mean - c.base.figures[name].Mean); d != nil {
		return *d
	}
	return 0
}

// direction says which way a row of the wall time went, by its interval alone.
func (r *Row) direction() string {
	if r.Unknown != "" || r.CI == nil || r.Baseline == nil {
		return Unclear
	}
	switch same := sameShare * *r.Baseline; {
	case r.CI[0] >= -same && r.CI[1] <= same:
		return Same
	case r.CI[0] > 0:
		return Slower
	case r.CI[1] < 0:
		return Faster
	}
	return Unclear
}

// balance compares idle time with a host cause with work, by the mean or the median as the
// wall time is.
func (c *reader) balance() stat.Difference {
	a, b := c.base, c.target
	x, y := a.figures[balanceOf], b.figures[balanceOf]
	d := stat.Compare(&x, &y)
	if c.finding.wall.Name == wallP50 && a.samples.runs == 1 && b.samples.runs == 1 {
		d = a.samples.est.CompareQuantiles(&a.balance, &b.balance, 0.5)
	}
	if c.finding.sign < 0 {
		d.Delta, d.Lo, d.Hi = -d.Delta, -d.Hi, -d.Lo
	}
	return d
}

// cause is the conclusion of a step that changed. Waits of ranks for one another with a host cause
// are on the host's side, those for a rank with more GPU work on the GPU's.
func (c *reader) cause() string {
	f := &c.finding
	gpu, waits := f.work+f.uneven, c.delta(hostHeld)-c.delta(hostIdle) // which are within steps
	switch {
	case f.other > max(f.host, gpu), !(f.balance.Lo > 0) && !(f.balance.Hi < 0):
		return Unclear
	case f.balance.Delta < 0 && f.uneven > unevenShare*gpu:
		return Imbalance
	case f.balance.Delta < 0:
		return GPU
	case f.sign*c.summary(idleOut).delta() > f.sign*(c.summary(idleIn).delta()+waits):
		return HostInterStep
	}
	return HostInStep
}

// name finds what explains most of the change, in its direction, among what may.
func (c *reader) name() {
	f := &c.finding
	if !f.changed || c.apart() {
		return
	}
	all := c.candidates()
	by, total := func(n named) float64 { return f.sign * n.row.delta() }, f.host+f.work+f.uneven+f.other
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(by(b), by(a)) })
	for _, n := range all[:min(len(all), maxSaid)] {
		if by(n) > 0 && f.explained < explains {
			f.named = append(f.named, n)
			f.explained += by(n) / total
		}
	}
	if r := c.summary(hostWork); r.Significant && c.heldByHost() && f.explained < explains { // where each operation by itself is little
		if share := f.sign * r.delta() / total; share > f.explained {
			f.named, f.explained = []named{{title: hostWork, row: r}}, share
		}
	}
}

// candidates may explain the change: causes of idle time for the host, classes of kernels for the
// GPU, both where that is unclear; operations where idle time was not divided. Hosts run ahead of
// GPUs: idle time may come to lie in an operation that lasts no longer, because the host comes to it
// later. Where most of it does, CUDA calls that last longer are causes, too, or else operations that
// do.
func (c *reader) candidates() (all []named) {
	f := &c.finding
	causes := c.Causes
	if len(c.Held) > 0 {
		causes = c.Held
	}
	hostLeads := c.heldByHost() || c.Conclusion == Unclear && f.host > max(f.work+f.uneven, f.other)
	settled, moved := 0.0, []named{} // idle time that lies in what changed itself, and causes of which it does not
	for r := range each(causes) {
		one := named{causeTitle(r.Cause), r.Cause, &r.Row, r}
		if r.Cause == queued && f.sign*c.delta(idleCopies) >= explains*f.sign*r.delta() {
			one.title += ", while the GPU copies data"
		}
		switch {
		case c.Conclusion == GPU, c.Conclusion == Imbalance && r.Cause != imbalance:
		case hostLeads && !c.lastsLonger(r):
			moved = append(moved, one)
		case c.Conclusion == Unclear, c.Conclusion == Imbalance, isHost(r.Cause):
			all = append(all, one)
			settled += f.sign * r.delta()
		}
	}
	add := func(rows []Row, title, cause string, may func(r *Row) bool) {
		for r := range each(rows) {
			if may(r) {
				one := named{title: fmt.Sprintf(title, r.Name), row: r}
				if cause != "" {
					one.cause = cause + r.Name
				}
				all = slices.DeleteFunc(all, func(n named) bool { return n.title == one.title }) // its idle time, of which most is elsewhere
				all, moved = append(all, one), nil
			}
		}
	}
	if settled < explains*f.host && c.heldByHost() {
		add(c.API, "%s calls", "", func(r *Row) bool {
			return r.Significant && f.sign*r.delta() > 0 && cudaname.ClassAPI(r.Name) != cudaname.Sync
		})
	}
	if settled < explains*f.host && len(moved) > 0 {
		add(c.Operations, causeTitle("host:%s"), "host:", func(r *Row) bool { // most of it not in ranges nested in it
			return r.went(f.sign) && c.ownWork(r) && (r.Self == nil || r.Self.Delta == nil || *r.Self.Delta/r.delta() >= explains)
		})
	}
	all = append(all, moved...)
	if c.Conclusion == GPU || c.Conclusion == Unclear {
		add(c.Classes, "%s kernels", "", func(r *Row) bool { // most of what are waits is no work
			return !isCollective(r.Name) || math.Abs(c.delta(waitTime)) < explains*math.Abs(r.delta())
		})
	}
	return all
}

// heldByHost reports whether the conclusion is the host's.
func (c *Comparison) heldByHost() bool {
	return c.Conclusion == HostInStep || c.Conclusion == HostInterStep
}

// went reports whether what a row takes changed in a direction beyond the noise, with what it shares with
// all host work. One of which few independent steps cannot tell did where its interval says so: to
// take it for unchanged would put the change down to another one.
func (r *Row) went(sign float64) bool {
	return r.CI != nil && (sign > 0 && r.CI[0] > 0 || sign < 0 && r.CI[1] < 0)
}

// lastsLonger reports whether an operation that idle time lies in changed itself, beyond the noise, in
// the direction of the step and by enough for half of that idle time; one rank may be the only
// one in which it did, and all others wait for it. What is no operation counts as changed.
func (c *reader) lastsLonger(cause *IdleRow) bool {
	for r := range each(c.Operations) {
		if "host:"+r.Name == cause.Cause {
			more := c.target.slowest(r.Name) - c.base.slowest(r.Name)
			return r.went(c.finding.sign) && c.finding.sign*more >= explains*c.finding.sign*cause.delta()
		}
	}
	return true
}

// isCollective reports whether a class of kernels is one of collectives.
func isCollective(class string) bool {
	return class == event.Classes[event.Allreduce] || class == event.Classes[event.Comm]
}

// isHost reports whether the host is to blame for idle time of a cause.
func isHost(cause string) bool { return !slices.Contains(notHost, cause) }

// notHost are the causes that are no doing of the host.
var notHost = []string{"graph", queued, "tail", "imbalance", "unknown"}

// ownWork reports whether an operation takes longer by what it does itself: less than half of
// what it exposes more is waiting for the interpreter lock or collecting garbage, and less than
// half of what it takes more can be waiting for GPUs that are busy for longer, but for waits for a
// host.
func (c *reader) ownWork(r *Row) bool {
	exposed := *r.Exposed.Delta
	forHosts := c.delta(hostHeld) - c.delta(hostIdle) // in collectives: busy with nothing that a host waits for
	if hidden := r.grown() - exposed; hidden > explains*r.grown() && c.delta(busyTime)-forHosts >= explains*hidden {
		return false
	}
	own, others := 0.0, 0.0
	for one := range each(c.Causes) {
		switch one.Cause {
		case "host:" + r.Name:
			own = one.grown()
		case waitsForGIL, collects:
			others += one.grown()
		}
	}
	return own >= explains*exposed || own >= others
}

// site is the site that most of the change of a cause is at, nil where none has half of it.
func (c *reader) site(cause *IdleRow) *string {
	for r := range each(c.Idle) {
		if r.Cause == cause.Cause && r.Site != nil && r.delta()*cause.delta() > 0 && math.Abs(r.delta()) >= explains*math.Abs(cause.delta()) {
			return r.Site
		}
	}
	return nil
}
