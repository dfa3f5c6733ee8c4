package hotspot

import (
	"fmt"
	"slices"
	"strings"
)

// strongOps are tensor operations that move or view; weakOps compute elementwise.
var strongOps = set("view reshape permute transpose unsqueeze squeeze expand expand_as contiguous narrow flatten unflatten chunk to half float bfloat16 type_as movedim swapaxes T mT view_as repeat unbind")
var weakOps = set("split slice select index_select gather cat stack masked_fill masked_fill_ roll flip copy_ fill_ zero_ add_ sub_ mul_ div_ add sub mul div clamp clamp_ neg pow square sqrt rsqrt mean sum exp log sigmoid softmax where type tril triu abs tanh silu relu amax argmax max min size dim numel ones_like zeros_like clone detach long int bool tensor_split")

// set is the set of names between blanks.
func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, n := range strings.Fields(names) {
		all[n] = true
	}
	return all
}

// hasWord is whether one of some words is in a set.
func hasWord(words []string, in map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return in[w] })
}

// tensorOps counts small tensor operations of a statement; alone is whether it does
// nothing else.
func (b *body) tensorOps(i int) (strong, weak int, alone bool) {
	s := &b.stmts[i]
	alone = true
	for _, c := range s.Calls {
		name := c.Name()
		kind := unknownKind
		if r := c.Receiver(); r != "" {
			kind = b.kindOf(r, i)
		}
		onTensor := c.Receiver() != "" && (kind == tensorKind || kind == unknownKind || kind == cpuKind)
		switch {
		case strongOps[name] && onTensor:
			strong++
		case weakOps[name] && onTensor:
			weak++
		default:
			alone = false
		}
	}
	for _, x := range s.Indexes {
		if strings.Contains(x.Text, ":") && (strings.Contains(x.Text, ",") || strings.Contains(x.Text, "...") || b.kindOf(x.Path, i) == tensorKind) {
			weak++
		}
	}
	return strong, weak, alone
}

// chain finds three or more lines of small tensor operations around statement i.
func (b *body) chain(i int, sc Scope) []finding {
	strong, weak, alone := b.tensorOps(i)
	if strong+weak == 0 || !alone {
		return nil
	}
	first, last := i, i
	lines, strongs := 1, strong
	for _, step := range []int{-1, 1} {
		for j := i + step; j >= 0 && j < len(b.stmts) && b.stmts[j].parent == b.stmts[i].parent; j += step {
			st, w, alone := b.tensorOps(j)
			if st+w == 0 || !alone || compound[b.stmts[j].Keyword] || b.stmts[j].Keyword == "return" {
				break
			}
			lines, strongs, first, last = lines+1, strongs+st, min(first, j), max(last, j)
		}
	}
	f := finding{kind: CustomOp, confidence: "medium"}
	switch {
	case lines >= chainLines && strongs >= 2:
		f.evidence = fmt.Sprintf("lines %d to %d are %d small tensor operations in a row", b.number(first), b.number(last), lines)
		if lines > chainLines && strongs >= chainLines && (sc == PerLayer || sc == PerKernel) {
			f.confidence = "high"
		}
	case strong+weak >= chainLines && strong >= 2:
		f.evidence = fmt.Sprintf("%d small tensor operations on one line", strong+weak)
	default:
		return nil
	}
	return []finding{f}
}

// number is the line number of a statement.
func (b *body) number(i int) int { return b.fn.Lines[b.stmts[i].First].Number }
