package compare

import (
	"strings"

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

// addIdle adds what the idle time of the steps was attributed to, as rows by cause and
// site.
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
		for _, id := range touched {
			r.sections[idleTimes].at(id).addRange(int32(k), sums[id].total, sums[id].inter, 0)
			r.steps[k].inter += sums[id].inter
			sums[id] = idleSum{}
		}
		touched = touched[:0]
	}
}

// idleNames numbers causes with their sites as names of rows.
type idleNames struct {
	sites *idle.Sites
	names *names
	ids   []int32 // by key, one more than the number; 0: not yet known
}

// of returns the number of the row of a key.
func (n *idleNames) of(k idle.Key) int32 {
	for int(k) >= len(n.ids) {
		n.ids = append(n.ids, make([]int32, max(64, len(n.ids)))...)
	}
	if n.ids[k] == 0 {
		n.ids[k] = n.names.add(idleName(n.sites.CauseName(k), n.siteOf(k))) + 1
	}
	return n.ids[k] - 1
}

// siteOf says where the cause of a key arose, "" where there is no more to say than
// the cause.
func (n *idleNames) siteOf(k idle.Key) string {
	path := n.sites.PathText(n.sites.Path(k))
	call := n.sites.Name(k)
	switch {
	case call == "" && n.sites.Parent(n.sites.Path(k)) < 0:
		return ""
	case call == "":
		return path
	case path == "":
		return call
	}
	return call + " in " + path
}

// idleName is the name of a row of idle time.
func idleName(cause, site string) string { return cause + "\x00" + site }

// causeAndSite are what idleName was made of.
func causeAndSite(name string) (cause, site string) {
	cause, site, _ = strings.Cut(name, "\x00")
	return cause, site
}

// IdleRow is idle time of one cause at one site. All such rows add up to the idle
// time of a step.
type IdleRow struct {
	Row
	// Cause is why GPUs were idle, Site where that arose, nil where it has none.
	Cause string  `json:"cause"`
	Site  *string `json:"site"`
	// InStep and InterStep are the parts of it within steps and between them.
	InStep    *Part `json:"in_step"`
	InterStep *Part `json:"inter_step"`
}

// idleRows compares idle time by cause and site.
func (c *Comparison) idleRows() []IdleRow {
	rows := []IdleRow{}
	for _, r := range c.sectionRows(idleTimes) {
		one := IdleRow{InterStep: r.Self, InStep: r.Exposed}
		var site string
		one.Cause, site = causeAndSite(r.Name)
		r.Self, r.Exposed, r.Name = nil, nil, one.Cause
		if site != "" {
			one.Site = &site
			r.Name = one.Cause + ": " + site
		}
		one.Row = r
		rows = append(rows, one)
	}
	return rows
}

// idlePointers are the rows of idle time.
func (c *Comparison) idlePointers() []*Row {
	rows := make([]*Row, len(c.Idle))
	for i := range c.Idle {
		rows[i] = &c.Idle[i].Row
	}
	return rows
}

// inter is the part of an item of idle time that lies between steps, which is
// measured where operations have their own time.
func inter(i *item) *value { return &i.self }

// inStep is the part of an item of idle time that lies within steps.
func inStep(i *item) *value { return &i.exposed }
