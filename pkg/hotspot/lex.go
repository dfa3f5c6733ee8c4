package hotspot

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind uint8

const (
	Name    Kind = iota // an identifier
	Keyword             // a Python keyword
	Number              // a literal
	String              // a whole literal, or the literal parts of an f-string
	Op                  // operators, brackets, punctuation
	End                 // end of a statement
)

// A Token is a lexical unit of code. Comments and blanks are omitted.
type Token struct {
	Kind Kind   // what it is
	Text string // of an f-string, or a String over several lines, only prefix and first quotes
	Line int    // index of the physical line
}

var keywords = wordSet("and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False")

// beginsStatement are keywords that can only begin a statement: if one begins a line
// within brackets, the closing bracket was cut off.
var beginsStatement = wordSet("def class return import try while raise with assert except finally elif")

// wordSet returns the words of a text as a set.
func wordSet(words string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		all[w] = true
	}
	return all
}

// lexer reads source line by line.
type lexer struct {
	lines  []string
	tokens []Token
	line   int
	col    int
	depth  int       // open brackets
	nested []fstring // f-strings whose expression is being read, outermost first
}

// fstring is an f-string around the current code.
type fstring struct {
	quote string
	depth int // open brackets at its "{"
}

// Lex returns the tokens of source lines, the first of which begins a statement.
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

// emit appends a token at the current position.
func (l *lexer) emit(k Kind, text string) {
	l.tokens = append(l.tokens, Token{k, text, l.line})
}

// end ends the current statement, whose last line is line.
func (l *lexer) end(line int) {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].Kind != End {
		l.tokens = append(l.tokens, Token{End, "", line})
	}
	l.depth, l.nested = 0, nil
}

// lexLine reads to the end of a physical line. A string over several lines moves it
// further.
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

// rest returns the rest of the line.
func (l *lexer) rest() string { return l.lines[l.line][l.col:] }

// read emits the next n bytes as a token.
func (l *lexer) read(k Kind, n int) {
	l.emit(k, l.rest()[:n])
	l.col += n
}

// firstWord returns the lower-case word that a line begins with, "" if it is part of a
// longer name.
func firstWord(s string) string { return leading.FindStringSubmatch(s)[1] }

var leading = regexp.MustCompile(`^[ \t]*((?:[a-z]+\b)?)`)

// isNameStart reports whether a text, which must not be empty, begins like a name.
func isNameStart(s string) bool {
	c := s[0]
	if c < utf8.RuneSelf {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// nameLen returns the length in bytes of the name at the beginning of s, which may have
// any letters, as in Python.
func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return i
		}
	}
	return len(s)
}

var number = regexp.MustCompile(`^(?:0[xX][0-9a-zA-Z_]*|(?:[eE][+-]|[0-9a-zA-Z_.])+)`)

// lexName reads a name, a keyword, or a string with a prefix.
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

// lexString reads a literal whose prefix has n bytes. A literal on one line becomes one
// token with its text. The token of an f-string, or of a literal over several lines, has
// prefix and quotes only; code in an f-string follows as separate tokens.
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

// literal continues to the end of a literal, or to the code in an f-string. A
// single-quoted string ends with its line; an unterminated triple-quoted one goes on to
// the last line. In f-strings, doubled braces are text. After a single one, code up to
// its "}" is read as tokens; leaveExpression then returns here for the rest.
func (l *lexer) literal(quote string, formatted bool) {
	for {
		rest := l.rest()
		for i := 0; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && i+1 == len(rest) && len(quote) == 1 && l.line+1 < len(l.lines):
				// The literal continues on the next line.
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

// lexOp reads the longest operator that fits, or a byte that is none, and counts
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

// leaveExpression handles the end of the code in an f-string: "}", and the conversion
// or format before it. It reports whether it has moved on. "!", ":" and "}" belong to
// the f-string only at the depth of its own "{"; brackets within the code protect them.
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
			l.depth++ // its "}" decrements again
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
