package hotspot

import (
	"cmp"
	"slices"
	"strings"
)

// drill finds the lines that hide where the time goes, and what to profile next.
func (r *Report) drill(g *graph, st *steps) {
	next := []string{}
	for _, f := range g.fns {
		if f.body == nil || r.share(f.Ns) < leastDrilled {
			continue
		}
		for i := range f.body.stmts {
			s := &f.body.stmts[i]
			if float64(s.ns) <= hidden*float64(f.Ns) && !r.opaque(f, i, st) {
				continue
			}
			d, targets, ok := g.drillDown(f, i)
			if !ok {
				continue
			}
			d.Share, d.ShareOfFunction = r.share(f.own(i)), float64(s.ns)/float64(f.Ns)
			if d.Profiled {
				d.Share = r.share(s.ns)
			}
			r.DrillDown = append(r.DrillDown, d)
			next = append(next, targets...)
		}
	}
	slices.SortStableFunc(r.DrillDown, func(a, b DrillDown) int { return cmp.Compare(b.Share, a.Share) })
	if len(next) > 0 {
		r.ProfileNext = g.engine.Assign(append(g.beside(), next...))
		r.profiler = g.engine.profiler("profile.txt")
	}
}

// opaque reports whether statement i calls something not profiled, takes much time, and
// runs at least about once per step.
func (r *Report) opaque(f *function, i int, st *steps) bool {
	return r.share(f.own(i)) > opaqueShare && f.body.scope(i, st) != PerRun && f.body.classify(i, NoScope, st)[0].sub == Opaque
}

// drillDown returns the entry of a line, and the full names of what to profile.
func (g *graph) drillDown(f *function, i int) (d DrillDown, targets []string, ok bool) {
	s := &f.body.stmts[i]
	d = DrillDown{Function: f.Name, File: f.File, Line: f.Lines[s.line].Number}
	if callees := g.calls[f][i]; len(callees) > 0 {
		longest := slices.MaxFunc(callees, func(a, b *function) int { return cmp.Compare(a.Ns, b.Ns) })
		if f.inner(i) > s.ns/2 {
			d.Callee, d.Profiled, d.Note = longest.Name, true, "it is in this profile: continue there"
			return d, nil, true
		}
	}
	call := g.hiding(f, i)
	if call == nil {
		return d, nil, false
	}
	d.Callee = call.Path
	e := g.engine
	owner := e.classOf(f)
	if target := e.resolve(owner, f, call); target != "" {
		d.Target = &target
		targets = append(targets, target)
	}
	if owner != nil {
		targets = append(targets, e.chain(owner.Name+"."+f.last())...)
	}
	targets = slices.DeleteFunc(targets, g.profiled)
	switch {
	case d.Target == nil && len(targets) > 0:
		d.Target, d.Note = &targets[0], "the usual callee from here, which the line does not name"
	case d.Target == nil:
		d.Note = "its full name is unknown: add it to the profile by hand"
	case owner == nil:
		d.Note = "of the same file and class: add it to the profile"
	}
	if e.Name != "" && owner == nil && !strings.HasPrefix(f.File, e.Package+"/") {
		targets = nil // not the engine's code
	}
	return d, targets, true
}

// hiding returns the last call of a statement into Python code that was not profiled,
// nil if there is none.
func (g *graph) hiding(f *function, i int) *Call {
	return hiding(f.body, i, func(c *Call) bool {
		return f.recursive && c.Name() == f.last() ||
			slices.ContainsFunc(g.calls[f][i], func(callee *function) bool { return c.Name() == callee.last() })
	})
}

// hiding returns the last call of a statement into Python code, except for known calls.
func hiding(b *body, i int, known func(*Call) bool) *Call {
	found, _, other := b.calls(i)
	for _, f := range found { // a wait or tensor operation has nothing to profile in it
		if f.kind == Sync || f.kind == Comm || f.kind == GIL {
			return nil
		}
	}
	for at := len(other) - 1; at >= 0; at-- {
		c := &other[at]
		if c.ofTensors() || strings.HasPrefix(c.Path, "np.") || onList("py_builtins", c.Path) || strings.HasPrefix(c.Path, "''") || known(c) {
			continue
		}
		return c
	}
	return nil
}

// resolve returns the full name of a call's target, "" if unknown.
func (e *Engine) resolve(owner *Class, f *function, c *Call) string {
	receiver := strings.TrimRight(c.Receiver(), "[]()")
	switch {
	case receiver == "self":
		if owner != nil {
			return owner.full(c.Name())
		}
		if module := moduleOf(f.File); module != "" && f.class() != "" {
			return module + "." + f.class() + "." + c.Name()
		}
		return ""
	case receiver == "": // a plain function may be imported from anywhere
		return ""
	}
	if held := e.held(lastName(receiver)); held != nil {
		return held.full(c.Name())
	}
	return ""
}

// moduleOf returns the module of a reduced path that begins with a package, "" for
// other paths.
func moduleOf(file string) string {
	if !strings.Contains(file, "/") || !strings.HasSuffix(file, ".py") {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
}

// profiled reports whether a full name is in the profile.
func (g *graph) profiled(full string) bool {
	parts := strings.Split(full, ".")
	n := len(parts)
	for _, f := range g.byName[parts[n-1]] {
		if f.class() == parts[n-2] || f.class() == "" && strings.HasSuffix(f.File, parts[n-3]+".py") {
			return true
		}
	}
	return false
}

// beside returns the profiled functions other than an engine's defaults, so that they
// stay profiled.
func (g *graph) beside() (all []string) {
	for i := range g.engine.Class {
		c := &g.engine.Class[i]
		for _, m := range c.Methods {
			if full := c.full(m); g.profiled(full) {
				all = append(all, full)
			}
		}
	}
	if g.engine.Name == "" { // of an unknown program, only the profiled functions are known
		for _, f := range g.fns {
			if module := moduleOf(f.File); module != "" && f.class() != "" {
				all = append(all, module+"."+f.class()+"."+f.last())
			}
		}
	}
	return all
}

// unique returns a list without duplicates, never nil.
func unique(all []string) []string {
	once := []string{}
	for _, s := range all {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}
