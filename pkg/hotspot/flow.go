package hotspot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/stat"
)

// flow tracks what statements make, read and change.
type flow struct {
	*code
	*kinds
	pace
}

// dead finds that the result of statement i is rarely read. It finds nothing if a
// nested function reads the names: hits do not show when that runs. The count is an
// upper bound: a line that reads a name may do so on one of its branches only.
func (b flow) dead(i int) []finding {
	s := &b.stmts[i]
	names := b.makes(i)
	if len(names) == 0 || reads(s, names) { // it accumulates
		return nil
	}
	most, line, conf := int64(0), 0, Confidence("high")
	for _, j := range b.readers(names) {
		o := &b.stmts[j]
		if j == i || j < i && (s.loop < 0 || !b.inside(j, s.loop)) {
			continue
		}
		if o.Indent < 0 || insideDef(b.code, j) {
			return nil
		}
		if b.guards(j, names) {
			conf = "medium" // what the test needs of it is unknown
		} else if o.hits > most || line == 0 {
			most, line = o.hits, b.number(j)
		}
	}
	if line == 0 || float64(most) > rarely*float64(s.hits) { // what nothing reads may be made for its side effects
		return nil
	}
	return []finding{{kind: DeadWork, confidence: conf, evidence: fmt.Sprintf("%s is made %d times and needed at most %d times (line %d)", short(strings.Join(names, ", ")), s.hits, most, line)}}
}

// readers returns the statements that read one of names, in order.
func (b *code) readers(names []string) []int {
	var all []int
	for _, name := range names {
		all = append(all, b.readBy[name]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// makes returns the local names to which a statement assigns a computed value.
func (b flow) makes(i int) []string {
	s := &b.stmts[i]
	if s.Keyword != "" || s.hits == 0 || len(s.Calls) == 0 && !s.Comprehension && !s.Display && len(s.Indexes) == 0 && !s.Formatted {
		return nil
	}
	for _, name := range s.Targets {
		if strings.ContainsAny(name, ".[") || strings.HasPrefix(name, "_") || slices.Contains(s.Operators, ":=") {
			return nil
		}
	}
	return s.Targets
}

// reads reports whether a statement reads one of some names.
func reads(s *stmt, names []string) bool {
	return slices.ContainsFunc(s.Names, func(n string) bool { return slices.Contains(names, n) })
}

// insideDef reports whether a statement is in, or begins, a nested function: it is
// unknown when that runs.
func insideDef(b *code, j int) bool {
	for p := j; p >= 0; p = b.stmts[p].parent {
		if b.stmts[p].Keyword == "def" && b.stmts[p].parent >= 0 {
			return true
		}
	}
	return false
}

// hoistable finds a statement in a loop of which nothing that it reads changes there.
// Calls whose names indicate a new result each time, or a side effect, never qualify;
// pure calls are certain. Outside loops, a line that runs per layer may be the same for
// the whole step, which only names can show.
func (b flow) hoistable(i int, sc Scope) []finding {
	s := &b.stmts[i]
	if s.Keyword != "" && s.Keyword != "if" || len(s.Calls) == 0 && !longChain(s) {
		return nil
	}
	for _, c := range s.Calls {
		if hasWord(lastWords(c.Path), "unrepeatable") {
			return nil
		}
	}
	if s.loop >= 0 && s.Keyword == "" && len(s.Targets) > 0 && b.stmts[s.loop].Keyword == "for" && b.invariant(i) {
		loop := &b.stmts[s.loop]
		if n := b.iterations(s.loop); (n < 0 || n >= 2) && stat.MostOf(s.hits, loop.hits) {
			f := finding{kind: Hoist, confidence: "high", evidence: fmt.Sprintf("nothing it reads changes in the loop at line %d", b.number(s.loop))}
			if !pure(s) {
				// It may count, draw or advance something each time; the longer it
				// takes, the likelier.
				f.confidence, f.also = "medium", s.usPerHit() > plainCallUs
			}
			return []finding{f}
		}
	}
	if us := s.usPerHit(); sc == PerLayer && s.loop < 0 && len(s.Targets) > 0 && (us < 0 || us > helperUs) && stepWide(s) {
		return []finding{{kind: Hoist, confidence: "medium", evidence: "runs once per layer, and reads only what is the same for the whole step"}}
	}
	return nil
}

// pure reports whether the names of all calls of a statement suggest that they only
// query or compute.
func pure(s *stmt) bool {
	for _, c := range s.Calls {
		root, _ := splitRoot(c.Path)
		first := append(lastWords(c.Path), "")[0]
		if !onList("pure_modules", root) && !onList("pure_names", first) {
			return false
		}
	}
	return true
}

// longChain reports whether a statement follows at least three attributes in a row.
func longChain(s *stmt) bool {
	return slices.ContainsFunc(s.Attributes, func(p string) bool { return strings.Count(p, ".") >= 3 })
}

// invariant reports whether no name that a statement reads is set in its loop. Set are
// targets of statements and loops, attributes of self by path, and receivers of calls
// that change them. A statement that reads what it assigns accumulates.
func (b flow) invariant(i int) bool {
	loop := b.stmts[i].loop
	if len(b.stmts[i].Targets) == 1 && slices.Contains(b.stmts[i].Names, b.stmts[i].Targets[0]) {
		return false
	}
	byOther := func(name string) bool {
		by := b.changedBy[name]
		at, _ := slices.BinarySearch(by, loop)
		for _, j := range by[at:min(at+2, len(by))] { // if neither of the first two is another one in the loop, none is
			if j != i && (j == loop || b.inside(j, loop)) {
				return true
			}
		}
		return false
	}
	if slices.ContainsFunc(b.stmts[i].Names, byOther) {
		return false
	}
	for _, path := range b.stmts[i].Attributes {
		for k := range len(path) { // self.a.b changes with self.a and self.a.b[], as self.ab does
			if prefix := path[:k+1]; strings.HasPrefix(prefix, "self.") && (byOther(prefix) || byOther(prefix+"[]")) {
				return false
			}
		}
	}
	return true
}

// stepWide reports whether a statement reads only what all layers of a step share:
// names of step metadata, the object's configuration, or constants. At least one name
// must be step metadata; a name that is neither that nor local, or a path that mentions
// a layer, excludes it. This is a guess by names; the finding's confidence reflects
// that.
func stepWide(s *stmt) bool {
	shared := false
	local := map[string]bool{"self": true, "torch": true, "math": true, "np": true, "F": true, "os": true}
	for _, l := range s.Loops {
		for _, name := range l.Targets {
			local[name] = true
		}
	}
	for _, c := range s.Calls {
		root, rest := splitRoot(c.Path)
		local[root] = local[root] || rest == "" // functions are not data
		shared = shared || strings.HasPrefix(c.Path, "os.")
	}
	for _, name := range s.Names {
		switch {
		case hasWord(words(name), "step_words") && !local[name]:
			shared = true
		case !local[name]:
			return false
		}
	}
	for _, path := range s.Attributes {
		if hasWord(words(path), "layer_data") {
			return false
		}
	}
	return shared
}

// guards reports whether statement j is a branch, rarely taken, that tests one of the
// names and reads it inside: the test asks whether the value is needed, and the branch
// shows how often it was. Every statement of the branch must be as rare.
func (b flow) guards(j int, names []string) bool {
	o := &b.stmts[j]
	within := false
	for k := range b.stmts {
		if k == j || !b.inside(k, j) {
			continue
		}
		if float64(b.stmts[k].hits) > rarely*float64(o.hits) {
			return false
		}
		within = within || reads(&b.stmts[k], names)
	}
	return within && (o.Keyword == "if" || o.Keyword == "elif")
}
