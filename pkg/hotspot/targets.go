package hotspot

import "iter"

// targets collects what the statement assigns, and what it reads there: subscripts and
// receivers on the left, and x in x += 1.
// What is left of the last "=" is read twice: here for its names, and by a parser of its
// own for calls and subscripts in it, of which attributes are dropped: they are written.
func (p *parser) targets() {
	last := lastAssignment(p.tokens)
	if last < 0 || p.s.Keyword != "" {
		if p.s.Keyword == "with" {
			p.withTargets()
		}
		return
	}
	left := p.tokens[:last]
	p.s.Targets = paths(left)
	augmented := p.tokens[last].Text != "="
	if augmented {
		p.s.Operators = append(p.s.Operators, p.tokens[last].Text)
	}
	depth := 0
	for i, t := range left {
		switch {
		case t.Kind == Op && (t.Text == "[" || t.Text == "("):
			depth++
		case t.Kind == Op && (t.Text == "]" || t.Text == ")"):
			depth--
		case t.Kind != Name || i > 0 && left[i-1].Text == ".":
		case augmented || depth > 0 && left[0].Text != "(" || followed(left, i):
			p.s.Names = append(p.s.Names, t.Text)
		}
	}
	inner := &parser{s: &Statement{}, tokens: left}
	for inner.more() {
		inner.expressions("")
		inner.i++
	}
	p.s.Formatted = inner.s.Formatted
	p.s.Indexes = append(p.s.Indexes, inner.s.Indexes...)
	p.s.Calls = append(p.s.Calls, inner.s.Calls...)
	p.i = last + 1
}

// lastAssignment is the place of the last "=", or "+=" and such, outside of brackets; -1
// without.
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

// Outside yields the operators outside of brackets, with their places.
// A closing bracket that was never opened makes the depth negative, and what follows is
// outside of nothing: no operator of such a statement is yielded any more.
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

// followed is whether the name at i has an attribute or a subscript, so that it is read.
func followed(tokens []Token, i int) bool {
	return i+1 < len(tokens) && tokens[i+1].Kind == Op && (tokens[i+1].Text == "." || tokens[i+1].Text == "[")
}

// withTargets collects what a with statement binds.
func (p *parser) withTargets() {
	for i, t := range p.tokens {
		if t.Kind == Keyword && t.Text == "as" && i+1 < len(p.tokens) {
			p.s.Targets = append(p.s.Targets, p.tokens[i+1].Text)
		}
	}
}

// paths are the assigned paths among the tokens left of an "=".
// A subscript is part of its path as "[]", whatever the index; the type of an annotation
// is none of the targets.
func paths(tokens []Token) []string {
	var all []string
	path, depth, annotated := "", 0, false
	flush := func() {
		if path != "" {
			all = append(all, path)
		}
		path = ""
	}
	for i, t := range tokens {
		switch {
		case t.Kind == Op && t.Text == "[" && path != "":
			if depth == 0 {
				path += "[]"
			}
			depth++
		case t.Kind == Op && t.Text == "]" && depth > 0:
			depth--
		case depth > 0 || annotated && t.Text != "=":
		case t.Kind == Op && t.Text == ":":
			flush()
			annotated = true // the rest is a type, up to the value
		case t.Kind == Name && i > 0 && tokens[i-1].Text == ".":
			path += "." + t.Text
		case t.Kind == Name:
			flush()
			path = t.Text
		case t.Kind == Op && (t.Text == "," || t.Text == "="):
			flush()
			annotated = false
		}
	}
	flush()
	return all
}
