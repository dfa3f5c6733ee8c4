package marker

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Counts is what a forward-step marker tells about its step.
type Counts struct {
	Step    int64 // the engine's number of the step
	HasStep bool  // false: the marker has none, and Step is 0

	Ctx, Gen  int64 // context (prefill) and generation (decode) requests in the batch
	HasCounts bool  // false: the marker does not tell, and Ctx and Gen are 0
}

// A Set is a set of forward-step markers: the presets, or a user's expression. It
// is safe for concurrent use. The zero Set is [Presets].
type Set struct {
	re             *regexp.Regexp // nil: the presets
	step, ctx, gen []int          // subexpressions of re by these names
}

// Presets is the set of the markers that the package comment lists.
var Presets = &Set{}

// Parse is [Set.Parse] of the [Presets].
func Parse(text string) (Counts, bool) { return parsePreset(text) }

// Compile returns the set of the names in which the regular expression expr is
// found. Its named groups step, ctx and gen, none of which it must have, capture
// the decimal numbers that go into [Counts]; other named groups are an error. A
// name may stand in several alternatives: the first that captured counts.
//
// Where only one of ctx and gen captures something, the other count is 0; where
// neither does, the counts are not known.
func Compile(expr string) (*Set, error) {
	if expr == "" {
		return nil, errors.New("marker expression is empty: it would match every range")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("marker expression: %w", err)
	}
	set := &Set{re: re}
	for i, name := range re.SubexpNames() {
		switch name {
		case "":
		case "step":
			set.step = append(set.step, i)
		case "ctx":
			set.ctx = append(set.ctx, i)
		case "gen":
			set.gen = append(set.gen, i)
		default:
			return nil, fmt.Errorf("marker expression has the named group %q: only step, ctx and gen mean something", name)
		}
	}
	return set, nil
}

// Parse returns what text tells about its step, and whether it is a forward-step
// marker at all. A text whose numbers do not fit in an int64, or where a group of
// a user's expression captured something that is no such number, or a negative
// count, is none.
func (s *Set) Parse(text string) (Counts, bool) {
	if s.re == nil {
		return parsePreset(text)
	}
	loc := s.re.FindStringSubmatchIndex(text)
	if loc == nil {
		return Counts{}, false
	}
	step, hasStep, ok1 := captured(text, loc, s.step)
	ctx, hasCtx, ok2 := captured(text, loc, s.ctx)
	gen, hasGen, ok3 := captured(text, loc, s.gen)
	if !ok1 || !ok2 || !ok3 || ctx < 0 || gen < 0 {
		return Counts{}, false
	}
	return Counts{Step: step, HasStep: hasStep, Ctx: ctx, Gen: gen, HasCounts: hasCtx || hasGen}, true
}

// captured returns the number that the first of groups to take part in a match
// captured, and whether there is one; ok is false where that is no number.
func captured(text string, loc, groups []int) (n int64, has, ok bool) {
	for _, group := range groups {
		if start, end := loc[2*group], loc[2*group+1]; start >= 0 {
			n, err := strconv.ParseInt(text[start:end], 10, 64)
			if err != nil {
				return 0, false, false
			}
			return n, true, true
		}
	}
	return 0, false, true
}

// Home is what leads to and names a user's directory in a path.
var Home = regexp.MustCompile(`[^\s"'(),=\[\]]*[/\\](?:home|Users)[/\\]+[^/\\\s"'(),\[\]]+[/\\]?|~[^/\s"'(),]*/`)

// Homeless returns a name without the home directories in it: whoever writes a range may
// put a path into it.
func Homeless(text string) string {
	if !strings.Contains(text, "/home/") && !strings.Contains(text, "Users") && !strings.Contains(text, "~") {
		return text // Fast path: nearly all.
	}
	return Home.ReplaceAllString(text, "")
}
