package hotspot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// finding is a type that a line may have, and the evidence. Detectors return findings
// in any order; classify sorts them.
type finding struct {
	kind       Type
	sub        string
	confidence Confidence
	evidence   string
	anyway     bool // counts even if the line is not repeated
	also       bool // only accompanies another finding, never comes first
}

// confidences, lowest first.
var confidences = []Confidence{"low", "medium", "high"}

// lower returns the next lower confidence; the lowest stays.
func (c Confidence) lower() Confidence {
	return confidences[max(0, slices.Index(confidences, c)-1)]
}

// calls matches the calls of statement i with the indicators. The first indicator that
// holds for a call counts. refused says which would hold except for the time; other are
// the calls about which nothing is known.
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
			known = ind.name == nil // a call known only by a name pattern may hide more
			if ind.MostUs > 0 && us > ind.MostUs {
				continue // no such call takes that long
			}
			if ind.LeastUs > 0 && us >= 0 && us < ind.LeastUs/2 {
				refused = append(refused, fmt.Sprintf("%s takes %s per hit, too short to wait for the GPU or to matter", c.said(), report.Micros(us)))
				continue
			}
			f := finding{kind: ind.Type, sub: ind.Sub, confidence: ind.Confidence, evidence: c.said() + " " + ind.Why, anyway: ind.Anyway}
			switch {
			case ind.LeastUs > 0 && us < ind.LeastUs: // or unknown
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

// sites returns what indicators are matched with: the calls of a statement, its
// subscripts as calls of __getitem__ or __setitem__, and context managers as calls of
// __enter__. What a loop iterates over is excluded.
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

// said returns a call as the line has it.
func (c *Call) said() string {
	switch c.Name() {
	case "__getitem__", "__setitem__":
		return short(c.Receiver()) + "[" + short(c.Text) + "]"
	case "__enter__":
		return short(c.Receiver())
	}
	return short(c.Path)
}

// bare removes calls and subscripts from a path.
var bare = strings.NewReplacer("()", "", "[]", "")

// lastName returns the part of a path after its last dot.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// matches reports whether a call has one of the names; path is its bare path.
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

// fits reports whether a call's receiver and arguments meet the indicator's conditions.
func (ind *Indicator) fits(b *body, c *Call, i int) bool {
	receiver, s := c.Receiver(), &b.stmts[i]
	if ind.name != nil && s.isLoop() { // other detectors cover loops
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
	if len(ind.Kinds) == 0 { // a name like queue may belong to a dict
		return len(ind.Receivers) == 0 || !plainKinds[k]
	}
	return slices.Contains(ind.Kinds, k) ||
		slices.Contains(ind.Kinds, "named") && (k == cpuKind || k == numpyKind) && b.named(receiver, i)
}

// plainKinds are Python's own containers and values, which never wait.
var plainKinds = map[kind]bool{listKind: true, dictKind: true, setKind: true, strKind: true, numberKind: true}

// lastWords returns the words of the last name of a path.
func lastWords(path string) []string {
	return words(lastName(strings.TrimRight(path, "[]()")))
}

// begins reports whether a word is r, or begins with r if r is long enough.
func begins(word, r string) bool { return word == r || len(r) >= 4 && strings.HasPrefix(word, r) }

// short returns a path that fits a sentence.
func short(path string) string {
	if r := []rune(path); len(r) > 60 {
		return "..." + string(r[len(r)-57:])
	}
	return path
}
