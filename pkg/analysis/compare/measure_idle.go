package compare

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
	steps "github.com/hostbound/hostbound/pkg/step"
)

// attribution is the idle time of one rank by step, cause and site.
type attribution struct {
	*idle.Rank
	step []int32 // by slice; noStep: none, pending: decided when the open step ends
}

// pending is the step of slices that may belong to the open step.
const pending = noStep - 1

// endStep assigns the pending slices.
func (a *attribution) endStep(step int, owner steps.Owner) {
	own := int32(noStep)
	if owner == steps.StepOwner {
		own = int32(step)
	}
	for k := len(a.step) - 1; k >= 0 && a.step[k] < 0; k-- {
		if a.step[k] == pending {
			a.step[k] = own
		}
	}
}

// addIdle adds the attribution of the rank's idle time to rows and steps. The rank's
// rows must have ended.
func (r *rank) addIdle() {
	end := int64(never)
	if w := r.walk.Window; w != nil {
		end = w.End
	}
	r.idle.Each(end, func(s idle.Sample) {
		k := r.idle.step[s.Slice]
		if k == noStep {
			return
		}
		inter := int64(0)
		if s.Inter {
			inter = s.Ns
		}
		r.steps[k].inter += inter
		for _, n := range r.shared.rows {
			r.sections[n.section].at(n.of(s.Key)).add(k, s.Ns, inter, 0)
		}
	})
}

// idleNames maps keys of idle time to the names of a section's rows.
type idleNames struct {
	sites   *idle.Sites
	section int
	names   *idle.Names
	name    func(*idle.Sites, idle.Key) string
	ids     []int32 // by key: id + 1, 0 if not yet known
}

// of returns the id of the row of a key.
func (n *idleNames) of(k idle.Key) int32 {
	for int(k) >= len(n.ids) {
		n.ids = append(n.ids, make([]int32, max(64, len(n.ids)))...)
	}
	if n.ids[k] == 0 {
		n.ids[k] = n.names.ID([]byte(n.name(n.sites, k))) + 1
	}
	return n.ids[k] - 1
}

// idleName is the name of a row of idle time. It is a cause with its site, or with why
// the launching thread was stalled and who holds the interpreter lock that it waits for.
// What does not apply is "".
type idleName struct{ cause, site, why, holder string }

// String joins the parts; parseIdleName splits them.
func (n idleName) String() string {
	return strings.Join([]string{n.cause, n.site, n.why, n.holder}, "\x00")
}

func parseIdleName(name string) idleName {
	parts := append(strings.Split(name, "\x00"), "", "", "") // the other rows of idle time are a cause alone
	return idleName{parts[0], parts[1], parts[2], parts[3]}
}

// bySite names idle time by its cause and site.
func bySite(sites *idle.Sites, k idle.Key) string {
	path := sites.Path(k)
	n := idleName{cause: sites.CauseName(k), site: sites.PathText(path)}
	if call := sites.Name(k); call != "" || sites.Parent(path) >= 0 {
		n.site = callIn(call, n.site)
	} else {
		n.site = "" // it adds nothing to the cause
	}
	return n.String()
}

// callIn describes a call in ranges; either may be "".
func callIn(call, ranges string) string {
	if call == "" || ranges == "" {
		return call + ranges
	}
	return call + " in " + ranges
}

// IdleRow is idle time of one cause at one site, or of one cause and why. It may also be
// the time that GPUs wait in collectives, by what the late rank did. All rows of a kind
// add up to the idle time, or wait, of a step.
type IdleRow struct {
	Row
	// Cause is what GPUs waited for; Site is where, null if there is none.
	Cause string  `json:"cause"`
	Site  *string `json:"site"`
	// Why is why the launching thread was stalled (hoststate.go of package idle). Holder
	// is who held the interpreter lock that it waited for, ByStacks if only stack
	// samples show the wait. Both are null in rows by site, and where they do not apply.
	Why    *string `json:"why,omitempty"`
	Holder *string `json:"holder,omitempty"`
	// InStep and InterStep are its parts within and between steps.
	InStep    *Part `json:"in_step"`
	InterStep *Part `json:"inter_step"`
}

// idleRows compares the rows of a section of idle time.
func (t *tester) idleRows(section int) []IdleRow {
	rows := []IdleRow{}
	for _, r := range t.sectionRows(section) {
		n := parseIdleName(r.Name)
		one := IdleRow{
			InterStep: r.Self, InStep: r.Exposed, Cause: n.cause,
			Site: report.OrNull(n.site), Why: report.OrNull(n.why), Holder: report.OrNull(n.holder),
		}
		parts := slices.DeleteFunc([]string{n.cause, n.site, n.why, n.holder}, func(part string) bool { return part == "" })
		r.Self, r.Exposed, r.Name = nil, nil, strings.Join(parts, ": ")
		one.Row = r
		rows = append(rows, one)
	}
	return rows
}
