package hotspot

import (
	"slices"
	"strings"
	"sync"
)

// wordList is the name of a list of data/words.toml.
type wordList string

const (
	compound     wordList = "compound"
	strongOps    wordList = "strong_ops"
	weakOps      wordList = "weak_ops"
	described    wordList = "described"
	pyBuiltins   wordList = "py_builtins"
	common       wordList = "common"
	unrepeatable wordList = "unrepeatable"
	pureModules  wordList = "pure_modules"
	pureNames    wordList = "pure_names"
	stepWords    wordList = "step_words"
	wrappers     wordList = "wrappers"
	builtins     wordList = "builtins"
	arithmetic   wordList = "arithmetic"
	torchModules wordList = "torch_modules"
	layerWords   wordList = "layer_words"
	notLayers    wordList = "not_layers"
)

// lexicon is data/words.toml, read when it is first asked for: most commands never do.
var lexicon = sync.OnceValue(func() (l struct {
	lists   map[wordList]map[string]bool
	hints   map[string]kind // words in names that people give to things of a kind
	made    map[string]kind // plain functions with a kind of result
	results map[string]kind // the same of what paths end with
}) {
	var file struct {
		List               map[wordList]struct{ Is, Words string }
		Hint, Made, Result map[kind]string
	}
	load("words", &file)
	l.lists, l.hints, l.made, l.results = map[wordList]map[string]bool{}, map[string]kind{}, map[string]kind{}, map[string]kind{}
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

// has is whether a word is on the list.
func (l wordList) has(word string) bool { return lexicon().lists[l][word] }

// hasWord is whether one of some words is on a list.
func hasWord(words []string, on wordList) bool { return slices.ContainsFunc(words, on.has) }
