package round

import (
	"regexp"
	"strings"
)

// pieces matches strings, comments and blanks. Prefixes (r"", f"") are not part of
// strings, and the first two of triple quotes are an empty string: lines are only
// compared with each other, and all are cut in the same way.
var pieces = regexp.MustCompile(`"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|#.*|\s+`)

// normalised returns a line's source without comments, indentation and runs of blanks,
// for matching lines. Strings are kept, or emptied.
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
