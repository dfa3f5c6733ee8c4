package hotspot

import "iter"

// targets collects what the statement assigns, and what it reads there: subscripts and
// receivers on the left, and x in x += 1. A separate parser reads the left of the last
// "=". Its attributes are dropped, since they are written. An annotation's type is not
// a target.
func (p *parser) targets() {
	last := lastAssignment(p.tokens)
	if p.s.Keyword == "with" {
		for i, t := range p.tokens[:len(p.tokens)-1] {
			if t.Kind == Keyword && t.Text == "as" {
				p.s.Targets = append(p.s.Targets, p.tokens[i+1].Text)
			}
		}
	}
	if last < 0 || p.s.Keyword != "" {
		return
	}
	left, op := p.tokens[:last], p.tokens[last].Text
	for i, op := range Outside(left) {
		if op == ":" {
			left = left[:i]
			break
		}
	}
	inner := &parser{s: p.s, tokens: left, assigns: true, updates: op != "="}
	inner.all()
	p.s.Attributes, p.s.Operators, p.s.Display = nil, nil, false
	if inner.updates {
		p.s.Operators = append(p.s.Operators, op)
	}
	p.i = last + 1
}

// lastAssignment returns the index of the last "=", "+=" and so on outside brackets, -1
// if none.
func lastAssignment(tokens []Token) int {
	last := -1
	for i, op := range Outside(tokens) {
		switch op {
		case "=", "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**=":
			last = i
		}
	}
	return last
}

// Outside yields the operators outside brackets, with their indexes. A closing bracket
// that was never opened makes the depth negative: operators after it are not yielded,
// unless brackets open again.
func Outside(tokens []Token) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		depth := 0
		for i, t := range tokens {
			if t.Kind != Op {
				continue
			}
			switch t.Text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			default:
				if depth == 0 && !yield(i, t.Text) {
					return
				}
			}
		}
	}
}
