package hotspot

import "strings"

// A Statement is one logical line.
type Statement struct {
	First, Last int     // indexes of its physical lines
	Indent      int     // columns; a tab advances to the next multiple of 8
	Keyword     string  // the keyword it begins with, without "async"; "" if none
	Tokens      []Token // without comments and End

	Calls         []Call   // in the order of their names
	Attributes    []string // dotted paths that are read but not called: "self.config.size"
	Indexes       []Index  // subscripts, those of targets first
	Loops         []Loop   // of comprehensions; a for statement's own is first
	Names         []string // every name that is read, in order, with repetitions
	Targets       []string // names and paths that are assigned: "x", "self.x", "x[]"
	Operators     []string // operators and keyword operators outside strings, in order, without signs of numbers
	Formatted     bool     // has code in an f-string
	Display       bool     // has a list, dict or set display
	Comprehension bool     // has a comprehension or a generator
	Repeated      bool     // makes a list by repetition: [None] * n
}

// A Call is one call within a statement.
type Call struct {
	Path     string            // what is called: "torch.cuda.synchronize", "self.f", "x[].item", "f().cpu"
	Args     int               // positional and keyword arguments
	Keys     map[string]string // text of keyword arguments, by name
	First    string            // text of the first positional argument
	Text     string            // text of all arguments
	Assigned bool              // the call is the whole right side of an assignment
}

// Name returns the last part of the path.
func (c *Call) Name() string { return c.Path[strings.LastIndexByte(c.Path, '.')+1:] }

// Receiver returns the path without its last part, "" for a plain function.
func (c *Call) Receiver() string {
	if i := strings.LastIndexByte(c.Path, '.'); i >= 0 {
		return c.Path[:i]
	}
	return ""
}

// An Index is one subscript.
type Index struct {
	Path string // what is indexed
	Text string // the index
}

// A Loop is a for, in a statement or a comprehension.
type Loop struct {
	Targets []string // names that it sets
	Over    string   // text of what it iterates over

	tokens []Token // of Over
}

// Statements returns the statements of source lines, the first of which begins a
// statement.
func Statements(lines []string) []Statement {
	var all []Statement
	tokens := Lex(lines)
	for start, i := 0, 0; i < len(tokens); i++ {
		if tokens[i].Kind != End {
			continue
		}
		if i > start {
			all = append(all, newStatement(lines, tokens[start:i], tokens[i].Line))
		}
		start = i + 1
	}
	return all
}

// newStatement parses the tokens of one statement, whose last line is last. It never
// fails: a statement that was cut off, or is not Python, keeps what was collected so
// far. Each token is visited once, so the time is linear. Beyond maxTokens nothing is
// collected, but Tokens has all tokens. Keywords that begin an expression are not the
// statement's.
func newStatement(lines []string, tokens []Token, last int) Statement {
	s := Statement{First: tokens[0].Line, Last: last, Tokens: tokens}
	s.Indent = indentOf(lines[s.First])
	first := tokens[0]
	if first.Text == "async" && len(tokens) > 1 {
		first = tokens[1]
	}
	if first.Kind == Keyword {
		s.Keyword = first.Text
	}
	switch s.Keyword {
	case "None", "True", "False", "not", "await", "lambda":
		s.Keyword = ""
	}
	p := &parser{s: &s, tokens: tokens[:min(len(tokens), maxTokens)]}
	p.targets()
	p.all()
	for i := range s.Calls {
		s.Calls[i].Assigned = s.Calls[i].Assigned && len(s.Targets) > 0
	}
	if len(s.Names) > 0 && (s.Keyword == "def" || s.Keyword == "class" || s.Keyword == "import" || s.Keyword == "from") {
		s.Calls, s.Attributes, s.Loops = nil, nil, nil // a definition or an import only seems to call
	}
	return s
}

// indentOf returns the width of a line's indentation, as Python counts it.
func indentOf(line string) int {
	n := 0
	for _, c := range []byte(line) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// Text returns tokens as text with as few blanks as possible.
func Text(tokens []Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && isWordy(tokens[i-1]) && isWordy(t) {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// isWordy reports whether a token would merge with the next one without a blank.
func isWordy(t Token) bool { return t.Kind == Name || t.Kind == Keyword || t.Kind == Number }
