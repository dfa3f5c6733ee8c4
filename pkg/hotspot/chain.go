package hotspot

import (
	"fmt"
	"slices"
	"strings"
)

// tensors finds chains of small tensor operations.
type tensors struct {
	*code
	*kinds
}

// ops are the small tensor operations of a statement.
type ops struct {
	strong, weak int
	sure         bool // its values are tensors, whatever the operations' names
	alone        bool // it does nothing else
}

// tensorOps counts the small tensor operations of a statement. If it takes less than
// viewUs, the values are arrays or strings, whose methods have the same names. If it
// slices several dimensions and takes longer, the value is a tensor.
func (b tensors) tensorOps(i int) ops {
	s := &b.stmts[i]
	us := s.usPerHit()
	if us >= 0 && us < viewUs {
		return ops{}
	}
	n := ops{alone: true}
	for _, c := range s.Calls {
		name := c.Name()
		kind := unknownKind
		if r := c.Receiver(); r != "" {
			kind = b.kindOf(r, i)
		}
		onTensor := c.Receiver() != "" && (kind == tensorKind || kind == unknownKind || kind == cpuKind)
		n.sure = n.sure || kind == tensorKind && !onList("described", name)
		switch {
		case onList("strong_ops", name) && onTensor:
			n.strong++
		case onList("weak_ops", name) && onTensor:
			n.weak++
		default:
			n.alone = false
		}
	}
	for _, x := range s.Indexes {
		if dims := strings.Contains(x.Text, ",") || strings.Contains(x.Text, "..."); strings.Contains(x.Text, ":") && (dims || b.kindOf(x.Path, i) == tensorKind) {
			n.weak++
			n.sure = n.sure || us > 0 && b.onGPU(x.Path, i)
		}
	}
	if len(s.Targets) > 0 && b.computes(s, i, maxFollow) {
		n.weak++
		n.sure = true
	}
	return n
}

// computes reports whether a statement does elementwise arithmetic with a tensor,
// rather than with its shape or type.
func (b *kinds) computes(s *stmt, i, depth int) bool {
	isTensor := func(path string) bool { return path != "torch" && b.kindFrom(path, i, depth) == tensorKind }
	return hasWord(s.Operators, "arithmetic") && !slices.Contains(s.Operators, "@") && !describes(s.Tokens) && slices.ContainsFunc(slices.Concat(s.Names, s.Attributes), isTensor)
}

// describes reports whether a statement reads a tensor's properties: its shape, type or
// device.
func describes(tokens []Token) bool {
	for k, t := range tokens {
		if t.Kind == Name && (onList("described", t.Text) && k > 0 && tokens[k-1].Text == "." || t.Text == "len") {
			return true
		}
	}
	return false
}

// chain finds three or more lines of small tensor operations around statement i: at
// least two move or view, or all are known to have tensors.
func (b tensors) chain(i int) []finding {
	r := b.chained(i)
	if r == nil || r.last-r.first+1 < chainLines || r.strong < 2 && !r.sure {
		return nil
	}
	return []finding{{kind: CustomOp, confidence: "medium", evidence: fmt.Sprintf("lines %d to %d are %d small tensor operations in a row", b.number(r.first), b.number(r.last), r.last-r.first+1)}}
}

// run is a sequence of statements that do nothing but small tensor operations.
type run struct {
	first, last int
	strong      int  // operations that move or view
	sure        bool // all are of tensors, whatever their names
}

// chained returns the run that statement i is in, nil if none.
func (b tensors) chained(i int) *run {
	if !b.links(i) {
		return nil
	}
	if r := b.stmts[i].run; r != nil {
		return r
	}
	r := &run{first: i, sure: true}
	for b.links(r.first-1) && b.stmts[r.first-1].parent == b.stmts[i].parent {
		r.first--
	}
	for j := r.first; b.links(j) && b.stmts[j].parent == b.stmts[i].parent; j++ {
		n := b.tensorOps(j)
		r.last, r.strong, r.sure = j, r.strong+n.strong, r.sure && n.sure
		b.stmts[j].run = r
	}
	return r
}

// links reports whether statement i exists and can be in a run.
func (b tensors) links(i int) bool {
	if i < 0 || i >= len(b.stmts) || onList("compound", b.stmts[i].Keyword) || b.stmts[i].Keyword == "return" {
		return false
	}
	n := b.tensorOps(i)
	return n.strong+n.weak > 0 && n.alone
}

// number returns the line number of a statement.
func (b *code) number(i int) int { return b.fn.Lines[b.stmts[i].First].Number }
