package round

import (
	"regexp"
	"strings"
)

// pieces are strings, comments and blanks. Prefixes (r"", f"") are not part of strings, and of
// triple quotes the first two are an empty one: lines are compared with each other, and both are
// cut in the same way.
var pieces = regexp.MustCompile(`"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|#.*|\s+`)

// normalised is a line's source without comments, indentation and runs of blanks, by
// which lines are matched. Strings stay as they are, or are emptied.
func normalised(source string, emptied bool) string {
	return strings.TrimSpace(pieces.ReplaceAllStringFunc(source, func(piece string) string {
		switch quoted := piece[0] == '"' || piece[0] == '\''; {
		case piece[0] == '#':
			return ""
		case !quoted:
			return " "
		case emptied:
			return `""`
		}
		return piece
	}))
}
