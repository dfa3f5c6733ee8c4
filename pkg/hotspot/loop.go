package hotspot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/report"
)

// collections returns what is iterated over: a and b in "enumerate(zip(a, b.items()))".
// A number of iterations, as in range(n), is not a collection. Names are compared as
// text, so two names for one list count as two collections, and nothing is concluded.
func collections(over []Token) (all []string) {
	n := len(over)
	if n > 2 && onList("wrappers", over[0].Text) && over[1].Text == "(" && over[n-1].Text == ")" {
		for _, arg := range split(over[2 : n-1]) {
			if over[0].Text != "range" || len(arg) > 1 && arg[0].Text == "len" && arg[1].Text == "(" {
				all = append(all, collections(arg)...)
			}
		}
		return all
	}
	if n == 0 || over[0].Kind != Name {
		return nil
	}
	text := Text(over)
	for _, suffix := range []string{".items()", ".keys()", ".values()", ".copy()"} {
		text = strings.TrimSuffix(text, suffix)
	}
	return []string{text}
}

// redundant finds another loop over the collection of statement i. Not redundant are
// nested loops, loops of which only one runs, and collections that change in between.
// Of two loops the second could go, and gets the finding; the first only gets a weak
// one.
func (b *body) redundant(i int) []finding {
	s := &b.stmts[i]
	for _, over := range s.over {
		for _, j := range b.overBy[over] {
			if j == i || b.stmts[j].hits == 0 {
				continue
			}
			if b.inside(i, j) || b.inside(j, i) || b.changed(over, min(i, j), max(i, j)) || b.exclusive(min(i, j), max(i, j)) {
				continue
			}
			f := finding{kind: RedundantIter, confidence: "high", evidence: fmt.Sprintf("line %d also iterates over %s", b.number(j), short(over))}
			if j > i { // the first loop is needed
				f.confidence, f.also = "low", true
			}
			return []finding{f}
		}
	}
	return nil
}

// exclusive reports whether only one of two statements runs; i precedes j. They are in
// different branches of one if, or the branch of the first leaves. It compares all
// pairs of ancestors, as the branches may be any number of blocks up.
func (b *code) exclusive(i, j int) bool {
	for x := i; x >= 0; x = b.stmts[x].parent {
		if p := b.stmts[x].parent; p >= 0 && onList("compound", b.stmts[p].Keyword) && !b.inside(j, p) && b.leaves(p) {
			return true
		}
		for y := j; y >= 0; y = b.stmts[y].parent {
			if b.stmts[x].parent != b.stmts[y].parent || x == y {
				continue
			}
			k := b.stmts[y].Keyword
			return k == "elif" || k == "else" || k == "except"
		}
	}
	return false
}

// leaves reports whether a branch ends with a statement that goes elsewhere.
func (b *code) leaves(p int) bool {
	last := p
	for j := p + 1; j < len(b.stmts) && b.stmts[j].Indent > b.stmts[p].Indent; j++ {
		if b.stmts[j].parent == p {
			last = j
		}
	}
	switch b.stmts[last].Keyword {
	case "return", "raise", "continue", "break":
		return !b.stmts[p].isLoop() && b.stmts[p].Keyword != "with"
	}
	return false
}

// changed reports whether a path is assigned between two statements.
func (b *code) changed(path string, i, j int) bool {
	between := func(target string) bool {
		set := b.setBy[target]
		at, _ := slices.BinarySearch(set, i+1)
		return at < len(set) && set[at] < j
	}
	for k, c := range []byte(path) {
		if c == '.' && between(path[:k]) {
			return true
		}
	}
	root, _ := splitRoot(path)
	return between(path) || between(root)
}

// loops finds a Python loop over many items. A loop with long iterations is not looping
// overhead, whatever it does. A comprehension has no hits for its iterations, so only
// its time shows them.
func (b *body) loops(i int) []finding {
	s := &b.stmts[i]
	switch {
	case s.isLoop():
		n := b.iterations(i)
		if n < someItems {
			return nil
		}
		ns, hits := b.block(i)
		us := float64(ns) / 1e3 / float64(max(hits, 1))
		if us > plainUs {
			return nil
		}
		f := finding{kind: PyLoop, confidence: "medium", evidence: fmt.Sprintf("%.0f iterations each time, %s each", n, report.Micros(us))}
		if n > manyItems {
			f.confidence = "high"
		}
		return []finding{f}
	case s.Comprehension:
		us := s.usPerHit()
		if us >= 0 && us < emptyUs {
			return nil
		}
		f := finding{kind: PyLoop, confidence: "medium", evidence: "a comprehension"}
		if us > 0 {
			f.evidence += fmt.Sprintf(" that takes %s each time", report.Micros(us))
		}
		return []finding{f}
	}
	return nil
}

// block returns the time of a loop with everything in it, in ns, and the most hits of a
// statement directly in it: its iterations.
func (b *code) block(i int) (ns, hits int64) {
	ns = b.stmts[i].ns
	for j := i + 1; j < len(b.stmts) && b.inside(j, i); j++ {
		ns = lineprof.Add(ns, b.stmts[j].ns)
		if b.stmts[j].parent == i {
			hits = max(hits, b.stmts[j].hits)
		}
	}
	return ns, hits
}
