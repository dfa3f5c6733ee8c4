package hotspot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// hotspot makes the hotspot of statement i, of which ns are its own: without what profiled
// functions took that it calls. Line and hits are those of the statement's line that has
// most of its time.
func (b *body) hotspot(i int, ns int64, st *steps) Hotspot {
	s := &b.stmts[i]
	l := b.fn.Lines[s.line]
	h := Hotspot{
		Function: b.fn.Name, File: b.fn.File,
		Line: l.Number, LastLine: b.fn.Lines[s.Last].Number, Source: strings.TrimSpace(b.fn.Lines[s.First].Source),
		Hits: s.raw, TimeUs: float64(ns) / 1e3, Scope: b.scope(i, st),
	}
	h.fill(st)
	if b.fn.Ns > 0 {
		h.ShareOfFunction = float64(ns) / float64(b.fn.Ns)
	}
	h.classified(b.classify(i, h.Scope, st))
	return h
}

// fill sets what follows from hits and time.
func (h *Hotspot) fill(st *steps) {
	if h.Hits > 0 {
		h.PerHitUs = h.TimeUs / float64(h.Hits)
	}
	if st.number > 0 {
		h.UsPerStep = new(h.TimeUs / float64(st.number))
	}
}

// classified sets type, severity, confidence and evidence from findings in order.
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

// classify returns all that statement i may be: what is doubtful last, and of equal
// confidence in the order of triage. There is at least one.
// Each finder looks for one kind of evidence and knows of no other. A wait in code that
// runs per layer is worse than the same elsewhere, and is a type of its own. Where what is
// first only accompanies another type, or is doubtful and something else was refused,
// COMPUTE goes ahead of it.
func (b *body) classify(i int, sc Scope, st *steps) []finding {
	s := &b.stmts[i]
	if len(s.Tokens) == 0 {
		return []finding{{kind: Compute, confidence: "low", evidence: "no source: what the line does is not known"}}
	}
	found, refused, other := b.calls(i)
	found = append(found, b.implicit(i)...)
	found = append(found, b.masked(i)...)
	found = append(found, b.locks(i)...)
	found = append(found, b.allocates(i)...)
	for at := range found {
		if found[at].kind == Sync && (sc == PerLayer || sc == PerKernel) {
			found[at].kind = HostSync
			found[at].evidence += ", in code that runs for each layer"
			if !b.certainlyPerLayer(i, st) {
				found[at].confidence = found[at].confidence.lower()
			}
		}
	}
	found = append(found, b.chain(i, sc)...)
	found = append(found, b.redundant(i)...)
	found = append(found, b.dead(i)...)
	found = append(found, b.hoistable(i, sc)...)
	found = append(found, b.loops(i)...)
	often := b.repeated(i, st)
	found = append(found, b.plain(i, other, often)...)
	found = b.weigh(i, found, other, often)
	if len(found) == 0 || found[0].also || found[0].confidence == "low" && len(refused) > 0 {
		found = append([]finding{b.compute(i, refused, other)}, found...)
	}
	return found
}

// weigh puts findings in order, and leaves out what does not count. What is cheap by
// nature is waste where it is repeated, and no reason for a long time: a look-up on a
// line that calls something unknown for milliseconds.
// The limits, in us per hit, are far above what a look-up or a call costs in CPython.
// other are the calls of which nothing is known, often is what repeated says.
func (b *body) weigh(i int, found []finding, other []Call, often bool) []finding {
	s := &b.stmts[i]
	us := s.usPerHit()
	var kept []finding
	for _, f := range found {
		if f.kind == Container || f.kind == FuncCall {
			switch {
			case s.Keyword == "for" && us > cheapUs: // making the next item is what takes long
				continue
			case us > hiddenUs && (len(other) > 0 || f.kind == FuncCall) && f.sub != "enum":
				continue
			case !often && !f.anyway:
				continue
			}
		}
		if f.kind == Container && len(other) > 0 && f.confidence == "medium" && f.sub == "" {
			f.confidence = "low"
		}
		kept = append(kept, f)
	}
	slices.SortStableFunc(kept, func(x, y finding) int {
		return cmp.Or(x.doubt()-y.doubt(), x.order()-y.order())
	})
	return kept
}

// doubt is 0 of what is fairly certain, 1 of the rest, 2 of what is never the first.
func (f finding) doubt() int {
	switch {
	case f.also:
		return 2
	case f.confidence == "low":
		return 1
	}
	return 0
}

// order is a finding's place in the order of triage. Members of enumerations and
// crossings into C++ come ahead of the structure of loops, as allocations do.
func (f finding) order() int {
	k := Knowledge()
	switch f.sub {
	case "enum", "boundary":
		return k.order(Alloc)
	}
	return k.order(f.kind)
}

// repeated is whether statement i runs many times per step, as far as hits tell.
func (b pace) repeated(i int, st *steps) bool {
	s := &b.stmts[i]
	if st.number > 0 {
		return s.hits >= oftenPerStep*st.number
	}
	return s.loop >= 0 && b.iterations(s.loop) >= oftenPerStep || b.perLayerCode() || s.hits >= 100_000
}

// compute is the finding where nothing else holds.
// refused is why a finding that a name suggested was dropped: it is evidence that the line
// does what it seems to, which is worth more than no evidence.
func (b *body) compute(i int, refused []string, other []Call) finding {
	s := &b.stmts[i]
	f := finding{kind: Compute, confidence: "low"}
	switch {
	case len(refused) > 0:
		f.evidence = refused[0]
		f.confidence = "medium"
	case len(other) > 0:
		c := other[len(other)-1]
		root, _ := splitRoot(c.Path)
		f.evidence = fmt.Sprintf("the time is spent in %s, which the line does not show", short(c.Path))
		if torchModules.has(root) || strongOps.has(c.Name()) || weakOps.has(c.Name()) {
			f.confidence, f.evidence = "medium", fmt.Sprintf("%s is a tensor operation", short(c.Path))
		} else if hiding(b, i) != nil {
			f.sub = Opaque
		}
	case hasWord(s.Operators, arithmetic):
		f.confidence, f.evidence = "medium", "arithmetic"
		if us := s.usPerHit(); us > arraysUs {
			f.confidence, f.evidence = "low", fmt.Sprintf("arithmetic that takes %s: large arrays, or a wait for the GPU that the line does not show", report.Micros(us))
		}
	default:
		f.evidence = "nothing on the line points to waste"
	}
	return f
}

// implicit finds waits that no call names: int() of a tensor, a tensor as condition, a
// copy to the host.
// Below 16 us per hit a line is taken for one that does not wait. Without times it may,
// with low confidence.
func (b tensors) implicit(i int) []finding {
	s := &b.stmts[i]
	us := s.usPerHit()
	if us >= 0 && us < waitUs {
		return nil
	}
	conf := Confidence("medium")
	if us < 0 {
		conf = "low"
	}
	for _, x := range s.Indexes {
		if strings.HasSuffix(x.Path, ".data") && x.Text != "" && strings.Trim(x.Text, "0123456789") == "" {
			return []finding{{kind: Sync, confidence: conf, evidence: short(x.Path) + " of a tensor reads a number from the GPU"}}
		}
	}
	for _, c := range s.Calls {
		text := strings.ReplaceAll(c.Text, `"`, "'")
		switch name := c.Name(); {
		case (c.Path == "int" || c.Path == "float" || c.Path == "bool" || c.Path == "print") && b.tensorText(c.First, i):
			return []finding{{kind: Sync, confidence: conf, evidence: fmt.Sprintf("%s() of a tensor reads it from the GPU", c.Path)}}
		case (s.Keyword == "if" || s.Keyword == "while" || s.Keyword == "elif" || s.Keyword == "assert") && (name == "any" || name == "all") && c.Receiver() != "" && b.onGPU(c.Receiver(), i):
			return []finding{{kind: Sync, confidence: conf, evidence: "a tensor as condition is read from the GPU"}}
		case name == "copy_" && b.kindOf(c.Receiver(), i) == cpuKind && !strings.Contains(text, "non_blocking=True") && !strings.Contains(text, ",True"):
			return []finding{{kind: Sync, confidence: conf, evidence: fmt.Sprintf("%s copies to the host and waits", short(c.Path))}}
		}
	}
	return nil
}

// locks finds with statements that take a lock.
func (b *body) locks(i int) []finding {
	s := &b.stmts[i]
	if s.Keyword != "with" {
		return nil
	}
	for _, path := range append(slices.Clone(s.Attributes), s.Names...) {
		if hasWord(lastWords(path), lockWords) {
			return []finding{{kind: GIL, confidence: "high", evidence: short(path) + " is taken, and given back"}}
		}
	}
	return nil
}

// tensorText is whether the text of an argument is of a tensor: torch's, or known to be one.
// A size or an item of a tensor is on the host already.
func (b tensors) tensorText(text string, i int) bool {
	inner := Statements([]string{text})
	if len(inner) != 1 {
		return false
	}
	for _, c := range inner[0].Calls {
		if n := c.Name(); n == "item" || n == "len" || n == "size" || n == "numel" || n == "tolist" || n == "dim" {
			return false
		}
	}
	paths := append(slices.Clone(inner[0].Attributes), inner[0].Names...)
	for _, c := range inner[0].Calls {
		paths = append(paths, c.Path+"()")
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		return !strings.Contains(p, ".shape") && p != "torch" && b.kindOf(p, i) == tensorKind
	})
}

// onGPU is whether what a path holds may be on the GPU: a tensor, or what nothing is known
// of.
func (b tensors) onGPU(path string, i int) bool {
	k := b.kindOf(path, i)
	return k == tensorKind || k == unknownKind
}

// allocates finds lists that are made by multiplying or copying: [None] * n, x[:].
// Views of tensors and arrays copy nothing. "[…] * n" is told from a product of a list's
// item by where the bracket was opened (displayEnds).
func (b *body) allocates(i int) []finding {
	s := &b.stmts[i]
	for _, x := range s.Indexes {
		if k := b.kindOf(x.Path, i); x.Text == ":" && k != tensorKind && k != cpuKind && k != numpyKind && !slices.Contains(s.Targets, x.Path+"[]") {
			return []finding{{kind: Alloc, confidence: "medium", evidence: short(x.Path) + "[:] copies a list each time"}}
		}
	}
	for _, c := range s.Calls {
		if (c.Path == "dict" || c.Path == "list" || c.Path == "set") && c.Args == 1 && s.Keyword == "" && !strings.ContainsAny(c.First, "( ") && c.First != "" && s.usPerHit() >= 2 {
			return []finding{{kind: Alloc, confidence: "medium", evidence: fmt.Sprintf("%s(%s) copies a container each time", c.Path, short(c.First))}}
		}
	}
	if !s.Display {
		return nil
	}
	depth := 0
	for at, t := range s.Tokens {
		if t.Kind != Op {
			continue
		}
		switch t.Text {
		case "[":
			depth++
		case "]":
			depth--
		case "*":
			next := at+1 < len(s.Tokens) && s.Tokens[at+1].Kind == Op && s.Tokens[at+1].Text == "["
			if at > 0 && s.Tokens[at-1].Kind == Op && s.Tokens[at-1].Text == "]" && b.displayEnds(i, at-1) || next && at > 0 && wordy(s.Tokens[at-1]) {
				return []finding{{kind: Alloc, confidence: "high", evidence: "makes a list of that length each time"}}
			}
		}
	}
	return nil
}

// wordy is whether a token is a value by itself.
func wordy(t Token) bool { return t.Kind == Name || t.Kind == Number }

// displayEnds is whether the bracket that closes at token at is a list and no subscript.
func (b *body) displayEnds(i, at int) bool {
	tokens := b.stmts[i].Tokens
	depth := 0
	for ; at >= 0; at-- {
		t := tokens[at]
		if t.Kind != Op {
			continue
		}
		switch t.Text {
		case "]":
			depth++
		case "[":
			if depth--; depth == 0 {
				return at == 0 || tokens[at-1].Kind == Op && tokens[at-1].Text != ")" && tokens[at-1].Text != "]" || tokens[at-1].Kind == Keyword
			}
		}
	}
	return false
}
