package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/hostbound/hostbound/pkg/report"
)

// similarCost is how far apart, as a share of the larger, the costs of an operation
// and of what took its place may be.
const similarCost = 0.2

// otherCost is the share of what operations took from which those in their place are said to take
// longer or less.
const otherCost = 0.1

// Rename is an operation that is gone and one, or several, that are new, of like
// cost and in the same place; or several that are gone and one that is new.
type Rename struct {
	Gone  []string `json:"gone"`     // names in the baseline
	New   []string `json:"new"`      // names in the target
	Delta float64  `json:"delta_us"` // of all of them together, us per step

	other bool // neither the names nor what they take are alike
}

// String says it as a clause.
func (r Rename) String() string {
	gone, fresh := strings.Join(r.Gone, ", "), strings.Join(r.New, ", ")
	switch {
	case len(r.New) > 1:
		return gone + " looks split into " + fresh
	case len(r.Gone) > 1:
		return gone + " look put together in " + fresh
	case r.other:
		return fresh + " is in the place of " + gone
	}
	return gone + " looks renamed to " + fresh
}

// sayRenames says what has other names.
func (c *Comparison) sayRenames() {
	const most = 5
	for _, r := range c.Renames[:min(most, len(c.Renames))] {
		c.say("%s (%s).", r, change(r.Delta))
	}
	if more := len(c.Renames) - most; more > 0 {
		c.say("%s more have other names.", report.Counted(more, "operation"))
	}
}

// site is the place of an operation among those that both runs have: the one
// around it, and its neighbours there.
type site struct {
	parent, before, after string
	known                 bool // that it is there
}

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
			at := site{parent: parent, before: before, known: s.rows[operations][name].place.offset != 0}
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

// renames looks for operations that others took the place of: one for one, by their names and
// then by what they take, then one for several, then several for one, then any that is alone
// where another was.
func (c *Comparison) renames() {
	gone, fresh, both := c.replaced()
	if len(gone) > 0 && len(fresh) > 0 {
		was, is := c.base.sites(both), c.target.sites(both)
		now := map[string]string{} // of those that are gone
		at := func(g *Row) site {
			s := was[g.Name]
			s.parent = cmp.Or(now[s.parent], s.parent)
			return s
		}
		near := func(g, n *Row) bool { return at(g).same(is[n.Name]) }
		each := func(fits func(g, n *Row) bool, apart func(g, n *Row) float64) {
			c.renameEach(gone, fresh, now, func(g, n *Row) float64 {
				if !fits(g, n) {
					return math.Inf(1)
				}
				return apart(g, n)
			})
		}
		each(near, namesApart)
		each(near, costsApart)
		c.renameSeveral(gone, fresh, near)
		each(func(g, n *Row) bool { return g.Significant && n.Significant && at(g).known && at(g) == is[n.Name] }, func(g, n *Row) float64 { return 0 })
	}
	for _, rows := range [][]IdleRow{c.Idle, c.IdleWhy} {
		c.renameIdle(rows)
	}
}

// namesApart is how many bytes one of two names has more than the other, which is a part of it,
// infinite where it is none.
func namesApart(a, b *Row) float64 {
	short, long := a.Name, b.Name
	if len(short) > len(long) {
		short, long = long, short
	}
	at := strings.Index(long, short)
	if len(short) < leastName || at < 0 || at > 0 && inWord(short[0]) && inWord(long[at-1]) {
		return math.Inf(1)
	}
	if end := at + len(short); end < len(long) && inWord(short[len(short)-1]) && inWord(long[end]) {
		return math.Inf(1)
	}
	return float64(len(long) - len(short))
}

// inWord tells whether a byte is part of a word.
func inWord(b byte) bool { return unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b)) }

// leastName is the least number of bytes of a name that another is recognised by.
const leastName = 4

// costsApart is how far apart the costs of two operations are that are on one side each, infinite
// where they are not similar, or may be nothing.
func costsApart(a, b *Row) float64 {
	if x, y := math.Abs(a.delta()), math.Abs(b.delta()); a.Significant && b.Significant && similar(x, y) {
		return math.Abs(x - y)
	}
	return math.Inf(1)
}

// renameEach renames the operations that are closer to one another than to any other, and says in
// now what they are called: those inside of them may be close then.
func (c *Comparison) renameEach(gone, fresh []*Row, now map[string]string, apart func(g, n *Row) float64) {
	closest := func(r *Row, of []*Row) (best *Row) {
		least := math.Inf(1)
		for _, o := range of {
			g, n := r, o
			if r.Baseline == nil {
				g, n = o, r
			}
			switch d := apart(g, n); {
			case d < least:
				best, least = o, d
			case d == least:
				best = nil
			}
		}
		return best
	}
	for again := true; again; {
		again = false
		for _, g := range unnamed(gone, nil) {
			if n := closest(g, unnamed(fresh, nil)); n != nil && closest(n, unnamed(gone, nil)) == g {
				c.rename([]*Row{g}, []*Row{n})
				now[g.Name], again = n.Name, true
			}
		}
	}
}

// renameSeveral looks for one operation in the place of several, and for several in that of one.
func (c *Comparison) renameSeveral(gone, fresh []*Row, near func(g, n *Row) bool) {
	sure := func(r *Row) bool { return r.Significant }
	gone, fresh = unnamed(gone, sure), unnamed(fresh, sure)
	cost := func(r *Row) float64 { return math.Abs(r.delta()) }
	for _, g := range unnamed(gone, nil) {
		if parts := unnamed(fresh, func(n *Row) bool { return near(g, n) }); len(parts) > 1 && similar(cost(g), sum(parts, cost)) {
			c.rename([]*Row{g}, parts)
		}
	}
	for _, n := range unnamed(fresh, nil) {
		if parts := unnamed(gone, func(g *Row) bool { return near(g, n) }); len(parts) > 1 && similar(sum(parts, cost), cost(n)) {
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
		case r.Delta == nil:
		case r.Target == nil:
			gone = append(gone, r)
		case r.Baseline == nil:
			fresh = append(fresh, r)
		default:
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
	r := Rename{Gone: names(gone), New: names(fresh), Delta: replace(gone, fresh)}
	r.other = len(gone)+len(fresh) == 2 && math.IsInf(min(namesApart(gone[0], fresh[0]), costsApart(gone[0], fresh[0])), 1)
	took := 0.0
	for _, row := range gone {
		row.Rename = strings.Join(r.New, ", ")
		took -= row.delta()
	}
	for _, row := range fresh {
		row.Rename = strings.Join(r.Gone, ", ")
		if math.Abs(r.Delta) < otherCost*took {
			*row.net = 0
		}
	}
	c.Renames = append(c.Renames, r)
}

// replace has rows that others took the place of count for nothing, and the largest of those for
// what all together changed by, which it returns, where that is beyond twice the noise of all: no
// test was made of it.
func replace(gone, fresh []*Row) (delta float64) {
	variance := 0.0
	largest := fresh[0]
	for _, r := range slices.Concat(gone, fresh) {
		delta += r.delta()
		variance += r.CI.half() * r.CI.half()
		if r.net = new(float64); r.delta() > largest.delta() {
			largest = r
		}
	}
	if math.Abs(delta) > max(2*math.Sqrt(variance), us) {
		*largest.net = delta
	}
	return delta
}

// renameIdle finds idle time that is elsewhere only by name: of an operation with another name,
// and where kernels have other names that of one cause at all of them.
func (c *Comparison) renameIdle(rows []IdleRow) {
	old := map[string]string{}
	for _, r := range c.Renames {
		if len(r.Gone) == 1 && len(r.New) == 1 {
			old[r.New[0]] = r.Gone[0]
		}
	}
	type change struct{ gone, fresh []*Row }
	at := map[string]*change{}
	add := func(place string, r *IdleRow) {
		if at[place] == nil {
			at[place] = &change{}
		}
		if r.Target == nil {
			at[place].gone = append(at[place].gone, &r.Row)
		} else {
			at[place].fresh = append(at[place].fresh, &r.Row)
		}
	}
	for i := range rows {
		if r := &rows[i]; r.Delta != nil && (r.Target == nil || r.Baseline == nil && r.Significant) {
			add(r.place(old), r)
		}
	}
	for _, one := range at {
		if len(one.gone) > 0 && len(one.fresh) > 0 {
			replace(one.gone, one.fresh)
		}
	}
}

// place is the cause and the site of idle time, where operations have their old names and
// kernels none.
func (r *IdleRow) place(old map[string]string) string {
	name := func(s string) string { return cmp.Or(old[s], s) }
	cause := r.Cause
	if host, ok := strings.CutPrefix(cause, "host:"); ok {
		cause = "host:" + name(host)
	}
	for _, more := range []*string{r.Why, r.Holder} {
		if more != nil {
			cause += "\x00" + *more
		}
	}
	if r.Site == nil || r.Cause == "queued" || r.Cause == "graph" {
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
