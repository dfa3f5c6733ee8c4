package hotspot

import (
	"math"
	"slices"
)

// site is a statement that calls a profiled function.
type site struct {
	f *function
	i int
}

// attribute gives each profiled time to one place. A function's time is that of the lines
// that call it, as far as hits and times allow, and the rest is its own account, outer.
// Callers come first, so that what a caller has no room for is no time of its callees,
// either. So the statements' own times add up to the sum of all outer, which is
// the profiled time.
func (g *graph) attribute() {
	sites := map[*function][]site{}
	for _, f := range g.fns {
		if f.body != nil {
			f.given = make([]float64, len(f.body.stmts))
		}
	}
	g.inOrder(func(f *function, called bool) {
		f.root = !called
		f.attribute(sites[f])
		if f.body == nil {
			return
		}
		for i := range f.body.stmts {
			for _, callee := range g.calls[f][i] {
				sites[callee] = append(sites[callee], site{f, i})
			}
		}
	})
}

// inOrder visits callers ahead of what they call. Of functions that only call each other the
// longest is the first. called is whether a caller of f was visited.
func (g *graph) inOrder(visit func(f *function, called bool)) {
	open := map[*function]int{}
	callees := map[*function][]*function{}
	var ready []*function
	for _, f := range g.fns {
		if open[f] = len(f.callers); open[f] == 0 {
			ready = append(ready, f)
		}
		for c := range f.callers {
			callees[c] = append(callees[c], f)
		}
	}
	done := map[*function]bool{}
	for next := 0; len(done) < len(g.fns); {
		if len(ready) == 0 { // a circle
			for done[g.fns[next]] {
				next++
			}
			ready = append(ready, g.fns[next])
		}
		f := ready[0]
		if ready = ready[1:]; done[f] {
			continue
		}
		called := false
		for c := range f.callers {
			called = called || done[c]
		}
		visit(f, called)
		done[f] = true
		for _, callee := range callees[f] { // the longest first, as all are
			if open[callee]--; open[callee] == 0 {
				ready = append(ready, callee)
			}
		}
	}
}

// attribute takes f's time off the statements that call it, and says how much of it counts:
// credit of each ns, outer in all that no statement explains.
// A hit of a plain statement is one call at most, of one with a comprehension any number.
// Calls take as long as one another, but where a statement has no room for that.
func (f *function) attribute(sites []site) {
	total, entries, hits := float64(f.Ns), float64(f.entries()), 0.0
	f.credit, f.scale = 0, 0
	switch {
	case f.ofStacks():
		f.outer, f.credit, f.scale = float64(f.SelfNs), 1, 1
		return
	case total <= 0:
		return
	}
	many := false
	for _, s := range sites {
		hits += float64(s.stmt().hits)
		many = many || s.stmt().many()
	}
	here := 0.0 // time of calls that the sites made
	switch {
	case len(sites) == 0:
	case many || hits >= entries || f.recursive: // of its entries nobody knows which are its own
		here = total
	default:
		here = total * hits / entries
	}
	left, credited := here, 0.0
	take := func(s site, ns float64) {
		ns = min(ns, max(0, float64(s.stmt().ns)-s.f.given[s.i]), left)
		s.f.given[s.i] += ns
		left -= ns
		credited += ns * s.f.scale
	}
	for _, s := range sites {
		take(s, here*float64(s.stmt().hits)/hits)
	}
	for _, s := range sites {
		take(s, left)
	}
	if left <= timeSlack*total {
		left = 0 // rounded numbers
	}
	f.outer = total - here + left
	f.credit = (credited + f.outer) / total
	f.scale = f.credit
	if f.body != nil {
		lines := 0.0
		for i := range f.body.stmts {
			lines += float64(f.body.stmts[i].ns)
		}
		if lines > total {
			f.scale *= total / lines
		}
	}
}

func (s site) stmt() *stmt { return &s.f.body.stmts[s.i] }

// many is whether one hit of a statement may call the same function many times.
func (s *stmt) many() bool {
	return s.Comprehension || slices.ContainsFunc(s.Tokens, func(t Token) bool { return t.Kind == Keyword && t.Text == "lambda" })
}

// own is the time of statement i without that of profiled functions that it calls; inner is
// that time.
func (f *function) own(i int) int64 {
	return int64(math.Round(f.scale * max(0, float64(f.body.stmts[i].ns)-f.given[i])))
}

func (f *function) inner(i int) int64 { return int64(math.Round(f.scale * f.given[i])) }

// ofStacks is whether a function is known by stacks, which know its own time.
func (f *function) ofStacks() bool { return f.body == nil && len(f.Lines) == 0 && f.SelfNs >= 0 }

// entries is how often a function was entered, 0 not known.
func (f *function) entries() int64 {
	if f.body != nil {
		return f.body.entries
	}
	return f.Entries()
}
