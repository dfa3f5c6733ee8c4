package hotspot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// hotspot makes the hotspot of statement i. ns is its own time, without the profiled
// functions that it calls. Line and hits are those of the statement's line with most of
// its time.
func (b *body) hotspot(i int, ns int64, st *steps) Hotspot {
	s := &b.stmts[i]
	l := b.fn.Lines[s.line]
	h := Hotspot{
		Function: b.fn.Name, File: b.fn.File,
		Line: l.Number, LastLine: b.fn.Lines[s.Last].Number, Source: strings.TrimSpace(b.fn.Lines[s.First].Source),
		Cost:  Cost{Hits: s.raw, TimeUs: float64(ns) / 1e3},
		Scope: b.scope(i, st),
	}
	h.fill(st)
	if b.fn.Ns > 0 {
		h.ShareOfFunction = float64(ns) / float64(b.fn.Ns)
	}
	h.classified(b.classify(i, h.Scope, st))
	return h
}

// fill sets the fields that follow from hits and time.
func (h *Hotspot) fill(st *steps) {
	if h.Hits > 0 {
		h.PerHitUs = h.TimeUs / float64(h.Hits)
	}
	if st.number > 0 {
		h.UsPerStep = new(h.TimeUs / float64(st.number))
	}
}

// classified sets type, severity, confidence and evidence from sorted findings.
func (h *Hotspot) classified(found []finding) {
	first := found[0]
	h.Type, h.Sub, h.Confidence = first.kind, first.sub, first.confidence
	h.Severity = Knowledge().Info(h.Type).Severity
	h.Types, h.Evidence = nil, nil
	for _, f := range found {
		if !slices.Contains(h.Types, f.kind) {
			h.Types = append(h.Types, f.kind)
		}
		if !slices.Contains(h.Evidence, f.evidence) {
			h.Evidence = append(h.Evidence, f.evidence)
		}
	}
}

// classify returns all that statement i may be, at least one finding: doubtful ones
// last, and in order of triage at equal confidence. Each detector looks for one kind of
// evidence and is independent of the others. A wait in code that runs per layer is
// worse than elsewhere, and has its own type. COMPUTE comes first if the first finding
// only accompanies another type, or is doubtful and another one was refused.
func (b *body) classify(i int, sc Scope, st *steps) []finding {
	s := &b.stmts[i]
	if len(s.Tokens) == 0 {
		return []finding{{kind: Compute, confidence: "low", evidence: "no source: what the line does is not known"}}
	}
	found, refused, other := b.calls(i)
	if s.Repeated {
		found = append(found, finding{kind: Alloc, confidence: "high", evidence: "makes a list of that length each time"})
	}
	for at := range found {
		if found[at].kind == Sync && (sc == PerLayer || sc == PerKernel) {
			found[at].kind = HostSync
			found[at].evidence += ", in code that runs for each layer"
			if st.number <= 0 || !b.perLayerCode() && !b.overLayers(i) { // by hits alone
				found[at].confidence = found[at].confidence.lower()
			}
		}
	}
	found = append(found, b.chain(i)...)
	found = append(found, b.redundant(i)...)
	found = append(found, b.dead(i)...)
	found = append(found, b.hoistable(i, sc)...)
	found = append(found, b.loops(i)...)
	found = append(found, b.container(i)...)
	if !b.repeated(i, st) { // cheap operations are waste only if repeated
		found = slices.DeleteFunc(found, func(f finding) bool { return (f.kind == Container || f.kind == FuncCall) && !f.anyway })
	}
	slices.SortStableFunc(found, func(x, y finding) int {
		return cmp.Or(x.doubt()-y.doubt(), x.order()-y.order())
	})
	if len(found) == 0 || found[0].also || found[0].confidence == "low" && len(refused) > 0 {
		found = append([]finding{b.compute(i, refused, other)}, found...)
	}
	return found
}

// doubt returns 0 for what is fairly certain, 1 for the rest, 2 for what must never
// come first.
func (f finding) doubt() int {
	switch {
	case f.also:
		return 2
	case f.confidence == "low":
		return 1
	}
	return 0
}

// order returns a finding's position in the order of triage. Enumeration members and
// calls into C++ come before the structure of loops, like allocations.
func (f finding) order() int {
	if f.sub != "" {
		return Knowledge().order(Alloc)
	}
	return Knowledge().order(f.kind)
}

// repeated reports whether statement i runs many times per step, as far as hits show.
func (b pace) repeated(i int, st *steps) bool {
	s := &b.stmts[i]
	if st.number > 0 {
		return s.hits >= oftenPerStep*st.number
	}
	return s.loop >= 0 && b.iterations(s.loop) >= oftenPerStep || b.perLayerCode() || s.hits >= manyHits
}

// compute returns the finding if nothing else holds. refused says why suggested
// findings were dropped: this shows that the line does what it seems to, which is
// better than no evidence.
func (b *body) compute(i int, refused []string, other []Call) finding {
	s := &b.stmts[i]
	f := finding{kind: Compute, confidence: "low"}
	switch {
	case len(refused) > 0:
		f.evidence = refused[0]
		f.confidence = "medium"
	case len(other) > 0:
		c := other[len(other)-1]
		f.evidence = fmt.Sprintf("the time is spent inside %s, which was not profiled", short(c.Path))
		if n := len(other); n > 1 {
			f.evidence = fmt.Sprintf("the time is spent inside %s or another of its %d calls that were not profiled", short(c.Path), n)
		}
		if c.ofTensors() {
			f.confidence, f.evidence = "medium", fmt.Sprintf("%s is a tensor operation", short(c.Path))
		} else if hiding(b, i, func(*Call) bool { return false }) != nil {
			f.sub = Opaque
		}
	case hasWord(s.Operators, "arithmetic"):
		f.confidence, f.evidence = "medium", "arithmetic"
	default:
		f.evidence = "no sign of waste on this line"
	}
	return f
}

// onGPU reports whether the value of a path may be on the GPU: it is a tensor, or
// unknown.
func (b tensors) onGPU(path string, i int) bool {
	k := b.kindOf(path, i)
	return k == tensorKind || k == unknownKind
}

// container finds membership tests, long chains of attributes and string formatting. It
// skips loops and lines over cheapUs.
func (b *body) container(i int) []finding {
	s := &b.stmts[i]
	us := s.usPerHit()
	if s.isLoop() || us > cheapUs {
		return nil
	}
	f := finding{kind: Container, confidence: "medium"}
	switch {
	case slices.Contains(s.Operators, "in"):
		f.evidence, f.anyway = "looks for a member", us > 1
	case longChain(s):
		f.evidence, f.anyway = "follows a chain of attributes", us > 1 || slices.ContainsFunc(s.Attributes, func(p string) bool { return strings.Count(p, ".") >= 4 })
	case s.Formatted && len(s.Targets) > 0:
		f.evidence, f.confidence = "formats a string each time", "low"
	default:
		return nil
	}
	return []finding{f}
}

// ofTensors reports whether a call is PyTorch's, by its name.
func (c *Call) ofTensors() bool {
	root, _ := splitRoot(c.Path)
	return onList("torch_modules", root) || onList("strong_ops", c.Name()) || onList("weak_ops", c.Name())
}
