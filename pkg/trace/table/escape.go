package table

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable replaces what a terminal or a page would obey instead of showing it:
// white space by a space each, everything else that is not printable (control and
// format characters, among them those that turn the direction of writing, and broken
// UTF-8) by a replacement character.
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

// EscapeJSON escapes in a JSON text what Printable would replace: its strings have the same
// values, and a terminal shows them as they are. ASCII control characters are escaped in any
// JSON, but for DEL.
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
