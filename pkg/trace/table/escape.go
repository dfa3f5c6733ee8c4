package table

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable makes a string safe to show: a terminal or a page would obey what it
// replaces. Each white space becomes a space. Everything else that is not printable
// becomes a replacement character: control and format characters, including those that
// change the direction of writing, and broken UTF-8.
func Printable(s string) string {
	for i := 0; i < len(s); i++ { // Fast path: printable ASCII.
		if s[i] < ' ' || s[i] > '~' {
			return strings.Map(func(r rune) rune {
				switch {
				case unicode.IsPrint(r):
					return r
				case unicode.IsSpace(r):
					return ' '
				}
				return unicode.ReplacementChar
			}, s)
		}
	}
	return s
}

// EscapeJSON escapes in JSON text what Printable would replace. The strings keep their
// values, and a terminal shows them as they are. (Any JSON encoder escapes ASCII
// control characters, except DEL.)
func EscapeJSON(text []byte) []byte {
	hidden := func(r rune) bool { return r > '~' && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, hidden) < 0 { // Fast path: nothing to escape.
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}
