package hotspot

import (
	"slices"
	"strings"
	"sync"
)

// lexicon is data/words.toml, read on first use: most commands never need it.
var lexicon = sync.OnceValue(func() (l struct {
	lists   map[string]map[string]bool
	hints   map[string]kind // words in names that suggest a kind
	made    map[string]kind // plain functions, and the kind of their result
	results map[string]kind // ends of paths, and the kind of their result
}) {
	var file struct {
		List               map[string]struct{ Is, Words string }
		Hint, Made, Result map[kind]string
	}
	load("words", &file)
	l.lists, l.hints, l.made, l.results = map[string]map[string]bool{}, map[string]kind{}, map[string]kind{}, map[string]kind{}
	for name, list := range file.List {
		l.lists[name] = map[string]bool{}
		for w := range strings.FieldsSeq(list.Words) {
			l.lists[name][w] = true
		}
	}
	for into, of := range map[*map[string]kind]map[kind]string{&l.hints: file.Hint, &l.made: file.Made, &l.results: file.Result} {
		for k, words := range of {
			for w := range strings.FieldsSeq(words) {
				(*into)[w] = k
			}
		}
	}
	return l
})

// onList reports whether a word is on a list.
func onList(list, word string) bool {
	words := lexicon().lists[list]
	if words == nil {
		panic("BUG: no list " + list)
	}
	return words[word]
}

// hasWord reports whether one of some words is on a list.
func hasWord(words []string, list string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return onList(list, w) })
}
