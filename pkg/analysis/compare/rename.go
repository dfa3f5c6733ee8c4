package compare

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Rename is an operation that has one name in the baseline and a like one in the target.
type Rename struct {
	Gone  []string `json:"gone"`     // names in the baseline
	New   []string `json:"new"`      // names in the target
	Delta float64  `json:"delta_us"` // us per step
}

// String says it as a clause.
func (r Rename) String() string {
	return strings.Join(r.Gone, ", ") + " looks renamed to " + strings.Join(r.New, ", ")
}

// rename finds operations that are gone of which one new one alone has the name, and it that of
// them alone. The baseline calls them as the target does, also where idle time lies in them, so
// that they are compared as all others are.
func (c *Comparison) rename() {
	if c.target == nil || !c.Comparable {
		return
	}
	a, b := c.base.rows[operations], c.target.rows[operations]
	gone, fresh := lacking(a, b), lacking(b, a)
	now := map[string]string{} // by the name in the baseline
	c.base.was = map[string]string{}
	for _, name := range gone {
		if n := only(fresh, name); n != "" && only(gone, n) == name {
			now[name], c.base.was[n] = n, name
		}
	}
	if len(now) > 0 {
		rekey(a, now)
		for section, rows := range c.base.rows {
			if isIdle(section) {
				rekey(rows, now)
			}
		}
	}
}

// lacking are the names of rows that others lack.
func lacking(rows, others map[string]*item) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(rows)), func(name string) bool { return others[name] != nil })
}

// only is the name like another one, "" where there is none or there are several.
func only(names []string, like string) string {
	some := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !sameName(name, like) })
	if len(some) != 1 {
		return ""
	}
	return some[0]
}

// sameName reports whether one of two names is the other with words before or after it.
func sameName(short, long string) bool {
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

// rekey has the rows of operations, or of idle time, that operations of other names are part of
// under those.
func rekey(rows map[string]*item, now map[string]string) {
	for old, one := range maps.Clone(rows) {
		if key := renamed(old, now); key != old {
			delete(rows, old)
			rows[key] = one
		}
	}
}

// renamed is the name of an operation, or of an [idleName] with a cause and with calls in ranges,
// where operations have other names.
func renamed(key string, now map[string]string) string {
	parts := strings.Split(key, "\x00")
	for i, part := range parts {
		before, sep := "", " in "
		if strings.HasPrefix(part, "host:") {
			sep = "host:"
		}
		if head, ranges, ok := strings.Cut(part, sep); ok {
			before, part = head+sep, ranges
		}
		path := strings.Split(part, " > ")
		for k, name := range path {
			if n, ok := now[name]; ok {
				path[k] = n
			}
		}
		parts[i] = before + strings.Join(path, " > ")
	}
	return strings.Join(parts, "\x00")
}
