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

// attribute assigns each profiled time to one place. A function's time goes to the
// lines that call it, as far as hits and times allow; the rest is its own account,
// outer. Callers come first, so that what a caller has no room for does not count for
// its callees, either. Thus the statements' own times add up to the sum of all outer,
// which is the profiled time.
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

// inOrder visits callers before the functions that they call. If functions only call
// each other, the longest comes first. called says whether a caller of f was visited.
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
		if len(ready) == 0 { // a cycle
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
		for _, callee := range callees[f] { // longest first, like all lists
			if open[callee]--; open[callee] == 0 {
				ready = append(ready, callee)
			}
		}
	}
}

// attribute subtracts f's time from the statements that call it. It sets how much of
// f's time counts: credit per ns, and outer, the time that no statement explains. A hit
// of a plain statement is at most one call, a hit of one with a comprehension any
// number. All calls are taken to be equally long, unless a statement has no room for
// that.
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
	case many || hits >= entries || f.recursive: // it is unknown which entries are its own
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
		left = 0 // due to rounding
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

// many reports whether one hit of a statement may call the same function many times.
func (s *stmt) many() bool {
	return s.Comprehension || slices.ContainsFunc(s.Tokens, func(t Token) bool { return t.Kind == Keyword && t.Text == "lambda" })
}

// own returns the time of statement i in ns, without that of profiled functions that it
// calls.
func (f *function) own(i int) int64 {
	return int64(math.Round(f.scale * max(0, float64(f.body.stmts[i].ns)-f.given[i])))
}

// inner returns the time in ns that statement i spends in profiled functions.
func (f *function) inner(i int) int64 { return int64(math.Round(f.scale * f.given[i])) }

// ofStacks reports whether a function is from stacks, which state its own time.
func (f *function) ofStacks() bool { return f.body == nil && len(f.Lines) == 0 && f.SelfNs >= 0 }

// entries returns how often a function was entered, 0 if unknown.
func (f *function) entries() int64 {
	if f.body != nil {
		return f.body.entries
	}
	return f.Entries()
}
