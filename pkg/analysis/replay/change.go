package replay

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// What a change changes.
type what int

const (
	hostTime  what = iota // all host time
	allHost               // host time, and what threads do in the operating system
	rangeTime             // host time inside ranges
	callTime              // host time inside calls
	classTime             // host time inside rows of some classes
	unitTime              // units
	noWait                // waits in calls
	bareTime              // host time outside of all ranges and calls
	lostTime              // time in which launching threads have lost their CPU
	whyHost               // host time with a why
	limitTime             // what a CPU limit took
	evenTime              // the host time of a rank's step is the median of the ranks'
	graphTime             // the host time of forward passes whose kernels are launched by themselves
	numWhats
)

// options are the options of whatif that ask for changes, of those that one does.
var options = [numWhats]string{
	hostTime: "host", rangeTime: "range", callTime: "call", unitTime: "kernel", noWait: "no-wait", whyHost: "why",
	limitTime: "cpu-quota", evenTime: "even", graphTime: "graph",
}

// tokens says which of the waits that a change is about.
type tokens int

const (
	anyWait   tokens = iota
	notTokens        // those that bring tokens back stay
	forTokens        // those that bring tokens back, alone
)

// Change is one thing that is different. Times that it is about are multiplied by Factor,
// and 0 is gone; where Amount is not 0 each occurrence is so much longer instead, in ns.
type Change struct {
	what    what
	glob    string // of names, folded names where folded; "" for all
	within  string // glob of a range around a call, "" for any place
	folded  bool   // glob is a name as names have it, digits folded
	placed  bool   // only where the ranges around, or the range and those around it, are path
	path    string // the outermost first, as idle.Sites.PathText writes it
	tokens  tokens
	classes []event.Class // of rows
	rank    *int32        // nil for all
	Factor  float64
	Amount  int64
}

// Host is host time times a factor.
func Host(factor float64) Change { return Change{what: hostTime, Factor: factor} }

// GPU is the length of all units times a factor.
func GPU(factor float64) Change { return Change{what: unitTime, Factor: factor} }

// Units is the length of units of a name, as event has it, times a factor.
func Units(name string, factor float64) Change {
	return Change{what: unitTime, glob: name, folded: true, Factor: factor}
}

// Range multiplies the host time inside ranges of a name, digits folded; of any name where it is "".
func Range(name string, factor float64) Change {
	return Change{what: rangeTime, glob: name, folded: true, Factor: factor}
}

// Call multiplies what calls of a name take, but not what they wait for the GPU.
func Call(name string, factor float64) Change {
	return Change{what: callTime, glob: name, folded: true, Factor: factor}
}

// Wait leaves the waits of calls of a name out.
func Wait(call string) Change { return Change{what: noWait, glob: call, folded: true} }

// Ahead leaves the waits out that bring tokens back: the host runs ahead of the GPU without an end.
func Ahead() Change { return Change{what: noWait, tokens: forTokens} }

// Loading multiplies the host time in which code is compiled or loaded.
func Loading(factor float64) Change {
	return Change{what: whyHost, glob: idle.Load.String(), Factor: factor}
}

// Class multiplies the host time inside rows of some classes, wherever they are: calls, those of
// the operating system on launching threads alone, ranges of the garbage
// collector (event.GC) and of waits for the interpreter lock (event.GIL).
func Class(factor float64, classes ...event.Class) Change {
	return Change{what: classTime, classes: classes, Factor: factor}
}

// Bare multiplies the host time of launching threads outside of all ranges and calls.
func Bare(factor float64) Change { return Change{what: bareTime, Factor: factor} }

// Lost multiplies the time in which launching threads have lost their CPU: they are on none, and
// in no call that waits.
func Lost(factor float64) Change { return Change{what: lostTime, Factor: factor} }

// Even has the host time of each rank's step be the median of the ranks'.
func Even() Change { return Change{what: evenTime} }

// Graph has forward passes replay one graph whose kernels are launched by themselves: from the
// first to the last launch of a kernel that could be captured the host does nothing else. Steps
// with context requests stay.
func Graph() Change { return Change{what: graphTime} }

// Unlimited is without what a limit on CPU time took.
func Unlimited() Change { return Change{what: limitTime} }

// At is the change inside the ranges of a path alone, or of ranges whose path that is.
func (c Change) At(path string) Change {
	c.placed, c.path = true, path
	return c
}

// On is the change on one rank alone.
func (c Change) On(rank int32) Change {
	c.rank = &rank
	return c
}

// SparingTokens is the change without the waits that bring tokens back, which stay.
func (c Change) SparingTokens() Change {
	c.tokens = notTokens
	return c
}

// on reports whether a change is about a rank.
func (c *Change) on(rank int32) bool { return c.rank == nil || *c.rank == rank }

// Parse reads the value of an option of whatif that asks for a change: F for host and gpu, GLOB=F
// for range, call, kernel and why (gil are waits for the interpreter lock), or GLOB=-50us for the first two, and CALL or CALL@RANGE, both
// globs, for no-wait.
func Parse(option, text string) (c Change, err error) {
	value := text
	switch c = (Change{what: whatOf(option), Factor: 1}); option {
	case "host", "gpu":
	case "no-wait":
		c.glob, c.within, _ = strings.Cut(text, "@")
		if checkGlobs(c.glob, c.within) != nil || c.glob == "" {
			return c, fmt.Errorf("%q is not the name of a call", text)
		}
		return c, nil
	default:
		k := strings.LastIndexByte(text, '=')
		if k <= 0 || checkGlobs(text[:k]) != nil {
			return c, fmt.Errorf("%q is not GLOB=FACTOR", text)
		}
		c.glob, value = text[:k], text[k+1:]
		if c.what == whyHost && c.glob == event.Classes[event.GIL] { // a cause of gaps, which ranges tell
			c.what, c.glob = rangeTime, marker.WaitsForGIL+"*"
		}
	}
	if d, err := time.ParseDuration(value); err == nil && d != 0 && (c.what == rangeTime || c.what == callTime) {
		c.Amount = int64(d)
		return c, nil
	}
	c.Factor, err = strconv.ParseFloat(value, 64)
	if err != nil || c.Factor < 0 || math.IsInf(c.Factor, 0) || math.IsNaN(c.Factor) {
		return c, fmt.Errorf("%q is not a factor", value)
	}
	return c, nil
}

// whatOf is what an option changes.
func whatOf(option string) what {
	for w, name := range options {
		if name == option {
			return what(w)
		}
	}
	return unitTime // gpu
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
	option, glob := "--"+options[c.what], strings.ReplaceAll(c.glob, "#", "*")
	switch {
	case c.what == noWait && c.within != "":
		return option + " '" + glob + "@" + strings.ReplaceAll(c.within, "#", "*") + "'"
	case c.what == noWait:
		return option + " '" + glob + "'"
	case c.what == unitTime && glob == "":
		return "--gpu " + value
	case c.what == hostTime:
		return option + " " + value
	case c.what == limitTime:
		return option + " none"
	case c.glob != "":
		return option + " '" + glob + "=" + value + "'"
	}
	return option
}

// Scenario is changes that are made together.
type Scenario struct {
	// Name is what it is called, "" for its changes.
	Name    string
	Changes []Change // made together
	// Keep: waits for other threads keep their length (--waits keep).
	Keep bool
	// Typical are steps that take what the median of the others of their rank and phase takes,
	// by rank and number, where a graph is not what changes them.
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
