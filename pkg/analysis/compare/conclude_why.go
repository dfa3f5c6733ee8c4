package compare

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
)

// unite returns what is missing in either of two runs.
func unite(a, b []idle.Missing) []idle.Missing {
	for _, m := range b {
		if !slices.Contains(a, m) {
			a = append(slices.Clip(a), m)
		}
	}
	return a
}

// missingText lists what is missing.
func missingText(missing []idle.Missing) string {
	text := ""
	for _, m := range missing {
		text += " and " + m.What + " (" + m.Option + ")"
	}
	return strings.TrimPrefix(text, " and ")
}

// byWhy names idle time by its cause and why the launching thread was stalled, and while
// it waits for the interpreter lock, by the lock's holder. Thread numbers differ between
// runs, so a holder is named by what it does.
func byWhy(sites *idle.Sites, k idle.Key) string {
	n := idleName{cause: sites.CauseName(k)}
	if _, why := sites.Undivided(k); why != idle.None {
		n.why = sites.WhyName(why)
	}
	h, ok := sites.Holder(k)
	switch {
	case ok && h.InStack():
		n.holder = ByStacks
	case ok && h.Thread != idle.NoTime:
		n.holder = callIn(sites.Name(h.Doing), sites.RangeText(sites.Path(h.Doing)))
		if n.holder == "" {
			n.holder = sites.CauseName(h.Doing)
		}
	}
	return n.String()
}

// ByStacks is the name of an unknown holder of the interpreter lock: only stack samples
// show that a thread waits for the lock.
const ByStacks = "somebody, by the stacks of calls"

// compareWhys compares the idle time by cause and why, if requested. Rows are not
// testable unless both sides have the same records.
func (c *tester) compareWhys() {
	if slices.ContainsFunc(c.sides(), func(s *side) bool { return !s.run.why }) {
		return
	}
	c.IdleWhy = c.idleRows(whyTimes)
	if c.target == nil || slices.Equal(c.base.run.missing, c.target.run.missing) {
		return
	}
	why := "not both sides have a record of " + missingText(unite(c.base.run.missing, c.target.run.missing))
	for r := range each(c.IdleWhy) {
		r.P, r.CI, r.Unknown = nil, nil, why
	}
}

// grownWhys returns the rows by why whose idle time grew beyond the noise, without
// unknown ones and those not on the host. It returns the largest, until they explain as
// much of the growth as named causes should. grew is the growth of all rows, us; rows
// that shrank do not reduce it.
func (r *Rows) grownWhys() (most []*IdleRow, grew float64) {
	for one := range each(r.IdleWhy) {
		grew += max(0, one.delta())
	}
	explained := 0.0
	for one := range each(r.IdleWhy) {
		if one.grown() > 0 && one.Why != nil && (*one.Why != idle.Unknown.String() || one.Cause == waitsForGIL) && explained < explains*grew && len(most) < maxSaid {
			most, explained = append(most, one), explained+one.grown()
		}
	}
	return most, grew
}

// whyTitle describes what launching threads do, and where.
func (r *IdleRow) whyTitle() string {
	title := causeText[waitsForGIL]
	switch {
	case r.Cause != waitsForGIL && (r.Holder == nil || *r.Holder != ByStacks):
		title = "launching threads " + findings.Phrase(*r.Why)
		if r.Cause != idle.Untraced.String() {
			title += ", in " + causeTitle(r.Cause)
		}
	case r.Holder == nil:
	case *r.Holder == ByStacks:
		title += ", by the stacks of calls"
	case *r.Holder == idle.Untraced.String():
		title += ", held by a thread in untraced code"
	default:
		title += ", held by the thread in " + *r.Holder
	}
	return title
}

// mainWhy returns the why with most of the growth of idle time, nil if there is none or
// the conclusion is not host overhead.
func (c *Comparison) mainWhy() *IdleRow {
	most, _ := c.grownWhys()
	if !c.heldByHost() || len(most) == 0 || most[0].grown() < explains*c.summary(idleTime).delta() {
		return nil
	}
	return most[0]
}

// explainWhys explains why launching threads were stalled, if idle time grew.
func (c *writer) explainWhys() {
	most, grew := c.grownWhys()
	for _, r := range most {
		if c.summary(idleTime).delta() > 0 {
			c.say("%s per step, %s of the idle time that grew: %s.", change(r.grown()), report.Percent(r.grown()/grew), r.whyTitle())
		}
	}
}

// adviseWhys gives advice on what threads wait for, the largest growth first. It returns
// the causes of idle time during which threads do not work.
func (c *adviser) adviseWhys() map[string]bool {
	waits := map[string]bool{}
	most, _ := c.grownWhys()
	for _, r := range most {
		t := findings.TreatmentOf(*r.Why)
		switch about := " (" + r.whyTitle() + ") " + change(r.grown()) + " per step"; {
		case c.summary(idleTime).delta() <= 0: // a wait only replaced something else
		case r.Holder != nil && *r.Holder == ByStacks:
			c.mitigate("GIL_CONTENTION"+about, c.opt.Sources.Advice(waitsForGIL)+"; record with -t python-gil to see who holds it")
			waits[r.Cause] = true
		case t != nil && r.Cause != waitsForGIL && r.Holder == nil:
			c.mitigate(t.Pattern+about, findings.Text(t.Do, nil))
			waits[r.Cause] = true
		}
	}
	return waits
}

// whys returns the rows to which a why applies, nil if no why is known.
func (r *Rows) whys() []IdleRow {
	rows := slices.DeleteFunc(slices.Clone(r.IdleWhy), func(r IdleRow) bool { return r.Why == nil })
	if !slices.ContainsFunc(rows, func(r IdleRow) bool { return *r.Why != idle.Unknown.String() || r.Holder != nil }) {
		return nil
	}
	return rows
}
