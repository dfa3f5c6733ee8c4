package compare

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
)

// unite returns what either of two runs lacks.
func unite(a, b []idle.Missing) []idle.Missing {
	for _, m := range b {
		if !slices.Contains(a, m) {
			a = append(slices.Clip(a), m)
		}
	}
	return a
}

// lacks is what is missing as text.
func lacks(missing []idle.Missing) string {
	text := ""
	for _, m := range missing {
		text += " and " + m.What + " (" + m.Option + ")"
	}
	return strings.TrimPrefix(text, " and ")
}

// byWhy names idle time by its cause and why the launching thread did not go on; while it
// waits for the interpreter lock, with who holds that. Threads have other numbers in each
// run: a holder is named by what it does.
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

// ByStacks is the holder of the interpreter lock of whom nothing is known but that stacks of calls
// wait for the lock.
const ByStacks = "somebody, by the stacks of calls"

// compareWhys compares the idle time by cause and why, where that was asked for and both
// sides have what it takes.
func (c *tester) compareWhys() {
	for _, s := range c.sides() {
		if !s.run.why {
			return
		}
		if missing := lacks(s.run.missing); missing != "" {
			c.warn("%s has no record of %s: why its launching threads stalled is known only in part", s.run.Name, missing)
		}
	}
	c.IdleWhy = c.idleRows(whyTimes)
	if c.target == nil || slices.Equal(c.base.run.missing, c.target.run.missing) {
		return
	}
	why := "not both sides have a record of " + lacks(unite(c.base.run.missing, c.target.run.missing))
	for r := range each(c.IdleWhy) {
		r.P, r.CI, r.Unknown = nil, nil, why
	}
}

// grownWhys are the rows by why for which idle time grew beyond the noise, the largest growth
// first, without what is not known or not on the host.
func (r *Rows) grownWhys() (all []*IdleRow) {
	for one := range each(r.IdleWhy) {
		if one.grown() > 0 && one.Why != nil && (*one.Why != idle.Unknown.String() || one.Cause == waitsForGIL) {
			all = append(all, one)
		}
	}
	return all
}

// whyTitle says what launching threads do, and where.
func (r *IdleRow) whyTitle() string {
	switch {
	case r.Holder != nil && *r.Holder == ByStacks:
		return causeText[waitsForGIL] + ", by the stacks of calls"
	case r.Holder != nil && *r.Holder == idle.Untraced.String():
		return causeText[waitsForGIL] + ", held by a thread in untraced code"
	case r.Holder != nil:
		return causeText[waitsForGIL] + ", held by the thread in " + *r.Holder
	case r.Cause == waitsForGIL:
		return causeText[waitsForGIL]
	case r.Cause == idle.Untraced.String():
		return "launching threads " + findings.Phrase(*r.Why)
	}
	return "launching threads " + findings.Phrase(*r.Why) + ", in " + causeTitle(r.Cause)
}

// mainWhy is the why that most of the growth of idle time has, nil where there is none or the
// conclusion is not host overhead.
func (c *Comparison) mainWhy() *IdleRow {
	grown := c.grownWhys()
	if !c.heldByHost() || len(grown) == 0 || grown[0].grown() < explains*c.summary(idleTime).delta() {
		return nil
	}
	return grown[0]
}

// explainWhys says why launching threads did not go on while there is more idle time. What
// shrank meanwhile is no part of what grew: shares are of that alone, and add up to 1 at most.
func (c *writer) explainWhys() {
	grew := 0.0
	for r := range each(c.IdleWhy) {
		grew += max(0, r.delta())
	}
	for i, r := range c.grownWhys() {
		if i < maxSaid && c.summary(idleTime).delta() > 0 {
			c.say("%s per step, %s of the idle time that grew: %s.", change(r.grown()), report.Percent(r.grown()/grew), r.whyTitle())
		}
	}
}

// adviseWhys gives the advice for what threads wait, the most grown first.
func (c *adviser) adviseWhys() {
	if c.summary(idleTime).delta() <= 0 {
		return // a wait has but taken the place of something else
	}
	for _, r := range c.grownWhys() {
		t := findings.TreatmentOf(*r.Why)
		switch {
		case r.Holder != nil && *r.Holder == ByStacks:
			c.mitigate("GIL_CONTENTION (%s): move what holds the lock to a process of its own, or release the lock around what blocks; record with -t python-gil to see who holds it (%s per step).", r.whyTitle(), change(r.grown()))
		case t != nil && r.Cause != waitsForGIL && r.Holder == nil:
			c.mitigate("%s (%s): %s (%s per step).", t.Pattern, r.whyTitle(), findings.Text(t.Do, nil), change(r.grown()))
		}
	}
}

// whys are the rows by why of which that applies, none where it is known of none.
func (r *Rows) whys() []IdleRow {
	rows := slices.DeleteFunc(slices.Clone(r.IdleWhy), func(r IdleRow) bool { return r.Why == nil })
	if !slices.ContainsFunc(rows, func(r IdleRow) bool { return *r.Why != idle.Unknown.String() || r.Holder != nil }) {
		return nil
	}
	return rows
}
