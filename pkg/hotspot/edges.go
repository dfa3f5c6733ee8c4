package hotspot

import (
	"slices"
	"strings"
)

// graph says which profiled function each statement calls. An edge must be certain
// enough to subtract the callee's time from the line: a wrong subtraction would hide a
// hotspot, a missing one counts time twice.
type graph struct {
	engine  *Engine // of the functions
	fns     []*function
	byName  map[string][]*function
	calls   map[*function]map[int][]*function // by caller and statement
	claimed map[*function]int64               // hits of the statements that call a function
}

// newGraph resolves the calls of all functions with source: first by name, then by time
// alone, then from stacks.
func newGraph(fns []*function) *graph {
	g := &graph{engine: engineOf(fns), fns: fns, byName: map[string][]*function{}, calls: map[*function]map[int][]*function{}, claimed: map[*function]int64{}}
	for i, f := range fns {
		f.at = i
		g.byName[f.last()] = append(g.byName[f.last()], f)
	}
	g.link(g.resolve)
	g.link(g.explain)
	g.stacks()
	g.withoutSource()
	g.attribute()
	return g
}

// link adds the callees that find returns for calls of statements without callees.
func (g *graph) link(find func(f *function, i int, c *Call) *function) {
	for _, f := range g.fns {
		if f.body == nil {
			continue
		}
		for i := range f.body.stmts {
			if g.calls[f][i] != nil || f.body.stmts[i].hits == 0 {
				continue
			}
			for _, c := range f.body.stmts[i].Calls {
				if callee := find(f, i, &c); callee != nil {
					g.add(f, i, callee)
				}
			}
		}
	}
}

// add records that statement i of f calls callee.
func (g *graph) add(f *function, i int, callee *function) {
	if g.calls[f] == nil {
		g.calls[f] = map[int][]*function{}
	}
	if !slices.Contains(g.calls[f][i], callee) {
		g.calls[f][i] = append(g.calls[f][i], callee)
		g.claimed[callee] += f.body.stmts[i].hits
	}
	callee.called = true
	callee.callers[f] += f.body.stmts[i].ns
}

// stacks adds the callers recorded in stacks.
func (g *graph) stacks() {
	of := map[any]*function{}
	for _, f := range g.fns {
		of[f.Function] = f
	}
	for _, f := range g.fns {
		for _, caller := range f.Callers {
			if c := of[caller]; c != nil && c != f {
				f.called = true
				f.callers[c] += 0
			}
		}
	}
}

// resolve returns the profiled function that a call in statement i of f refers to by
// name and receiver, nil if none or uncertain. Of several candidates, those in the same
// file take precedence, then the one whose hits and time match the line. nil is the
// safe answer: the callee is then a hotspot beside the line, and its time counts twice.
func (g *graph) resolve(f *function, i int, c *Call) *function {
	var fit, same []*function
	for _, callee := range g.byName[c.Name()] {
		callee.recursive = callee.recursive || callee == f && (c.Receiver() == "" || c.Receiver() == "self") && g.engine.agrees(f, f, c)
		// A callee cannot take longer, per entry, than the line that calls it.
		long := float64(callee.Ns) > callerSlack*float64(f.body.stmts[i].ns)*float64(max(1, callee.entries()))
		if callee == f || callee.Ns == 0 || callee.ofStacks() || long && callee.entries() > 0 || !g.engine.agrees(f, callee, c) {
			continue
		}
		fit = append(fit, callee)
		if callee.File == f.File {
			same = append(same, callee)
		}
	}
	if len(same) > 0 {
		fit = same
	}
	if len(fit) == 1 {
		return fit[0]
	}
	return g.closest(f, i, fit)
}

// explain returns the profiled function that a call runs, judged by hits and time, nil
// if none is certain enough. A method whose name is common, on a receiver of unknown
// class, must explain the line's time. self.attn(x) runs the forward of a class with a
// related name, or of one without a class that nothing else calls and that explains
// half of the line.
func (g *graph) explain(f *function, i int, c *Call) *function {
	receiver, all := strings.TrimRight(c.Receiver(), "[]()"), g.byName[c.Name()]
	module := len(all) == 0
	if module {
		all = g.byName["forward"]
	} else if receiver == "" || notHeld[receiver] || g.engine.held(lastName(receiver)) != nil || !onList("common", c.Name()) {
		return nil
	}
	var best *function
	for _, callee := range all {
		least := 1 - timeSlack
		if module {
			switch class := callee.class(); {
			case class != "" && related(c.Name(), class):
				least = 0
			case class == "" && !callee.called && (receiver == "self" || receiver == ""):
				least = leastCallee
			default:
				continue
			}
		}
		if s := &f.body.stmts[i]; callee != f && callee.entries() == s.hits && callee.explains(s, least) && (best == nil || callee.Ns > best.Ns) {
			best = callee
		}
	}
	return best
}

// explains reports whether a function's time can be that of a call in a statement: not
// more than the statement's, and at least the share least of it.
func (f *function) explains(s *stmt, least float64) bool {
	took := float64(f.Ns) / float64(max(1, s.ns))
	return f.Ns > 0 && !f.ofStacks() && took <= 1+timeSlack && took >= least
}

// closest returns the function, of several with the same name, that explains most of
// statement i, nil if none fits. It prefers those entered as often as the statement
// ran, and those whose entries are not all claimed by other statements.
func (g *graph) closest(f *function, i int, fit []*function) *function {
	s := &f.body.stmts[i]
	var best *function
	score := [3]float64{}
	for _, callee := range fit {
		n, took := callee.entries(), float64(callee.Ns)
		if n > s.hits && !s.many() {
			took *= float64(s.hits) / float64(n)
		}
		if took > (1+timeSlack)*float64(s.ns) {
			continue
		}
		own := [3]float64{0, 0, took}
		if g.claimed[callee] < n {
			own[0] = 1
		}
		if n == s.hits {
			own[1] = 1
		}
		if best == nil || slices.Compare(own[:], score[:]) > 0 {
			best, score = callee, own
		}
	}
	return best
}

// withoutSource finds the callers of functions by hits and times alone, for lines
// without source: the shortest line that ran as often as the function was entered, and
// that is long enough.
func (g *graph) withoutSource() {
	byHits := map[int64][]site{}
	for _, f := range g.fns {
		if f.body == nil {
			continue
		}
		for i := range f.body.stmts {
			if s := &f.body.stmts[i]; len(s.Tokens) == 0 && s.ns > 0 {
				byHits[s.hits] = append(byHits[s.hits], site{f, i})
			}
		}
	}
	for _, callee := range g.fns {
		if callee.called {
			continue
		}
		best := site{}
		for _, s := range slices.Concat(byHits[callee.entries()], byHits[callee.loopEntries()]) {
			if callee.explains(s.stmt(), leastCallee) && s.f != callee && (best.f == nil || s.stmt().ns < best.stmt().ns) {
				best = s
			}
		}
		if best.f != nil {
			if callee.body != nil {
				callee.body.entries = best.stmt().hits
			}
			g.add(best.f, best.i, callee)
		}
	}
}

// notHeld are receivers that are not objects of a profiled class.
var notHeld = wordSet("self cls super torch np F math")

// agrees reports whether a call's receiver can be the callee's. A plain call may be a
// function or a class. "self" must be of the same class or a base class; that is
// checked only if both classes are of known engines. A receiver with a known name has a
// known class. Any other must share a word with the callee's class, or the method's
// name must be rare (otherwise see explain).
func (e *Engine) agrees(f, callee *function, c *Call) bool {
	receiver := strings.TrimRight(c.Receiver(), "[]()")
	class := callee.class()
	switch {
	case receiver == "":
		return class == "" || callee.last() == "__init__" || callee.File == f.File && class == f.class()
	case receiver == "self" || receiver == "cls" || receiver == "super":
		// Methods of a base class have another class, and may be in another file.
		return class == "" && callee.File == f.File || class != "" && (class == f.class() || f.class() == "" || receiver == "super" || e.class(class) == nil || e.class(f.class()) == nil)
	case notHeld[receiver]:
		return false
	}
	last := lastName(receiver)
	if held := e.held(last); held != nil {
		if class != "" {
			return class == held.Name || slices.Contains(words(class), words(held.Name)[len(words(held.Name))-1])
		}
		return held.in(callee.File)
	}
	if class != "" && related(last, class) {
		return true
	}
	// Common names need more evidence than a name.
	return !onList("common", c.Name()) && !strings.HasPrefix(c.Name(), "__")
}

// related reports whether a variable or attribute may hold an object of a class, by its
// name: they share a word, the beginning of one, or an abbreviation.
func related(name, class string) bool {
	for _, a := range words(name) {
		for _, b := range words(class) {
			if len(a) >= 3 && len(b) >= 3 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b) || isAbbreviation(a, b)) {
				return true
			}
		}
	}
	return false
}

// isAbbreviation reports whether a's letters are in b, in order, beginning with the
// first: attn of attention.
func isAbbreviation(a, b string) bool {
	if a[0] != b[0] || len(a) >= len(b) {
		return false
	}
	for i := range len(b) {
		if len(a) > 0 && a[0] == b[i] {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// loopEntries returns how often a function without source was entered if its first line
// is a loop's header, -1 if it cannot be one.
func (f *function) loopEntries() int64 {
	if f.body != nil && len(f.body.stmts) > 1 && len(f.body.stmts[0].Tokens) == 0 {
		if n := f.body.stmts[0].hits - f.body.stmts[1].hits; n > 0 {
			return n
		}
	}
	return -1
}
