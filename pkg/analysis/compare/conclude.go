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

// finding is the basis of the conclusion.
type finding struct {
	wall    *Row    // the mean, or the median if only that has evidence
	changed bool    // it changed beyond the noise and by more than sameShare
	sign    float64 // of the change
	// Changes in the direction of sign, us. host is idle time and waits with a host cause,
	// work is GPU work and waits for a sender's, uneven is waits for a rank with more of it.
	// other is idle time and waits without a host cause.
	host, work, uneven, other float64
	balance                   stat.Difference // of host less work and uneven, in that direction; unknown if nothing changed
	named                     []named         // what explains most of the change, the largest first
	explained                 float64         // share of the change that named explains
	do                        string          // what to do first, "" for nothing
}

// named is a cause of idle time, a class of kernels or an operation, and its change.
type named struct {
	title string
	cause string // of idle time, "" if it is not one
	row   *Row
	idle  *IdleRow // the same row if it is idle time, else nil
}

// conclude finds the cause, describes it, and gives advice.
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

// find sets the finding, the direction and the conclusion.
func (c *reader) find() {
	f := &c.finding
	f.wall = c.summary(wall)
	if m := c.summary(wallP50); !f.wall.Significant && m.Significant {
		f.wall = m
	}
	c.Direction = new(f.wall.direction())
	f.changed = f.wall.Significant && *c.Direction != Same
	f.sign = math.Copysign(1, f.wall.delta())
	f.host, f.work, f.uneven = f.sign*c.delta(hostHeld), f.sign*(c.delta(workTime)+c.delta(senderTime)), f.sign*c.delta(imbalanceTime)
	f.other = f.sign*(c.delta(idleTime)+c.delta(busyTime)) - f.host - f.work - f.uneven
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

// apart reports whether the evidence is a change of the median, and the mean changed in
// the other direction. Causes are figures of the mean and cannot explain such a change.
func (c *Comparison) apart() bool {
	f := &c.finding
	return f.changed && f.wall.Name == wallP50 && f.sign*c.summary(wall).delta() < 0
}

// delta returns by how much a figure changed, us, 0 if unknown.
func (c *reader) delta(name string) float64 {
	if d := number(c.target.figures[name].Mean - c.base.figures[name].Mean); d != nil {
		return *d
	}
	return 0
}

// direction returns the direction of the wall time, from the interval of its row alone.
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

// balance compares idle time and waits with a host cause with work and imbalance: by the
// mean, or if the finding rests on the median, by that.
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

// cause returns the conclusion for a step that changed. Waits for other ranks with a
// host cause count as the host's side, those for a rank with more GPU work as the GPU's.
func (c *reader) cause() string {
	f := &c.finding
	gpu, waits := f.work+f.uneven, c.delta(hostHeld)-c.delta(hostIdle) // these waits are within steps
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

// name selects the candidates that explain most of the change, in its direction.
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
	if r := c.summary(hostWork); r.Significant && c.heldByHost() && f.explained < explains { // each operation alone is small
		if share := f.sign * r.delta() / total; share > f.explained {
			f.named, f.explained = []named{{title: hostWork, row: r}}, share
		}
	}
}

// candidates returns what may explain the change: causes of idle time for the host,
// classes of kernels for the GPU, both if the conclusion is unclear. Hosts run ahead of
// GPUs, so idle time may move into an operation that takes no longer, because the host
// reaches it later. If most of the idle time did, CUDA calls that take longer are
// candidates, too, and else operations that do.
func (c *reader) candidates() (all []named) {
	f := &c.finding
	causes := c.Causes
	if len(c.Held) > 0 {
		causes = c.Held
	}
	hostLeads := c.heldByHost() || c.Conclusion == Unclear && f.host > max(f.work+f.uneven, f.other)
	settled, moved := 0.0, []named{} // idle time in operations that changed themselves; causes in operations that did not
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
				all = slices.DeleteFunc(all, func(n named) bool { return n.title == one.title }) // its idle time, which lies mostly elsewhere
				all, moved = append(all, one), nil
			}
		}
	}
	if settled < explains*f.host && c.heldByHost() {
		add(c.API, "%s calls", "", func(r *Row) bool {
			return r.Significant && f.sign*r.delta() > 0 && cudaname.ClassAPI(r.Name) != event.APISync
		})
	}
	if settled < explains*f.host && len(moved) > 0 {
		add(c.Operations, causeTitle("host:%s"), "host:", func(r *Row) bool { // most of it outside nested ranges
			return r.went(f.sign) && c.ownWork(r) && (r.Self == nil || r.Self.Delta == nil || *r.Self.Delta/r.delta() >= explains)
		})
	}
	all = append(all, moved...)
	if c.Conclusion == GPU || c.Conclusion == Unclear {
		add(c.Classes, "%s kernels", "", func(r *Row) bool { // of collectives, the part that is waits is no work
			return !isCollective(r.Name) || math.Abs(c.delta(waitTime)) < explains*math.Abs(r.delta())
		})
	}
	return all
}

// heldByHost reports whether the conclusion is host overhead.
func (c *Comparison) heldByHost() bool {
	return c.Conclusion == HostInStep || c.Conclusion == HostInterStep
}

// went reports whether a row, including the part common to all host work, changed in a
// direction beyond the noise, by its interval. Rows with too few independent steps
// count, too: taking them for unchanged would blame another row.
func (r *Row) went(sign float64) bool {
	return r.CI != nil && (sign > 0 && r.CI[0] > 0 || sign < 0 && r.CI[1] < 0)
}

// lastsLonger reports whether the operation in which idle time lies changed itself. It
// must have changed beyond the noise, in the direction of the step, and enough for half
// of that idle time. It compares the slowest rank: that may be the only one that
// changed, with all others waiting for it. Causes that are no operation count as
// changed.
func (c *reader) lastsLonger(cause *IdleRow) bool {
	for r := range each(c.Operations) {
		if "host:"+r.Name == cause.Cause {
			more := c.target.slowest(r.Name) - c.base.slowest(r.Name)
			return r.went(c.finding.sign) && c.finding.sign*more >= explains*c.finding.sign*cause.delta()
		}
	}
	return true
}

// isCollective reports whether a class of kernels is collectives.
func isCollective(class string) bool {
	return class == event.Classes[event.Allreduce] || class == event.Classes[event.Comm]
}

// isHost reports whether idle time of a cause is the host's responsibility.
func isHost(cause string) bool { return !slices.Contains(notHost, cause) }

// notHost are the causes that are not the host's responsibility.
var notHost = []string{"graph", queued, "tail", imbalance, waitsUnknown, sender}

// ownWork reports whether an operation takes longer by its own work. Less than half of
// the growth of its exposed time may be waiting for the interpreter lock or garbage
// collection. And less than half of its growth may be hidden behind GPUs that are busy
// for longer; GPUs that wait for a host in collectives do not count as busy.
func (c *reader) ownWork(r *Row) bool {
	exposed := *r.Exposed.Delta
	forHosts := c.delta(hostHeld) - c.delta(hostIdle) // in collectives: GPUs are busy, but not with work that a host waits for
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

// site returns the site of at least half of the change of a cause, nil if there is none.
func (c *reader) site(cause *IdleRow) *string {
	for r := range each(c.Idle) {
		if r.Cause == cause.Cause && r.Site != nil && r.delta()*cause.delta() > 0 && math.Abs(r.delta()) >= explains*math.Abs(cause.delta()) {
			return r.Site
		}
	}
	return nil
}
