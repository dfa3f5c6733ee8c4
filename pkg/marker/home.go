package marker

import (
	"regexp"
	"strings"
)

// Home is what leads to and names a user's directory in a path.
var Home = regexp.MustCompile(`[^\s"'(),=\[\]]*/(?:home|Users)/[^/\s"'(),\[\]]+/?|~[^/\s"'(),]*/`)

// Homeless returns a name without the home directories in it: whoever writes a range may
// put a path into it.
func Homeless(text string) string {
	if !strings.Contains(text, "/home/") && !strings.Contains(text, "/Users/") && !strings.Contains(text, "~") {
		return text // Fast path: nearly all.
	}
	return Home.ReplaceAllString(text, "")
}
