package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// similarCost is how far apart, as a share of the larger, the costs of an operation
// and of what took its place may be.
const similarCost = 0.2

// Rename is an operation that is gone and one, or several, that are new, of like
// cost and in the same place; or several that are gone and one that is new.
type Rename struct {
	Gone  []string `json:"gone"`     // names in the baseline
	New   []string `json:"new"`      // names in the target
	Delta float64  `json:"delta_us"` // of all of them together, us per step
}

// String says it as a clause.
func (r Rename) String() string {
	gone, fresh := strings.Join(r.Gone, ", "), strings.Join(r.New, ", ")
	switch {
	case len(r.New) > 1:
		return gone + " looks split into " + fresh
	case len(r.Gone) > 1:
		return gone + " look put together in " + fresh
	}
	return gone + " looks renamed to " + fresh
}

// site is the place of an operation among those that both runs have: the one
// around it, and its neighbours there.
type site struct{ parent, before, after string }

// sites returns the place of every operation of a run.
func (s *side) sites(both map[string]bool) map[string]site {
	children := map[string][]string{}
	for name, one := range s.rows[operations] {
		children[one.place.parent] = append(children[one.place.parent], name)
	}
	sites := map[string]site{}
	for parent, names := range children {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(s.rows[operations][a].place.offset, s.rows[operations][b].place.offset), cmp.Compare(a, b))
		})
		before := ""
		for i, name := range names {
			at := site{parent: parent, before: before}
			for _, next := range names[i+1:] {
				if both[next] {
					at.after = next
					break
				}
			}
			if both[name] {
				before = name
			}
			sites[name] = at
		}
	}
	return sites
}

// same tells whether two places are the same one. An operation that moved from one
// of its neighbours only still is where it was.
func (s site) same(t site) bool {
	return s.parent == t.parent && (s.before == t.before || s.after == t.after)
}

// renames looks for operations that others took the place of: one for one, then one
// for several, then several for one.
func (c *Comparison) renames() {
	gone, fresh, both := c.replaced()
	if len(gone) == 0 || len(fresh) == 0 {
		return
	}
	was, is := c.base.sites(both), c.target.sites(both)
	near := func(g, n *Row) bool { return was[g.Name].same(is[n.Name]) }
	before, after := func(r *Row) float64 { return *r.Baseline }, func(r *Row) float64 { return *r.Target }
	for _, g := range gone {
		var best *Row
		for _, n := range unnamed(fresh, func(n *Row) bool { return near(g, n) && similar(before(g), after(n)) }) {
			if best == nil || math.Abs(after(n)-before(g)) < math.Abs(after(best)-before(g)) {
				best = n
			}
		}
		if best != nil {
			c.rename([]*Row{g}, []*Row{best})
		}
	}
	for _, g := range unnamed(gone, nil) {
		if parts := unnamed(fresh, func(n *Row) bool { return near(g, n) }); len(parts) > 1 && similar(before(g), sum(parts, after)) {
			c.rename([]*Row{g}, parts)
		}
	}
	for _, n := range unnamed(fresh, nil) {
		if parts := unnamed(gone, func(g *Row) bool { return near(g, n) }); len(parts) > 1 && similar(sum(parts, before), after(n)) {
			c.rename(parts, []*Row{n})
		}
	}
}

// replaced returns the operations that are gone, those that are new, and the names of
// those that both sides have.
func (c *Comparison) replaced() (gone, fresh []*Row, both map[string]bool) {
	both = map[string]bool{}
	for i := range c.Operations {
		switch r := &c.Operations[i]; {
		case r.Status == Removed:
			gone = append(gone, r)
		case r.Status == New:
			fresh = append(fresh, r)
		case r.Baseline != nil && r.Target != nil:
			both[r.Name] = true
		}
	}
	return gone, fresh, both
}

// similar tells whether two costs are about the same.
func similar(a, b float64) bool { return math.Abs(a-b) <= similarCost*max(a, b) }

// unnamed returns the rows that are in no rename so far and that fit, nil: any.
func unnamed(rows []*Row, fits func(*Row) bool) []*Row {
	var some []*Row
	for _, r := range rows {
		if r.Rename == "" && (fits == nil || fits(r)) {
			some = append(some, r)
		}
	}
	return some
}

// sum adds up what of says of rows.
func sum(rows []*Row, of func(*Row) float64) float64 {
	total := 0.0
	for _, r := range rows {
		total += of(r)
	}
	return total
}

// rename records a rename in the rows of both sides and in the list.
func (c *Comparison) rename(gone, fresh []*Row) {
	names := func(rows []*Row) []string {
		var all []string
		for _, r := range rows {
			all = append(all, r.Name)
		}
		return all
	}
	r := Rename{Gone: names(gone), New: names(fresh)}
	for _, row := range gone {
		row.Rename = strings.Join(r.New, ", ")
		r.Delta += *row.Delta
	}
	for _, row := range fresh {
		row.Rename = strings.Join(r.Gone, ", ")
		r.Delta += *row.Delta
	}
	c.Renames = append(c.Renames, r)
}

// idleOfRenamed returns, for rows of idle time that are new because an operation has another
// name, by index, the row with the old name.
func (c *Comparison) idleOfRenamed() map[int]*IdleRow {
	old := map[string]string{}
	for _, r := range c.Renames {
		if len(r.Gone) == 1 && len(r.New) == 1 {
			old[r.New[0]] = r.Gone[0]
		}
	}
	if len(old) == 0 {
		return nil
	}
	gone, was := map[string]*IdleRow{}, map[int]*IdleRow{}
	for i := range c.Idle {
		if r := &c.Idle[i]; r.Target == nil {
			gone[r.place(nil)] = r
		}
	}
	for i := range c.Idle {
		if r := &c.Idle[i]; r.Baseline == nil && gone[r.place(old)] != nil {
			was[i] = gone[r.place(old)]
		}
	}
	return was
}

// place is the cause and the site of idle time, where operations have their old names.
func (r *IdleRow) place(old map[string]string) string {
	name := func(s string) string { return cmp.Or(old[s], s) }
	cause := r.Cause
	if host, ok := strings.CutPrefix(cause, "host:"); ok {
		cause = "host:" + name(host)
	}
	if r.Site == nil {
		return cause
	}
	call, ranges, ok := strings.Cut(*r.Site, " in ")
	if !ok {
		call, ranges = "", *r.Site
	}
	parts := strings.Split(ranges, " > ")
	for i := range parts {
		parts[i] = name(parts[i])
	}
	return strings.Join(append(parts, call, cause), "\x00")
}
