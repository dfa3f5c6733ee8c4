package round

import (
	"regexp"
	"strings"
)

// normalised is a line's source without comments, indentation and runs of blanks, by
// which lines are matched. Strings stay as they are.
func normalised(source string) string {
	return folded(source, func(text string) string { return text })
}

// skeleton is a line's source without what stands in strings, in which the words of
// the code can be searched.
func skeleton(source string) string {
	return folded(source, func(text string) string {
		if len(text) > 1 && text[len(text)-1] == text[0] {
			return text[:1] + text[:1]
		}
		return text[:1] // it goes on in the next line
	})
}

// pieces are strings, comments and blanks. Prefixes (r"", f"") are not part of strings, and of
// triple quotes the first two are an empty one: lines are compared with each other, and both are
// cut in the same way.
var pieces = regexp.MustCompile(`"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|#.*|\s+`)

// folded is a line without its comment, its strings as quoted says, and runs of blanks as one.
func folded(source string, quoted func(text string) string) string {
	return strings.TrimSpace(pieces.ReplaceAllStringFunc(source, func(piece string) string {
		switch piece[0] {
		case '#':
			return ""
		case '"', '\'':
			return quoted(piece)
		}
		return " "
	}))
}
