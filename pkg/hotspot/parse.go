package hotspot

import (
	"strings"
)

// parser collects from a statement's tokens what a [Statement] holds.
type parser struct {
	s      *Statement
	tokens []Token
	i      int
	depth  int // brackets open around i

	assigns bool // what is read are targets
	updates bool // they are read, too
}

// more reports whether there are tokens left.
func (p *parser) more() bool { return p.i < len(p.tokens) }

// at is whether the next token is an operator or a keyword.
func (p *parser) at(text string) bool {
	return p.more() && p.tokens[p.i].Text == text && (p.tokens[p.i].Kind == Op || p.tokens[p.i].Kind == Keyword)
}

// all reads to the end.
func (p *parser) all() {
	for p.more() {
		p.expressions("")
		p.i++ // a closing bracket that was never opened
	}
}

// expressions reads up to a closing bracket, or to the end. It returns the number of
// elements between commas.
// closer is the bracket that is awaited, "" at the top of a statement. It is left for the
// caller to step over, since it may be missing where a statement was cut off.
func (p *parser) expressions(closer string) (elements int) {
	start := p.i
	for p.more() {
		t := p.tokens[p.i]
		switch {
		case t.Kind == Op && (t.Text == closer || closer == "" && (t.Text == ")" || t.Text == "]" || t.Text == "}")):
			if p.i > start {
				elements++
			}
			return elements
		case t.Kind == Op && (t.Text == ")" || t.Text == "]" || t.Text == "}"):
			return elements // brackets do not match: let the outer one see it
		case t.Kind == Op && t.Text == ",":
			elements++
			p.i++
			start = p.i
		case t.Kind == Keyword && t.Text == "for":
			p.loop(closer)
		case t.Kind == Name && closer == ")" && p.i+1 < len(p.tokens) && p.tokens[p.i+1].Text == "=":
			p.i += 2 // the name of a keyword argument
		default:
			p.item()
		}
	}
	if p.i > start {
		elements++
	}
	return elements
}

// item reads an operator, or an expression without one.
func (p *parser) item() {
	t := p.tokens[p.i]
	if t.Kind == Op && t.Text != "(" && t.Text != "[" && t.Text != "{" || t.Kind == Keyword && !literal(t) {
		if !p.isSign() {
			p.s.Operators = append(p.s.Operators, t.Text)
		}
		p.i++
		return
	}
	p.primary()
}

// isSign reports whether the next token is the sign of a number or the star of an argument, as in
// x[:-1] and f(*args), and computes nothing.
func (p *parser) isSign() bool {
	t := p.tokens[p.i].Text
	number := (t == "-" || t == "+") && p.i+1 < len(p.tokens) && p.tokens[p.i+1].Kind == Number
	if p.i == 0 || !number && t != "*" && t != "**" {
		return false
	}
	before := p.tokens[p.i-1]
	return before.Kind == Keyword && !literal(before) || before.Kind == Op && !strings.ContainsAny(before.Text, ")]}")
}

// literal reports whether a keyword is a value, and no operator.
func literal(t Token) bool { return t.Text == "None" || t.Text == "True" || t.Text == "False" }

// loop reads "for targets in", and what it goes over.
// closer is the bracket around a comprehension, "" of a for statement. Its place among the
// loops is taken before what it goes over is read: that may hold loops of its own.
func (p *parser) loop(closer string) {
	p.i++
	var l Loop
	for p.more() && !p.at("in") && !p.at(closer) {
		if t := p.tokens[p.i]; t.Kind == Name {
			l.Targets = append(l.Targets, t.Text)
		}
		p.i++
	}
	if !p.at("in") {
		return
	}
	p.i++
	start := p.i
	at := len(p.s.Loops)
	p.s.Loops = append(p.s.Loops, l)
	if closer != "" {
		p.s.Comprehension = true
	}
	for p.more() && !p.at("for") && !p.at("if") && !p.at(":") && !p.at("async") && !(closer != "" && p.at(closer)) {
		p.item()
	}
	p.s.Loops[at].tokens = p.tokens[start:p.i]
	p.s.Loops[at].Over = Text(p.tokens[start:p.i])
}

// primary reads an atom with what follows it: attributes, calls, subscripts.
// It returns the path as Call.Path has it, with "()" and "[]" for what stood in brackets. A
// path that ends in a call is among the calls, any other with a dot among the attributes.
func (p *parser) primary() (path string) {
	begin := p.i
	path = p.atom()
	kind := p.tokens[begin].Kind
	called := kind == Number || kind == Keyword // which is no name, nor is a number's dot that of an attribute
	for p.more() && p.tokens[p.i].Kind == Op {
		switch p.tokens[p.i].Text {
		case ".":
			if p.i+1 >= len(p.tokens) || p.tokens[p.i+1].Kind != Name {
				p.i++
				return path
			}
			path += "." + p.tokens[p.i+1].Text
			p.i += 2
			called = false
		case "(", "[":
			if p.depth >= maxDepth {
				p.i++
				return path
			}
			assigns := p.assigns
			p.depth, p.assigns = p.depth+1, false
			path = p.postfix(path, begin)
			p.depth, p.assigns = p.depth-1, assigns
			called = path[len(path)-1] == ')'
		default:
			p.read(path, called)
			return path
		}
	}
	p.read(path, called)
	return path
}

// atom reads a name, a literal, or what brackets hold.
// Strings are ” whatever they say: no finding may rest on what is in them.
func (p *parser) atom() string {
	t := p.tokens[p.i]
	p.i++
	switch t.Kind {
	case Name:
		p.s.Names = append(p.s.Names, t.Text)
		if p.at(":=") {
			p.s.Targets = append(p.s.Targets, t.Text)
		}
	case String:
		p.formatted()
		return "''"
	case Op:
		return p.bracket(t.Text)
	}
	return t.Text
}

// postfix reads a call or a subscript.
// begin is where the expression began, which tells a call whether it is all that is
// assigned. What it returns ends in "()" or "[]", as primary expects.
func (p *parser) postfix(path string, begin int) string {
	if p.at("(") {
		p.call(path, begin)
		return path + "()"
	}
	p.i++
	start := p.i
	p.expressions("]")
	p.s.Indexes = append(p.s.Indexes, Index{path, Text(p.tokens[start:min(p.i, len(p.tokens))])})
	p.close("]")
	return path + "[]"
}

// read records a path that is not called, or is assigned. Of what is assigned a plain name is not
// read.
func (p *parser) read(path string, called bool) {
	switch dotted := strings.Contains(path, "."); {
	case p.assigns && isNameStart(path) && !called:
		p.s.Targets = append(p.s.Targets, path)
		if !dotted && !strings.HasSuffix(path, "]") && !p.updates {
			p.s.Names = p.s.Names[:len(p.s.Names)-1]
		}
	case !called && dotted:
		p.s.Attributes = append(p.s.Attributes, path)
	}
}

// formatted reads the code within an f-string, and strings that follow each other.
func (p *parser) formatted() {
	for p.more() {
		switch {
		case p.tokens[p.i].Kind == String:
			p.i++
		case p.depth < maxDepth && p.at("{") && holdsCode(p.tokens[p.i-1]):
			p.s.Formatted = true
			p.i++
			p.depth++
			p.expressions("}")
			p.depth--
			p.close("}")
		default:
			return
		}
	}
}

// holdsCode is whether a "{" after t belongs to an f-string.
func holdsCode(t Token) bool {
	return t.Text == "}" || t.Kind == String && strings.ContainsAny(t.Text[:1+strings.IndexAny(t.Text, `'"`)], "fFtT")
}

// bracket reads a display, a comprehension or a group, of which the opening is past.
// What is no bracket, or is nested too deeply, is returned as it is. A display is a list,
// dict or set written out; one with a loop in it is a comprehension.
func (p *parser) bracket(open string) string {
	closer := map[string]string{"(": ")", "[": "]", "{": "}"}[open]
	if closer == "" || p.depth >= maxDepth {
		return open
	}
	p.depth++
	defer func() { p.depth-- }()
	loops, times := len(p.s.Loops), p.i > 1 && p.tokens[p.i-2].Text == "*"
	p.expressions(closer)
	p.close(closer)
	p.s.Repeated = p.s.Repeated || open == "[" && (times || p.at("*"))
	if open != "(" && len(p.s.Loops) == loops {
		p.s.Display = true
	}
	return open + closer
}

// close steps over a closing bracket, where it is there: it may have been cut off.
func (p *parser) close(closer string) {
	if p.at(closer) {
		p.i++
	}
}

// call reads the arguments of a call.
// Calls are in the order of their names, so the place is taken before the arguments are
// read, in which there may be more.
func (p *parser) call(path string, begin int) {
	p.i++
	start := p.i
	c := Call{Path: path, Assigned: begin > 0 && p.tokens[begin-1].Text == "="}
	at := len(p.s.Calls)
	p.s.Calls = append(p.s.Calls, c)
	args := p.expressions(")")
	end := min(p.i, len(p.tokens))
	p.close(")")
	c.Assigned = c.Assigned && !p.more()
	c.Args, c.Text = args, Text(p.tokens[start:end])
	c.First, c.Keys = arguments(p.tokens[start:end])
	p.s.Calls[at] = c
}

// arguments returns the text of the first positional argument and of the keyword ones.
// keys is nil where there are none.
func arguments(tokens []Token) (first string, keys map[string]string) {
	for n, arg := range split(tokens) {
		switch {
		case len(arg) > 2 && arg[0].Kind == Name && arg[1].Text == "=":
			if keys == nil {
				keys = map[string]string{}
			}
			keys[arg[0].Text] = Text(arg[2:])
		case n == 0:
			first = Text(arg)
		}
	}
	return first, keys
}

// split divides tokens at the commas outside of brackets.
func split(tokens []Token) (all [][]Token) {
	start := 0
	for i, op := range Outside(tokens) {
		if op == "," {
			all = append(all, tokens[start:i])
			start = i + 1
		}
	}
	if start < len(tokens) {
		all = append(all, tokens[start:])
	}
	return all
}
