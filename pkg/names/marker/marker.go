package marker

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Counts is what a forward-step marker says about its step.
type Counts struct {
	Step    int64 // the engine's number of the step
	HasStep bool  // false if the marker has no number; Step is then 0

	Ctx, Gen  int64 // context (prefill) and generation (decode) requests in the batch
	HasCounts bool  // false if the marker has no counts; Ctx and Gen are then 0
}

// A Set is a set of forward-step markers: the presets, or a user's expression. It is
// safe for concurrent use. The zero Set is equal to [Presets].
type Set struct {
	re             *regexp.Regexp // nil for the presets
	step, ctx, gen []int          // indexes of re's groups with these names
}

// Presets is the set of markers that the package comment lists.
var Presets = &Set{}

// Parse is [Set.Parse] of the [Presets].
func Parse(text string) (Counts, bool) { return parsePreset(text) }

// Compile returns the set of names that contain a match of the regular expression expr.
// Its named groups step, ctx and gen, all optional, capture the decimal numbers of
// [Counts]; other named groups are an error. A group name may occur in several
// alternatives; the first one that captured counts.
//
// If only one of ctx and gen captures something, the other count is 0. If neither does,
// the counts are unknown.
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

// Parse returns what text says about its step; ok reports whether it is a forward-step
// marker. It is not one if a number does not fit in an int64, or a count is negative.
// Nor is it one if a group of the user's expression captured something other than a
// number.
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

// captured returns the number captured by the first of groups that took part in the
// match, and whether there is one. ok is false if that is not a number.
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

// Home matches the part of a path up to and including the name of a user's directory.
var Home = regexp.MustCompile(`[^\s"'(),=\[\]]*[/\\](?:home|Users)[/\\]+[^/\\\s"'(),\[\]]+[/\\]?|~[^/\s"'(),]*/`)

// Homeless removes home directories from a name: the author of a range may have put a
// path into it.
func Homeless(text string) string {
	if !strings.Contains(text, "/home/") && !strings.Contains(text, "Users") && !strings.Contains(text, "~") {
		return text // Fast path: nearly all names.
	}
	return Home.ReplaceAllString(text, "")
}
