package hotspot

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a token is.
type Kind uint8

const (
	Name    Kind = iota // an identifier
	Keyword             // a word of the language
	Number              // a literal
	String              // a whole literal, or the literal parts of an f-string
	Op                  // operators, brackets, punctuation
	End                 // end of a statement
)

// A Token is a piece of code. Comments and blanks are left out.
type Token struct {
	Kind Kind   // what it is
	Text string // of a String its prefix and first quotes only where it holds code or several lines
	Line int    // index of the physical line
}

var keywords = wordSet("and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False")

// beginsStatement are keywords that only ever begin a statement: where one begins a line within
// brackets, the brackets' end was cut off.
var beginsStatement = wordSet("def class return import try while raise with assert except finally elif")

// wordSet is the words of a text, to be looked up.
func wordSet(words string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		all[w] = true
	}
	return all
}

// lexer follows source line by line.
type lexer struct {
	lines  []string
	tokens []Token
	line   int
	col    int
	depth  int       // open brackets
	nested []fstring // f-strings whose expression is being read, outermost first
}

// fstring is an f-string around the code being read.
type fstring struct {
	quote string
	depth int // brackets that were open at its "{"
}

// Lex reads lines of source, the first of which begins a statement.
func Lex(lines []string) []Token {
	l := &lexer{lines: lines}
	for l.line < len(lines) {
		l.lexLine()
		l.line++
		l.col = 0
	}
	l.end(len(lines) - 1)
	return l.tokens
}

// emit adds a token that begins where the lexer is.
func (l *lexer) emit(k Kind, text string) {
	l.tokens = append(l.tokens, Token{k, text, l.line})
}

// end ends the statement under way, of which line is the last.
func (l *lexer) end(line int) {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].Kind != End {
		l.tokens = append(l.tokens, Token{End, "", line})
	}
	l.depth, l.nested = 0, nil
}

// lexLine reads to the end of a physical line. Strings over several lines move it on.
func (l *lexer) lexLine() {
	if l.depth > 0 && beginsStatement[firstWord(l.rest())] {
		l.end(l.line - 1)
	}
	for l.col < len(l.lines[l.line]) {
		rest := l.rest()
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			l.col++
		case c == '#':
			l.col = len(l.lines[l.line])
		case c == '\\' && strings.TrimSpace(rest) == "\\":
			l.col = len(l.lines[l.line])
			return
		case c >= '0' && c <= '9' || c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			l.read(Number, len(number.FindString(rest)))
		case c == '"' || c == '\'':
			l.lexString(0)
		case isNameStart(rest):
			l.lexName(rest)
		default:
			l.lexOp(rest)
		}
	}
	if l.depth == 0 {
		l.end(l.line)
	}
}

// rest is what is left of the line.
func (l *lexer) rest() string { return l.lines[l.line][l.col:] }

// read makes the next n bytes a token.
func (l *lexer) read(k Kind, n int) {
	l.emit(k, l.rest()[:n])
	l.col += n
}

// firstWord is the lower-case word that a line begins with, "" where it is part of a longer
// name.
func firstWord(s string) string { return leading.FindStringSubmatch(s)[1] }

var leading = regexp.MustCompile(`^[ \t]*((?:[a-z]+\b)?)`)

// isNameStart reports whether a text, which is not empty, begins as names do.
func isNameStart(s string) bool {
	c := s[0]
	if c < utf8.RuneSelf {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// nameLen is how many bytes of s, from its first, are a name: any letters, as Python
// allows.
func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return i
		}
	}
	return len(s)
}

var number = regexp.MustCompile(`^(?:0[xX][0-9a-zA-Z_]*|(?:[eE][+-]|[0-9a-zA-Z_.])+)`)

// lexName reads a name, a keyword, or the prefix of a string.
func (l *lexer) lexName(rest string) {
	n := max(1, nameLen(rest))
	if n <= 2 && n < len(rest) && (rest[n] == '"' || rest[n] == '\'') && strings.Trim(rest[:n], "rRbBuUfFtT") == "" {
		l.lexString(n)
		return
	}
	if keywords[rest[:n]] {
		l.read(Keyword, n)
		return
	}
	l.read(Name, n)
}

// lexString reads a literal whose prefix has n bytes.
// A literal on one line without code becomes a token with all of its text; of others the
// text is prefix and quotes, and code in them follows as tokens of its own.
func (l *lexer) lexString(n int) {
	rest := l.rest()
	quote := rest[n : n+1]
	if strings.HasPrefix(rest[n:], strings.Repeat(quote, 3)) {
		quote = rest[n : n+3]
	}
	at, line, col := len(l.tokens), l.line, l.col
	l.emit(String, rest[:n]+quote)
	l.col += n + len(quote)
	formatted := strings.ContainsAny(rest[:n], "fFtT")
	l.literal(quote, formatted)
	if !formatted && l.line == line {
		l.tokens[at].Text = l.lines[line][col:l.col]
	}
}

// literal goes on to the end of a literal, or to the code in an f-string. A string in
// single quotes ends with its line.
// A triple-quoted one that nothing ends goes on to the last line. In f-strings doubled
// braces are text; after a single one the code up to its "}" is read as tokens are, and
// leaveExpression comes back here for the rest.
func (l *lexer) literal(quote string, formatted bool) {
	for {
		rest := l.rest()
		for i := 0; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && i+1 == len(rest) && len(quote) == 1 && l.line+1 < len(l.lines):
				// The literal goes on in the next line.
				l.line, l.col, rest, i = l.line+1, 0, l.lines[l.line+1], -1
			case rest[i] == '\\':
				i++
			case strings.HasPrefix(rest[i:], quote):
				l.col += i + len(quote)
				return
			case formatted && (strings.HasPrefix(rest[i:], "{{") || strings.HasPrefix(rest[i:], "}}")):
				i++
			case formatted && rest[i] == '{':
				l.col += i
				l.read(Op, 1)
				l.nested = append(l.nested, fstring{quote, l.depth})
				l.depth++
				return
			}
		}
		l.col = len(l.lines[l.line])
		if len(quote) == 1 || l.line+1 >= len(l.lines) {
			return
		}
		l.line++
		l.col = 0
	}
}

var operators = []string{"**=", "//=", ">>=", "<<=", "...", ":=", "->", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "**", "//", ">>", "<<"}

// lexOp reads an operator, the longest that fits, or a byte that is none, and counts
// brackets.
func (l *lexer) lexOp(rest string) {
	if l.leaveExpression(rest[0]) {
		return
	}
	n := 1
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			n = len(op)
			break
		}
	}
	if n == 1 && rest[0] >= utf8.RuneSelf {
		_, n = utf8.DecodeRuneInString(rest)
	}
	switch rest[0] {
	case '(', '[', '{':
		l.depth++
	case ')', ']', '}':
		l.depth = max(0, l.depth-1)
	case ';':
		if l.depth == 0 {
			l.col++
			l.end(l.line)
			return
		}
	}
	l.read(Op, n)
}

// leaveExpression handles what ends the code in an f-string: "}", and the conversion or
// format ahead of it.
// It returns whether it has moved on. Brackets within the code keep it from ending: only
// at the depth of its own "{" does "!", ":" or "}" belong to the f-string.
func (l *lexer) leaveExpression(c byte) bool {
	n := len(l.nested)
	if n == 0 || l.depth != l.nested[n-1].depth+1 {
		return false
	}
	rest := l.rest()
	switch {
	case c == '!' && !strings.HasPrefix(rest, "!="):
		l.col += min(2, len(rest))
		return true
	case c == ':' && !strings.HasPrefix(rest, ":="):
		end := strings.IndexAny(rest, "{}")
		if end < 0 {
			end = len(rest)
		}
		l.col += end
		if end < len(rest) && rest[end] == '{' { // a width that is an expression
			l.depth++ // its "}" takes one off again
			l.read(Op, 1)
		}
		return true
	case c == '}':
		f := l.nested[n-1]
		l.nested = l.nested[:n-1]
		l.depth--
		l.read(Op, 1)
		l.literal(f.quote, true)
		return true
	}
	return false
}
