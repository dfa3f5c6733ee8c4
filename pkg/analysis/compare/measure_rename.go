package compare

import (
	"cmp"
	"maps"
	"regexp"
	"strings"
	"unicode"
)

// renames returns new names, by old name, of operations that seem to be renamed from a
// to b. Each of the two names exists in one run only, and is similar to the other and to
// no further name.
func renames(a, b *Run) map[string]string {
	x, y := a.ranges(), b.ranges()
	now, like := map[string]string{}, map[string]int{}
	for gone := range x {
		for fresh := range y {
			if !y[gone] && !x[fresh] && sameName(gone, fresh) {
				now[gone] = fresh
				like[gone]++
				like[fresh]++
			}
		}
	}
	maps.DeleteFunc(now, func(gone, fresh string) bool { return like[gone] > 1 || like[fresh] > 1 })
	return now
}

// ranges returns the set of names of operations.
func (r *Run) ranges() map[string]bool {
	all := map[string]bool{}
	for _, one := range r.repeats {
		for id := range one.names[operations].Len() {
			all[one.names[operations].Text(int32(id))] = true
		}
	}
	return all
}

// sameName reports whether one of two names is the other with words added before or
// after it.
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

// apart matches what separates the names of operations in a name of idle time.
var apart = regexp.MustCompile(`\x00|^host:| in | > `)

// renamed replaces old names of operations by new ones in key, the name of an operation
// or an [idleName].
func renamed(key string, now map[string]string) string {
	text, from := "", 0
	for _, at := range append(apart.FindAllStringIndex(key, -1), []int{len(key), len(key)}) {
		text += cmp.Or(now[key[from:at[0]]], key[from:at[0]]) + key[at[0]:at[1]]
		from = at[1]
	}
	return text
}
