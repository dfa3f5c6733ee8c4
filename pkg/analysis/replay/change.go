package replay

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// What a change changes.
type what int

const (
	hostTime   what = iota // all host time
	rangeTime              // host time inside ranges of a name
	callTime               // host time inside calls of a name
	launchTime             // host time inside calls that launch
	gpuTime                // units, all of them
	kernelTime             // units of a name
	noWait                 // waits in calls of a name
	otherWaits             // waits but those that bring tokens back
	allHost                // host time, and what threads do in the operating system
	whyHost                // host time with a why
	limitTime              // what a CPU limit took
	evenTime               // the host time of a rank's step is the median of the ranks'
)

// Change is one thing that is different. Times that it is about are multiplied by Factor,
// and 0 is gone; where Amount is not 0 each occurrence is so much longer instead, in ns.
type Change struct {
	what   what
	glob   string // of names, folded names where folded
	within string // glob of a range around a call, "" for any place
	folded bool   // glob is a name as names have it, digits folded
	placed bool   // only where the ranges around, or the range and those around it, are path
	path   string // the outermost first, as idle.Sites.PathText writes it
	spare  bool   // waits that bring tokens back stay
	// Of the classes of rows that a change is about, and the rank, nil for all.
	classes []event.Class
	rank    *int32
	Factor  float64
	Amount  int64
}

// Host is host time times a factor.
func Host(factor float64) Change { return Change{what: hostTime, Factor: factor} }

// GPU is the length of all units times a factor.
func GPU(factor float64) Change { return Change{what: gpuTime, Factor: factor} }

// WaitAt leaves the waits of a call out that are made inside the ranges of a path.
func WaitAt(call, path string) Change {
	return Change{what: noWait, glob: call, folded: true, placed: true, path: path}
}

// CallAt multiplies what calls of a name take, but not what they wait for the GPU, inside the
// ranges of a path.
func CallAt(call, path string, factor float64) Change {
	return Change{what: callTime, glob: call, folded: true, placed: true, path: path, Factor: factor}
}

// RangeAt multiplies the host time inside the innermost range of a path.
func RangeAt(path string, factor float64) Change {
	return Change{what: rangeTime, placed: true, path: path, Factor: factor}
}

// Range multiplies the host time inside ranges of a name, digits folded.
func Range(name string, factor float64) Change {
	return Change{what: rangeTime, glob: name, folded: true, Factor: factor}
}

// Call multiplies what calls of a name take, but not what they wait for the GPU.
func Call(name string, factor float64) Change {
	return Change{what: callTime, glob: name, folded: true, Factor: factor}
}

// ParseFactor reads a factor: a number from 0.
func ParseFactor(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("%q is not a factor", text)
	}
	return f, nil
}

// ParseRange reads GLOB=F or GLOB=-50us, for host time inside ranges.
func ParseRange(text string) (Change, error) { return parseNamed(rangeTime, text, true) }

// ParseCall reads GLOB=F or GLOB=-50us, for host time inside calls.
func ParseCall(text string) (Change, error) { return parseNamed(callTime, text, true) }

// ParseKernel reads GLOB=F, for units.
func ParseKernel(text string) (Change, error) { return parseNamed(kernelTime, text, false) }

// ParseWhy reads CLASS=F, for host time with a why (SPEC 9), a glob.
func ParseWhy(text string) (Change, error) { return parseNamed(whyHost, text, false) }

// Even has the host time of each rank's step be the median of the ranks'.
func Even() Change { return Change{what: evenTime} }

// Unlimited is without what a limit on CPU time took.
func Unlimited() Change { return Change{what: limitTime} }

// ParseNoWait reads CALL or CALL@RANGE, both globs, for waits that are left out.
func ParseNoWait(text string) (Change, error) {
	call, within, _ := strings.Cut(text, "@")
	if err := checkGlobs(call, within); err != nil || call == "" {
		return Change{}, fmt.Errorf("%q is not the name of a call", text)
	}
	return Change{what: noWait, glob: call, within: within}, nil
}

// parseNamed reads GLOB=F, and an amount of time in place of F where there may be one.
func parseNamed(w what, text string, amounts bool) (Change, error) {
	k := strings.LastIndexByte(text, '=')
	if k <= 0 || checkGlobs(text[:k]) != nil {
		return Change{}, fmt.Errorf("%q is not GLOB=FACTOR", text)
	}
	c := Change{what: w, glob: text[:k], Factor: 1}
	if d, err := time.ParseDuration(text[k+1:]); err == nil && amounts && d != 0 {
		c.Amount = int64(d)
		return c, nil
	}
	f, err := ParseFactor(text[k+1:])
	c.Factor = f
	return c, err
}

// checkGlobs reports whether all are globs.
func checkGlobs(globs ...string) error {
	for _, g := range globs {
		if _, err := path.Match(slashless(g), ""); err != nil {
			return err
		}
	}
	return nil
}

// matches reports whether a name is one that the change is about.
func matches(glob, name string) bool {
	ok, err := path.Match(slashless(glob), slashless(name))
	return ok && err == nil
}

// slashless is a text whose slashes are no borders of what a glob's star stands for.
func slashless(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// String is the change as the option that asks for it.
func (c Change) String() string {
	value := strconv.FormatFloat(c.Factor, 'g', 4, 64)
	if c.Amount != 0 {
		value = strings.Replace(time.Duration(c.Amount).String(), "µs", "us", 1)
	}
	glob := strings.ReplaceAll(c.glob, "#", "*")
	switch c.what {
	case hostTime:
		return "--host " + value
	case gpuTime:
		return "--gpu " + value
	case rangeTime:
		return "--range '" + glob + "=" + value + "'"
	case callTime:
		return "--call '" + glob + "=" + value + "'"
	case kernelTime:
		return "--kernel '" + glob + "=" + value + "'"
	case noWait:
		if c.within != "" {
			glob += "@" + strings.ReplaceAll(c.within, "#", "*")
		}
		return "--no-wait '" + glob + "'"
	case launchTime:
		return "launches free"
	case whyHost:
		return "--why '" + glob + "=" + value + "'"
	case limitTime:
		return "--cpu-quota none"
	case evenTime:
		return "--even"
	case graphTime:
		return "--graph"
	case aheadOfTokens:
		return "no waits for tokens"
	}
	return "no waits but the one that brings tokens back"
}

// Scenario is changes that are made together.
type Scenario struct {
	// Name is what it is called, "" for its changes.
	Name    string
	Changes []Change
	// Keep: waits for other threads keep their length (--waits keep).
	Keep bool
	// Typical are steps that take what the median of the others of their rank and phase takes,
	// by rank and number.
	Typical map[int32]map[int]bool
}

// String names the scenario.
func (s *Scenario) String() string {
	if s.Name != "" {
		return s.Name
	}
	var all []string
	for _, c := range s.Changes {
		all = append(all, c.String())
	}
	if len(all) == 0 {
		return "no change"
	}
	return strings.Join(all, " ")
}
