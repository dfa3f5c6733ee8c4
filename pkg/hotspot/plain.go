package hotspot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// plain classifies by what is left: containers, helpers, arithmetic.
func (b *body) plain(i int, other []Call, often bool) []finding {
	s := &b.stmts[i]
	if s.isLoop() {
		return nil // what they cost, loops says
	}
	var found []finding
	us := s.usPerHit()
	for _, c := range other {
		switch b.kindOf(c.Receiver(), i) {
		case numpyKind, cpuKind, strKind, numberKind:
			continue
		}
		if f := b.helper(i, &c); f.kind != "" {
			found = append(found, f)
		}
	}
	if f := b.container(i, us, len(other) > 0); f.kind != "" {
		found = append(found, f)
	}
	if often && s.Keyword != "return" && len(s.Calls) == 0 && len(found) == 0 && len(s.Indexes) == 0 && len(s.Attributes) > 0 && us > propertyUs && us < plainCallUs && !hasWord(s.Operators, arithmetic) {
		found = append(found, b.property(s, us))
	}
	return found
}

// property is the finding for an attribute that takes longer than an attribute.
func (b *body) property(s *stmt, us float64) finding {
	f := finding{kind: FuncCall, confidence: "low", evidence: fmt.Sprintf("%s is a property or crosses into C++: %s per hit", short(s.Attributes[0]), report.Micros(us))}
	for _, p := range s.Attributes {
		if hasWord(words(p), boundWords) || hasWord(words(p), requestWords) {
			f.sub, f.confidence = "boundary", "medium"
		}
	}
	return f
}

// helper is the finding for a call that no indicator knows.
func (b *body) helper(i int, c *Call) finding {
	us := b.stmts[i].usPerHit()
	parts := lastWords(c.Path)
	name := c.Name()
	root, _ := splitRoot(c.Path)
	switch {
	case len(parts) == 0 || torchModules.has(root) || strongOps.has(name) || weakOps.has(name):
		return finding{}
	case name[0] >= 'A' && name[0] <= 'Z' && c.Args == 1 && len(c.Keys) == 0 && enumWords.has(parts[len(parts)-1]) && (us < cheapUs || b.stmts[i].Comprehension):
		return finding{kind: Container, sub: "enum", confidence: "medium", evidence: fmt.Sprintf("%s makes a member of an enumeration from its value", short(c.Path)), anyway: true}
	case hasWord(words(c.Receiver()), boundWords) && us < cheapUs:
		return finding{kind: FuncCall, sub: "boundary", confidence: "medium", evidence: short(c.Path) + " crosses into C++", anyway: true}
	case name[0] >= 'A' && name[0] <= 'Z':
		return finding{}
	case us > helperUs && us <= cheapUs && hasWord(lastWords(c.Receiver()), requestWords):
		return finding{kind: FuncCall, sub: "boundary", confidence: "medium", evidence: fmt.Sprintf("%s crosses into C++: %s per hit", short(c.Path), report.Micros(us))}
	case us >= 0 && us <= helperUs:
		f := finding{kind: FuncCall, confidence: "medium", evidence: fmt.Sprintf("%s does next to nothing: %s per hit", short(c.Path), report.Micros(us)), anyway: getters.has(parts[0]) && c.Args <= 1}
		if hasWord(lastWords(c.Receiver()), requestWords) {
			f.sub = "boundary"
		}
		return f
	case us <= cheapUs && getters.has(parts[0]):
		return finding{kind: FuncCall, confidence: "medium", evidence: short(c.Path) + " asks for something that is often known", anyway: c.Args == 0}
	}
	return finding{}
}

// container is the finding for containers without a call or a look-up.
func (b *body) container(i int, us float64, calls bool) finding {
	s := &b.stmts[i]
	conf := Confidence("medium")
	if calls {
		conf = "low"
	}
	switch {
	case us > cheapUs:
		return finding{}
	case slices.Contains(s.Operators, "in"):
		return finding{kind: Container, confidence: conf, evidence: "looks for a member", anyway: us > 1}
	case longChain(s):
		return finding{kind: Container, confidence: conf, evidence: "follows a chain of attributes", anyway: us > 1 || slices.ContainsFunc(s.Attributes, func(p string) bool { return strings.Count(p, ".") >= 4 })}
	case s.Display && len(s.Targets) > 0:
		return finding{kind: Container, confidence: conf, evidence: "makes a container"}
	case s.Formatted && len(s.Targets) > 0:
		return finding{kind: Container, confidence: "low", evidence: "formats a string each time"}
	}
	return finding{}
}
