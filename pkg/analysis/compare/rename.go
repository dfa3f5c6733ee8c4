package compare

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Rename is an operation that is gone and one that is new, of like name.
type Rename struct {
	Gone  []string `json:"gone"`     // names in the baseline
	New   []string `json:"new"`      // names in the target
	Delta float64  `json:"delta_us"` // of both together, us per step
}

// String says it as a clause.
func (r Rename) String() string {
	return strings.Join(r.Gone, ", ") + " looks renamed to " + strings.Join(r.New, ", ")
}

// renames looks for operations of which one new one alone has the name, and it that of them alone.
func (c *reader) renames() {
	gone, fresh := c.replaced()
	for _, g := range gone {
		if n := only(fresh, g); n != nil && only(gone, n) == g {
			c.rename(g, n)
		}
	}
	for _, rows := range [][]IdleRow{c.Causes, c.Idle, c.IdleWhy, c.Held} {
		c.renameIdle(rows)
	}
}

// only is the row of like name, nil where there is none or there are several.
func only(rows []*Row, like *Row) *Row {
	some := slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return !sameName(r, like) })
	if len(some) != 1 {
		return nil
	}
	return some[0]
}

// replaced returns the operations that are gone, and those that are new.
func (c *reader) replaced() (gone, fresh []*Row) {
	for i := range c.Operations {
		switch r := &c.Operations[i]; {
		case r.Delta == nil:
		case r.Target == nil:
			gone = append(gone, r)
		case r.Baseline == nil:
			fresh = append(fresh, r)
		}
	}
	return gone, fresh
}

// sameName reports whether one of two names is the other with words before or after it.
func sameName(a, b *Row) bool {
	short, long := a.Name, b.Name
	if len(short) > len(long) {
		short, long = long, short
	}
	inWord := func(b byte) bool { return unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b)) }
	at := strings.Index(long, short)
	if at < 0 || short == "" || at > 0 && inWord(short[0]) && inWord(long[at-1]) {
		return false
	}
	end := at + len(short)
	return end == len(long) || !inWord(short[len(short)-1]) || !inWord(long[end])
}

// similar reports whether two costs are about the same.
func similar(a, b float64) bool { return math.Abs(a-b) <= similarCost*max(a, b) }

// cost is what operations take together that are on one side.
func cost(rows []*Row) (sum float64) {
	for _, r := range rows {
		sum += math.Abs(r.delta())
	}
	return sum
}

// rename records a rename in the rows of both sides and in the list.
func (c *reader) rename(gone, fresh *Row) {
	gone.Rename, fresh.Rename = fresh.Name, gone.Name
	c.Renames = append(c.Renames, Rename{[]string{gone.Name}, []string{fresh.Name}, replace([]*Row{gone}, []*Row{fresh})})
}

// replace has rows that others took the place of count for nothing, and the largest of those for
// what all together changed by, which it returns, where both do not cost about the same: no test
// was made of it.
func replace(gone, fresh []*Row) (delta float64) {
	largest := fresh[0]
	for _, r := range slices.Concat(gone, fresh) {
		delta += r.delta()
		if r.net = new(float64); r.delta() > largest.delta() {
			largest = r
		}
	}
	if !similar(cost(gone), cost(fresh)) {
		*largest.net = delta
	}
	return delta
}

// renameIdle finds idle time that is elsewhere only by name: of an operation with another name,
// and where kernels have other names that of one cause at all of them.
func (c *reader) renameIdle(rows []IdleRow) {
	old := map[string]string{}
	for _, r := range c.Renames {
		old[r.New[0]] = r.Gone[0]
	}
	gone, fresh := map[string][]*Row{}, map[string][]*Row{}
	for i := range rows {
		switch r := &rows[i]; {
		case r.Delta == nil:
		case r.Target == nil:
			gone[r.place(old)] = append(gone[r.place(old)], &r.Row)
		case r.Baseline == nil:
			fresh[r.place(old)] = append(fresh[r.place(old)], &r.Row)
		}
	}
	for place, was := range gone {
		if is := fresh[place]; len(is) > 0 {
			replace(was, is)
		}
	}
}

// place is the cause and the site of idle time, where operations have their old names and
// kernels none.
func (r *IdleRow) place(old map[string]string) string {
	name := func(s string) string {
		if was, ok := old[s]; ok {
			return was
		}
		return s
	}
	cause := r.Cause
	if host, ok := strings.CutPrefix(cause, "host:"); ok {
		cause = "host:" + name(host)
	}
	for _, more := range []*string{r.Why, r.Holder} {
		if more != nil {
			cause += "\x00" + *more
		}
	}
	if r.Site == nil || !isHost(r.Cause) {
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
