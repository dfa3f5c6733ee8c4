package compare

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/handoff"
	"github.com/hostbound/hostbound/pkg/idle"
	steps "github.com/hostbound/hostbound/pkg/step"
)

// attribution is the idle time of one rank by step, cause and site.
type attribution struct {
	*idle.Rank
	step []int32 // of each slice, noStep: none
}

// Groups of slices: all that belong to steps are in one.
const inSteps = 0

// begin begins a slice.
func (a *attribution) begin(s steps.Slice) {
	group := idle.NoGroup
	switch s.Place {
	case steps.InStep:
		group = inSteps
	case steps.Pending:
		group = idle.Pending
	}
	k := a.Cut(s.Start, group)
	a.step = append(a.step[:k], s.Step)
}

// endStep settles whose the pending slices are.
func (a *attribution) endStep(owner steps.Owner) {
	if owner == steps.StepOwner {
		a.Settle(inSteps)
	} else {
		a.Settle(idle.NoGroup)
	}
}

// stepIdle is idle time in a step that is known.
type stepIdle struct {
	ns    int64
	key   idle.Key
	inter bool
}

// ofSteps returns the idle time of each of n steps, for a window that ends at a time:
// that of step k is all[first[k]:first[k+1]]. A key of a step may come several times;
// what it comes to is not negative.
func (a *attribution) ofSteps(n int, end int64) (all []stepIdle, first []int) {
	first = make([]int, n+2) // first[k+2] counts step k, then first[k+1] is where its next one goes
	a.Each(end, func(s idle.Sample) {
		if k := a.step[s.Slice]; k != noStep {
			first[k+2]++
		}
	})
	for k := range n {
		first[k+2] += first[k+1]
	}
	all = make([]stepIdle, first[n+1])
	a.Each(end, func(s idle.Sample) {
		if k := a.step[s.Slice]; k != noStep {
			all[first[k+1]] = stepIdle{s.Ns, s.Key, s.Inter}
			first[k+1]++
		}
	})
	return all, first[:n+1]
}

// idleSum is what a key comes to in one step, ns.
type idleSum struct{ total, inter int64 }

// idleOfSteps returns the idle time of the rank's steps, of which no more rows come.
func (r *rank) idleOfSteps() (all []stepIdle, first []int) {
	end := int64(never)
	if w := r.walk.Window; w != nil {
		end = w.End
	}
	return r.idle.ofSteps(len(r.steps), end)
}

// addIdle adds what the idle time of the steps was attributed to, as rows of a section.
func (r *rank) addIdle(all []stepIdle, first []int, number *idleNames) {
	var sums []idleSum // by number
	var touched []int32
	for k := range r.steps {
		for _, s := range all[first[k]:first[k+1]] {
			id := number.of(s.key)
			for int(id) >= len(sums) {
				sums = append(sums, idleSum{})
			}
			if sums[id] == (idleSum{}) {
				touched = append(touched, id)
			}
			sums[id].total += s.ns
			if s.inter {
				sums[id].inter += s.ns
			}
		}
		inter := int64(0)
		for _, id := range touched {
			r.sections[number.section].at(id).addRange(int32(k), sums[id].total, sums[id].inter, 0)
			inter += sums[id].inter
			sums[id] = idleSum{}
		}
		r.steps[k].inter = inter // the same by whatever rows
		touched = touched[:0]
	}
}

// idleNames numbers keys of idle time as names of the rows of a section.
type idleNames struct {
	sites   *idle.Sites
	section int
	names   *names
	name    func(*idle.Sites, idle.Key) string
	ids     []int32 // by key, one more than the number; 0: not yet known
}

// of returns the number of the row of a key.
func (n *idleNames) of(k idle.Key) int32 {
	for int(k) >= len(n.ids) {
		n.ids = append(n.ids, make([]int32, max(64, len(n.ids)))...)
	}
	if n.ids[k] == 0 {
		n.ids[k] = n.names.add(n.name(n.sites, k)) + 1
	}
	return n.ids[k] - 1
}

// idleName is what a row of idle time is about: a cause with its site, or with why the
// launching thread did not go on and, where that waits for the interpreter lock, who holds
// it. "" is what does not apply.
type idleName struct{ cause, site, why, holder string }

// String is the name of the row, of which parseIdleName makes the parts again.
func (n idleName) String() string {
	return strings.Join([]string{n.cause, n.site, n.why, n.holder}, "\x00")
}

func parseIdleName(name string) idleName {
	parts := strings.SplitN(name, "\x00", 4)
	if len(parts) < 4 { // others
		return idleName{cause: name}
	}
	return idleName{parts[0], parts[1], parts[2], parts[3]}
}

// bySite names idle time by its cause and where that arose.
func bySite(sites *idle.Sites, k idle.Key) string {
	path := sites.Path(k)
	n := idleName{cause: sites.CauseName(k), site: sites.PathText(path)}
	if call := sites.Name(k); call != "" || sites.Parent(path) >= 0 {
		n.site = callIn(call, n.site)
	} else {
		n.site = "" // it says no more than the cause
	}
	return n.String()
}

// callIn is a call in ranges as text.
func callIn(call, ranges string) string {
	if call == "" || ranges == "" {
		return call + ranges
	}
	return call + " in " + ranges
}

// IdleRow is idle time of one cause at one site, or of one cause and why. All such rows
// add up to the idle time of a step.
type IdleRow struct {
	Row
	// Cause is what GPUs waited for, Site where that arose, nil where it has none.
	Cause string  `json:"cause"`
	Site  *string `json:"site"`
	// Why is why the launching thread did not go on (package hoststate), Holder who held
	// the interpreter lock that it waited for; nil for rows by site, and where it does not
	// apply.
	Why    *string `json:"why,omitempty"`
	Holder *string `json:"holder,omitempty"`
	// InStep and InterStep are the parts of it within steps and between them.
	InStep    *Part `json:"in_step"`
	InterStep *Part `json:"inter_step"`
}

// idleRows compares idle time by the rows of a section.
func (c *Comparison) idleRows(section int) []IdleRow {
	rows := []IdleRow{}
	for _, r := range c.sectionRows(section) {
		n := parseIdleName(r.Name)
		one := IdleRow{
			InterStep: r.Self, InStep: r.Exposed, Cause: n.cause,
			Site: handoff.OrNull(n.site), Why: handoff.OrNull(n.why), Holder: handoff.OrNull(n.holder),
		}
		r.Self, r.Exposed, r.Name = nil, nil, n.cause
		for _, part := range []string{n.site, n.why, n.holder} {
			if part != "" {
				r.Name += ": " + part
			}
		}
		one.Row = r
		rows = append(rows, one)
	}
	return rows
}

// idlePointers are rows of idle time in place, to be filled in.
func idlePointers(idle []IdleRow) []*Row {
	rows := make([]*Row, len(idle))
	for i := range idle {
		rows[i] = &idle[i].Row
	}
	return rows
}

// inter is the part of an item of idle time that lies between steps, which is
// measured where operations have their own time.
func inter(i *item) *value { return &i.self }

// inStep is the part of an item of idle time that lies within steps.
func inStep(i *item) *value { return &i.exposed }
