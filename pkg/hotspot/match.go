package hotspot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// finding is a type that a line may have, and why. Detectors return those that hold, in any
// order; classify puts them in the order of triage.
type finding struct {
	kind       Type
	sub        string
	confidence Confidence
	evidence   string
	anyway     bool // it counts where it is not repeated, too
	also       bool // it is worth a word, and never the first
}

// confidences from the lowest.
var confidences = []Confidence{"low", "medium", "high"}

// lower is the next lower confidence, and the lowest of itself.
func (c Confidence) lower() Confidence {
	return confidences[max(0, slices.Index(confidences, c)-1)]
}

// calls matches the calls of statement i with the indicators. Of each call the first
// indicator that holds counts. Refused says which would hold but for the time, and
// other are the calls that nothing is known of.
func (b *body) calls(i int) (found []finding, refused []string, other []Call) {
	s := &b.stmts[i]
	us := s.usPerHit()
	for at, c := range s.sites() {
		known := false
		path := bare.Replace(c.Path)
		for _, ind := range Knowledge().named(lastName(path)) {
			if !ind.matches(&c, path) || !ind.fits(b, &c, i) {
				continue
			}
			known = ind.name == nil // what is known by what its name is like may hide more
			if ind.MostUs > 0 && us > ind.MostUs {
				continue // no such call takes as long
			}
			if ind.LeastUs > 0 && us >= 0 && us < ind.LeastUs/2 {
				refused = append(refused, fmt.Sprintf("%s takes %s per hit, too short to wait for the GPU or to matter", c.said(), report.Micros(us)))
				continue
			}
			f := finding{kind: ind.Type, sub: ind.Sub, confidence: ind.Confidence, evidence: c.said() + " " + ind.Why, anyway: ind.Anyway}
			switch {
			case ind.LeastUs > 0 && us < ind.LeastUs: // unknown, too
				f.confidence = f.confidence.lower()
			case ind.LeastUs > 0:
				f.evidence += fmt.Sprintf(": %s per hit", report.Micros(us))
			}
			found = append(found, f)
			break
		}
		if !known && at < len(s.Calls) {
			other = append(other, c)
		}
	}
	return found, refused, other
}

// sites are what indicators are matched with: the calls of a statement, its subscripts as calls of
// __getitem__ or __setitem__, and what it enters as calls of __enter__, as Python has it. What a
// loop goes over is none.
func (s *stmt) sites() []Call {
	all := slices.Clip(s.Calls)
	if s.isLoop() {
		return all
	}
	for _, x := range s.Indexes {
		method := ".__getitem__"
		if slices.Contains(s.Targets, x.Path+"[]") {
			method = ".__setitem__"
		}
		all = append(all, Call{Path: x.Path + method, Args: 1, First: x.Text, Text: x.Text})
	}
	if s.Keyword == "with" {
		for _, path := range slices.Concat(s.Attributes, s.Names) {
			all = append(all, Call{Path: path + ".__enter__"})
		}
	}
	return all
}

// said is a call as a line has it.
func (c *Call) said() string {
	switch c.Name() {
	case "__getitem__", "__setitem__":
		return short(c.Receiver()) + "[" + short(c.Text) + "]"
	case "__enter__":
		return short(c.Receiver())
	}
	return short(c.Path)
}

// bare takes from a path what is called and indexed on the way.
var bare = strings.NewReplacer("()", "", "[]", "")

// lastName is what follows the last dot of a path.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// matches is whether a call has one of the names; path is its bare path.
func (ind *Indicator) matches(c *Call, path string) bool {
	for _, name := range ind.Calls {
		if path == name || !onList("builtins", name) && strings.HasSuffix(path, name) && path[len(path)-len(name)-1] == '.' {
			return true
		}
	}
	if ind.name != nil {
		return ind.name.MatchString(c.Name()) && !c.ofTensors()
	}
	return c.Receiver() != "" && slices.Contains(ind.Methods, c.Name())
}

// fits is whether a call's receiver and arguments are those of the indicator.
func (ind *Indicator) fits(b *body, c *Call, i int) bool {
	receiver, s := c.Receiver(), &b.stmts[i]
	if ind.name != nil && s.isLoop() { // what loops cost, they say
		return false
	}
	if ind.Args != nil && c.Args > *ind.Args {
		return false
	}
	text := strings.ReplaceAll(c.Text, `"`, "'")
	if ind.argument != nil && !ind.argument.MatchString(text) || ind.without != nil && ind.without.MatchString(text) {
		return false
	}
	if len(ind.Keywords) > 0 && !slices.Contains(ind.Keywords, s.Keyword) {
		return false
	}
	if len(ind.First) > 0 && !slices.Contains(ind.First, b.kindOfText(c.First, i)) {
		return false
	}
	if len(ind.Receivers) > 0 && !slices.ContainsFunc(lastWords(receiver), func(w string) bool {
		return slices.ContainsFunc(ind.Receivers, func(r string) bool { return begins(w, r) })
	}) {
		return false
	}
	if slices.ContainsFunc(words(receiver), func(w string) bool { return slices.Contains(ind.But, w) }) {
		return false
	}
	if receiver == "" {
		return true
	}
	k := b.kindOf(receiver, i)
	if len(ind.Kinds) == 0 { // what is named as a queue may be a dict
		return len(ind.Receivers) == 0 || !plainKinds[k]
	}
	return slices.Contains(ind.Kinds, k) ||
		slices.Contains(ind.Kinds, "named") && (k == cpuKind || k == numpyKind) && b.named(receiver, i)
}

// plainKinds are Python's own containers and values, which never wait.
var plainKinds = map[kind]bool{listKind: true, dictKind: true, setKind: true, strKind: true, numberKind: true}

// lastWords are the words of the last name of a path.
func lastWords(path string) []string {
	return words(lastName(strings.TrimRight(path, "[]()")))
}

// begins is whether a word is r, or for longer ones begins with it.
func begins(word, r string) bool { return word == r || len(r) >= 4 && strings.HasPrefix(word, r) }

// short is a path that fits a sentence.
func short(path string) string {
	if r := []rune(path); len(r) > 60 {
		return "..." + string(r[len(r)-57:])
	}
	return path
}
