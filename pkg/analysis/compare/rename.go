package compare

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// renames are the names in b of operations of a: those that only a has, of which one name alone that
// only b has is like it, and it like that alone.
func renames(a, b *Run) map[string]string {
	x, y, now := a.ranges(), b.ranges(), map[string]string{}
	gone, fresh := without(x, y), without(y, x)
	for _, name := range gone {
		if n := only(fresh, name); n != "" && only(gone, n) == name {
			now[name] = n
		}
	}
	return now
}

// ranges are the names of operations.
func (r *Run) ranges() map[string]bool {
	all := map[string]bool{}
	for _, one := range r.repeats {
		for id := range one.names[operations].Len() {
			all[one.names[operations].Text(int32(id))] = true
		}
	}
	return all
}

// without are the names that others lack.
func without(names, others map[string]bool) (list []string) {
	for name := range names {
		if !others[name] {
			list = append(list, name)
		}
	}
	return list
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

// apart is what stands between the names of operations in a name of idle time.
var apart = regexp.MustCompile(`\x00|^host:| in | > `)

// renamed is the name of an operation, or an [idleName] with a cause and with calls in ranges, where
// operations have other names.
func renamed(key string, now map[string]string) string {
	text, from := "", 0
	for _, at := range append(apart.FindAllStringIndex(key, -1), []int{len(key), len(key)}) {
		text += cmp.Or(now[key[from:at[0]]], key[from:at[0]]) + key[at[0]:at[1]]
		from = at[1]
	}
	return text
}
