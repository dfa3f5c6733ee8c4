package hotspot

import (
	"strings"
)

// parser fills in a [Statement] from its tokens.
type parser struct {
	s      *Statement
	tokens []Token
	i      int
	depth  int // open brackets around i

	assigns bool // what is read are targets
	updates bool // they are read, too
}

// more reports whether there are tokens left.
func (p *parser) more() bool { return p.i < len(p.tokens) }

// at reports whether the next token is the given operator or keyword.
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

// expressions reads up to a closing bracket, or to the end, and returns the number of
// elements between commas. closer is the expected bracket, "" at the top of a
// statement. It is left for the caller to consume, since it may be missing if a
// statement was cut off.
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
			return elements // brackets do not match: let the outer call handle it
		case t.Kind == Op && t.Text == ",":
			elements++
			p.i++
			start = p.i
		case t.Kind == Keyword && t.Text == "for":
			p.loop(closer)
		case t.Kind == Name && closer == ")" && p.i+1 < len(p.tokens) && p.tokens[p.i+1].Text == "=":
			p.i += 2 // name of a keyword argument
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

// isSign reports whether the next token is a sign or star that computes nothing, as in
// x[:-1] and f(*args).
func (p *parser) isSign() bool {
	t := p.tokens[p.i].Text
	number := (t == "-" || t == "+") && p.i+1 < len(p.tokens) && p.tokens[p.i+1].Kind == Number
	if p.i == 0 || !number && t != "*" && t != "**" {
		return false
	}
	before := p.tokens[p.i-1]
	return before.Kind == Keyword && !literal(before) || before.Kind == Op && !strings.ContainsAny(before.Text, ")]}")
}

// literal reports whether a keyword is a value, not an operator.
func literal(t Token) bool { return t.Text == "None" || t.Text == "True" || t.Text == "False" }

// loop reads "for targets in" and what is iterated over. closer is the bracket around a
// comprehension, "" for a for statement. It reserves its place among the loops first,
// since the collection may contain loops, too.
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

// primary reads an atom with what follows: attributes, calls, subscripts. It returns
// the path in the form of Call.Path, with "()" and "[]" for brackets. A path that ends
// in a call becomes a call, any other with a dot an attribute.
func (p *parser) primary() (path string) {
	begin := p.i
	path = p.atom()
	kind := p.tokens[begin].Kind
	called := kind == Number || kind == Keyword // not a name; the dot of a number is no attribute
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

// atom reads a name, a literal, or the contents of brackets. Strings become empty whatever
// they contain: no finding may rest on that.
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

// postfix reads a call or a subscript. begin is where the expression began; it shows
// whether a call is all that is assigned. The result ends in "()" or "[]", as primary
// expects.
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

// read records a path that is not called, or is assigned. A plain name that is assigned
// does not count as read.
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

// formatted reads the code within an f-string, and adjacent strings.
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

// holdsCode reports whether a "{" after t belongs to an f-string.
func holdsCode(t Token) bool {
	return t.Text == "}" || t.Kind == String && strings.ContainsAny(t.Text[:1+strings.IndexAny(t.Text, `'"`)], "fFtT")
}

// bracket reads a display, a comprehension or a group after its opening bracket.
// Anything else, or what is nested too deeply, is returned as it is. A display is a
// list, dict or set written out; with a loop in it, it is a comprehension.
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

// close consumes a closing bracket, if there is one: it may have been cut off.
func (p *parser) close(closer string) {
	if p.at(closer) {
		p.i++
	}
}

// call reads the arguments of a call. Calls are in the order of their names, so its
// place is reserved before the arguments, which may contain calls.
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

// arguments returns the text of the first positional argument and of the keyword
// arguments. keys is nil if there are none.
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

// split splits tokens at the commas outside brackets.
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
