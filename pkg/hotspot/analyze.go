package hotspot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/report"
)

// Analyze classifies the hot lines of profiles. The profiles are ranks of one run, of
// which the longest time of each function counts, or parts of a run (see Options).
func Analyze(profiles []*lineprof.Profile, o Options) *Report {
	r := &Report{Profiles: []Profile{}, Functions: []Function{}, Hotspots: []Hotspot{}, DrillDown: []DrillDown{}, Warnings: warnings(profiles), ranks: len(profiles) > 1 && !o.Sum}
	fns := merge(profiles, o.Sum)
	for i, f := range fns {
		if i < maxBodies && f.Ns > 0 && len(f.Lines) > 0 {
			f.body = bodyOf(newCode(f.Function))
		}
	}
	if len(fns) > maxBodies {
		r.warn("only the longest %[2]d of %[1]d functions were analysed", len(fns), maxBodies)
	}
	g := newGraph(fns)
	for _, f := range fns {
		if f.recursive {
			r.warn("%s calls itself: the time of its lines includes nested calls, and hits are those of all depths", f.Name)
		}
	}
	for _, f := range fns {
		r.ProfiledNs = lineprof.Add(r.ProfiledNs, int64(math.Round(f.outer)))
	}
	st := &steps{layers: o.Layers}
	st.number, st.from = findSteps(g, o)
	r.TotalUs, r.Steps, r.StepsFrom = float64(r.ProfiledNs)/1e3, st.number, st.from
	r.fns = fns
	r.addProfiles(profiles, g)
	for _, f := range g.fns {
		r.Functions = append(r.Functions, Function{Function: f.Name, File: f.File, Line: f.Line, TotalUs: float64(f.Ns) / 1e3, Hits: f.entries(), Share: r.share(int64(f.credit * float64(f.Ns))), Root: f.root, PerProfileUs: f.per})
	}
	r.addHotspots(g, st)
	r.drill(g, st)
	without := 0
	for _, f := range fns {
		if f.body == nil {
			continue
		}
		empty := func(s stmt) bool { return len(s.Tokens) == 0 } // a line with hits, but no code
		switch k := slices.IndexFunc(f.body.stmts, empty); {
		case !slices.ContainsFunc(f.body.stmts, func(s stmt) bool { return !empty(s) }):
			without++
		case k >= 0:
			r.warn("%s has hits on line %d, where its source has no code: another version ran, so lines and kinds of waste are wrong. Give the source that ran (--source), or profile again and change nothing until the profile is printed", f.Name, f.body.number(k))
		}
	}
	if without > 0 {
		r.warn("the source of %s is missing, so their kinds of waste are unknown, and the time of what they call may count twice: give --source DIR", report.Counted(without, "function"))
	}
	return r
}

// warn adds a warning, a sentence without a full stop.
func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// findSteps returns the number of forward steps profiled, and where it is from. It tries
// the option, the entries of a function that the engine runs once per step, and then the
// outermost functions. If the longest of these was entered once or twice, the iterations
// of its main loop count; otherwise the entries of the most regular one.
//
// One or two of these are not taken for steps: they may be a warm-up and a loop. number
// is 0 if unknown; then nothing is given per step.
func findSteps(g *graph, o Options) (number int64, from string) {
	if o.Steps > 0 {
		return o.Steps, "option"
	}
	for _, name := range g.engine.Steps {
		for _, f := range g.byName[name] {
			if f.body != nil && f.body.entries > 1 {
				return f.body.entries, f.Name
			}
		}
	}
	outermost := func(f *function) bool { return f.body != nil && f.root }
	if i := slices.IndexFunc(g.fns, outermost); i >= 0 { // the longest
		if f := g.fns[i]; f.body.entries > 0 && f.body.entries <= 2 && f.body.mainLoop() > 2 {
			return f.body.mainLoop(), f.Name
		}
	}
	if f := g.regular(); f != nil {
		return f.body.entries, f.Name
	}
	return 0, ""
}

// regular returns the outermost function whose number of entries is the most common, nil
// if there is none. Among equally common numbers it prefers one that divides the others:
// what runs per layer runs many times per step. Next it prefers the longest function. A
// function named after a layer or a request counts only if no other does.
func (g *graph) regular() *function {
	alike := map[int64]int{}
	for _, f := range g.fns {
		if f.body != nil && f.Ns > 0 {
			alike[f.body.entries]++
		}
	}
	var best *function
	named := func(f *function) bool { return f.body.perLayerCode() }
	better := func(a, b *function) bool {
		m, n := a.body.entries, b.body.entries
		switch {
		case named(a) != named(b):
			return named(b)
		case alike[m] != alike[n]:
			return alike[m] > alike[n]
		}
		return m < n && n%m == 0
	}
	for _, f := range g.fns {
		if f.body != nil && f.root && f.body.entries > 2 && (best == nil || better(f, best)) {
			best = f
		}
	}
	return best
}

// mainLoop returns how often the loop with most of the time ran, 0 if there is none.
func (b *code) mainLoop() int64 {
	best, most := int64(0), int64(0)
	for i := range b.stmts {
		s := &b.stmts[i]
		if !s.isLoop() || s.loop >= 0 {
			continue
		}
		if ns, hits := b.block(i); ns > most {
			most, best = ns, hits
		}
	}
	return best
}

// addProfiles describes the inputs. The total of a profile is the time that no line of
// another profiled function explains, so nothing counts twice. A function missing from a
// profile has nil in per, not 0.
func (r *Report) addProfiles(profiles []*lineprof.Profile, g *graph) {
	for at, p := range profiles {
		info := Profile{Name: p.Name, Format: string(p.Format)}
		if p.Unit > 0 {
			info.UnitS = &p.Unit
		}
		for _, f := range g.fns {
			if f.per[at] != nil {
				info.Functions++
				info.TotalUs += *f.per[at] * f.outer / float64(max(1, f.Ns))
			}
		}
		r.Profiles = append(r.Profiles, info)
	}
}

// share returns a time, in ns, as a share of the profiled time.
func (r *Report) share(ns int64) float64 {
	if r.ProfiledNs <= 0 {
		return 0
	}
	return float64(ns) / float64(r.ProfiledNs)
}

// addHotspots makes the hotspots of all functions, sorted by own time, longest first.
// Those below the least share are dropped, or if all are, those after the first [thin].
func (r *Report) addHotspots(g *graph, st *steps) {
	for _, f := range g.fns {
		switch {
		case f.Ns == 0:
		case f.body != nil:
			r.addLines(g, f, st)
		case len(f.Lines) == 0:
			r.addWhole(f, st)
		}
	}
	slices.SortStableFunc(r.Hotspots, func(a, b Hotspot) int { return cmp.Compare(b.TimeUs, a.TimeUs) })
	most := slices.IndexFunc(r.Hotspots, func(h Hotspot) bool { return h.Share < leastShare })
	switch {
	case most == 0: // time is spread thin
		most = thin
	case most < 0:
		most = len(r.Hotspots)
	}
	r.Hotspots = r.Hotspots[:min(most, len(r.Hotspots))]
	for i := range r.Hotspots {
		r.Hotspots[i].advise(g.engine, st)
	}
}

// addLines makes the hotspots of a function: statements without the time of the
// profiled functions that they call, and loops with the plain lines in them. Each
// statement's time is in one hotspot: its own, or its loop's (owners). A callee's time
// is excluded, since it has hotspots of its own. So hotspots add up to the profiled
// time, except for lines below the least share.
func (r *Report) addLines(g *graph, f *function, st *steps) {
	b := f.body
	owner := b.owners(st)
	for i := range b.stmts {
		if b.stmts[i].hits == 0 || owner[i] != i {
			continue
		}
		ns, last := int64(0), i
		for j := i; j < len(b.stmts); j++ {
			if owner[j] == i {
				ns, last = lineprof.Add(ns, f.own(j)), j
			}
		}
		if ns <= 0 {
			continue
		}
		h := b.hotspot(i, ns, st)
		callees := g.calls[f][i]
		if h.Sub == Opaque && (len(callees) > 0 || f.recursive) {
			if call := g.hiding(f, i); call != nil {
				h.Evidence[0] = fmt.Sprintf("the time is spent inside %s, which was not profiled", short(call.Path))
			} else {
				h.Sub, h.Evidence[0] = "", "what calls take beyond the lines of what they call, the profiler's time on these included"
			}
		}
		h.Share = r.share(ns)
		if last > i {
			h.Line, h.LastLine = b.number(i), b.fn.Lines[b.stmts[last].Last].Number
			h.Evidence = append(h.Evidence, fmt.Sprintf("includes the plain lines of its body, up to line %d", h.LastLine))
		}
		if len(callees) > 0 && f.inner(i) > 0 {
			h.Evidence = append(h.Evidence, fmt.Sprintf("excludes %s in %s, which is profiled itself", report.Micros(float64(f.inner(i))/1e3), callees[0].Name))
		}
		r.Hotspots = append(r.Hotspots, h)
	}
}

// owners returns for each statement the statement whose hotspot it belongs to: itself,
// or the Python loop around it. A plain loop and the plain lines of its body are one
// thing to change. Lines in it with their own type, such as a wait, do not belong to
// it.
func (b *body) owners(st *steps) []int {
	looped := map[int]bool{}
	for i := range b.stmts {
		if b.stmts[i].isLoop() && b.stmts[i].hits > 0 {
			first := b.classify(i, NoScope, st)[0]
			looped[i] = first.kind == PyLoop || first.kind == RedundantIter
		}
	}
	owner := make([]int, len(b.stmts))
	for i := range b.stmts {
		owner[i] = i
		if at := b.stmts[i].loop; at >= 0 && looped[at] && !looped[i] && b.belongs(i, st) {
			owner[i] = at
		}
	}
	return owner
}

// belongs reports whether a statement in a loop is plain Python and thus part of the
// loop's cost. A line of real work, of 5 us or more each time, would also be needed
// without the Python loop: counting it would overstate the savings of merging loops.
func (b *body) belongs(i int, st *steps) bool {
	s := &b.stmts[i]
	if s.hits == 0 {
		return false
	}
	first := b.classify(i, NoScope, st)[0]
	if first.sub == "enum" { // its remedy has nothing to do with the loop
		return false
	}
	switch first.kind {
	case Container, FuncCall, RedundantIter, PyLoop:
		return !s.Comprehension && !s.isLoop()
	}
	return first.kind == Compute && s.usPerHit() < realUs
}

// addWhole makes the hotspot of a function without lines: its own time, classified by
// its name.
func (r *Report) addWhole(f *function, st *steps) {
	ns := int64(math.Round(f.credit * float64(f.Ns)))
	if f.ofStacks() {
		ns = int64(math.Round(f.outer))
	}
	if ns <= 0 {
		return
	}
	h := Hotspot{Function: f.Name, File: f.File, Line: f.Line, LastLine: f.Line, Scope: NoScope,
		Cost: Cost{TimeUs: float64(ns) / 1e3, Share: r.share(ns), Hits: max(0, f.Calls)}}
	h.ShareOfFunction = float64(ns) / float64(max(1, f.Ns))
	h.fill(st)
	h.classified(byName(f))
	r.Hotspots = append(r.Hotspots, h)
}

// byName classifies a function by its module and name, as a call with that name would be.
// A name does not show what a function spends its time on. So the confidence is low, and
// only waits, serialization, allocations and garbage collection are accepted.
func byName(f *function) []finding {
	module := strings.TrimSuffix(strings.TrimSuffix(f.File, ".py"), "/__init__")
	path := strings.ReplaceAll(module, "/", ".") + "." + f.Name
	b := bodyOf(&code{fn: f.Function, stmts: []stmt{{Statement: Statement{Calls: []Call{{Path: strings.Trim(path, ".")}}}}}})
	found, _, _ := b.calls(0)
	believed := []Type{Comm, GIL, Serialize, Alloc, GC, Sync}
	found = slices.DeleteFunc(found, func(x finding) bool { return !slices.Contains(believed, x.kind) })
	for i := range found {
		found[i].confidence = "low"
		found[i].evidence += ", by its name alone"
	}
	if len(found) == 0 {
		found = []finding{{kind: Compute, confidence: "low", evidence: "a function without lines: profile it with line_profiler"}}
	}
	return found
}
