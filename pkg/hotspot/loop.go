package hotspot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/report"
)

// collections are what is gone over: of "enumerate(zip(a, b.items()))" a and b. A number
// of turns, as in range(n), is no collection.
// Names are compared as they stand, so two names of one list are two collections, and
// nothing is claimed of them.
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

// redundant finds another loop over what statement i goes over.
// Not redundant are loops within one another, those of which only one runs and a collection
// that changes between them. Of two the second could go, and
// has the finding; the first only hears of it.
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
			if j > i { // the first walk is needed
				f.confidence, f.also = "low", true
			}
			return []finding{f}
		}
	}
	return nil
}

// exclusive is whether of two statements, i ahead of j, only one runs: they are in
// different branches of one if, or the branch of the first leaves.
// All pairs of ancestors are looked at: the branches may be any number of blocks further up.
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

// leaves is whether a branch ends with a statement that goes elsewhere.
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

// changed is whether a path is assigned between two statements.
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

// loops finds that a statement is a loop in Python over many items.
// A loop whose turns take long is no cost of looping, whatever it does; a comprehension
// has no hits of its own for its turns, so only its time can tell.
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

// block is the time of a loop with all that is in it, and the hits of the statement
// right in it that ran most often: its iterations.
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
