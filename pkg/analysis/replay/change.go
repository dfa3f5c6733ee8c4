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

// what is the quantity that a change is about.
type what int

const (
	hostTime  what = iota // all host time
	allHost               // host time, and the time of OS calls that wait
	rangeTime             // host time inside ranges
	callTime              // host time inside calls
	classTime             // host time inside rows of certain classes
	unitTime              // units
	noWait                // waits in calls
	bareTime              // host time outside all ranges and calls
	lostTime              // time during which launching threads are off the CPU without waiting
	whyHost               // host time with a given why
	limitTime             // time during which a CPU limit stopped the process
	evenTime              // host time of a rank's step: set to the median over ranks
	graphTime             // host time of forward passes whose kernels are launched one by one
	numWhats
)

// options are the names of whatif's options, for each what that has one.
var options = [numWhats]string{
	hostTime: "host", rangeTime: "range", callTime: "call", unitTime: "kernel", noWait: "no-wait", whyHost: "why",
	limitTime: "cpu-quota", evenTime: "even", graphTime: "graph",
}

// tokens selects the waits that a change is about.
type tokens int

const (
	anyWait   tokens = iota
	notTokens        // waits other than those that bring tokens back
	forTokens        // only waits that bring tokens back
)

// Change is one thing that is different. Durations that it selects are multiplied by
// Factor; 0 removes them. If Amount is not 0, each occurrence gets longer by Amount ns
// instead.
type Change struct {
	what    what
	glob    string // of names, or a folded name if folded is set; "" for all
	within  string // glob of a range around a call, "" for any place
	folded  bool   // glob is a name with digits folded, not a pattern
	placed  bool   // only where the open ranges (for ranges: itself included) are path
	path    string // outermost first, as idle.Sites.PathText writes it
	tokens  tokens
	classes []event.Class // of rows, for classTime
	rank    *int32        // nil for all
	Factor  float64
	Amount  int64
}

// Host multiplies all host time by factor, except in OS calls that wait, sleep, read or
// write.
func Host(factor float64) Change { return Change{what: hostTime, Factor: factor} }

// GPU multiplies the length of all units by factor.
func GPU(factor float64) Change { return Change{what: unitTime, Factor: factor} }

// Units multiplies the length of units of a name, as in event rows, by factor.
func Units(name string, factor float64) Change {
	return Change{what: unitTime, glob: name, folded: true, Factor: factor}
}

// Range multiplies the host time inside ranges of a name (digits folded). With At, ""
// selects the ranges of that path whatever their name; without At it selects none.
func Range(name string, factor float64) Change {
	return Change{what: rangeTime, glob: name, folded: true, Factor: factor}
}

// Call multiplies the time of calls of a name, but not the time that they wait for the
// GPU.
func Call(name string, factor float64) Change {
	return Change{what: callTime, glob: name, folded: true, Factor: factor}
}

// Wait removes the waits inside calls of a name.
func Wait(call string) Change { return Change{what: noWait, glob: call, folded: true} }

// Ahead removes the waits that bring tokens back: the host may run ahead of the GPU
// without limit.
func Ahead() Change { return Change{what: noWait, tokens: forTokens} }

// Loading multiplies the host time during which code is compiled or loaded.
func Loading(factor float64) Change {
	return Change{what: whyHost, glob: idle.Load.String(), Factor: factor}
}

// Class multiplies the host time inside rows of the classes: calls, OS calls of
// launching threads, ranges of the garbage collector (event.GC), and waits for the
// interpreter lock (event.GIL).
func Class(factor float64, classes ...event.Class) Change {
	return Change{what: classTime, classes: classes, Factor: factor}
}

// Bare multiplies the host time of launching threads outside all ranges and calls.
func Bare(factor float64) Change { return Change{what: bareTime, Factor: factor} }

// Lost multiplies the time during which launching threads have lost their CPU: they run
// on none and are in no call that waits.
func Lost(factor float64) Change { return Change{what: lostTime, Factor: factor} }

// Even sets the host time of each rank's step to the median over ranks.
func Even() Change { return Change{what: evenTime} }

// Graph replays one graph per forward pass whose kernels are launched one by one. From
// the first to the last launch of a kernel that could be captured, the host then only
// launches the graph. Steps with context requests do not change.
func Graph() Change { return Change{what: graphTime} }

// Unlimited removes the time during which a CPU limit stopped the process.
func Unlimited() Change { return Change{what: limitTime} }

// At restricts the change to rows directly inside the ranges of path ("" for outside all
// ranges). A change of ranges is restricted to those that have this path themselves.
func (c Change) At(path string) Change {
	c.placed, c.path = true, path
	return c
}

// On restricts the change to one rank.
func (c Change) On(rank int32) Change {
	c.rank = &rank
	return c
}

// SparingTokens keeps the waits that bring tokens back.
func (c Change) SparingTokens() Change {
	c.tokens = notTokens
	return c
}

// on reports whether the change applies to a rank.
func (c *Change) on(rank int32) bool { return c.rank == nil || *c.rank == rank }

// Parse reads the value of a whatif option that asks for a change. It is FACTOR for host
// and gpu, and GLOB=FACTOR for range, call, kernel and why; of why, the glob gil means
// waits for the interpreter lock. For range and call GLOB=-50us is also valid. For
// no-wait it is CALL or CALL@RANGE, both globs.
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
		if c.what == whyHost && c.glob == event.Classes[event.GIL] { // a cause in gaps, which ranges show
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

// whatOf returns what an option changes.
func whatOf(option string) what {
	for w, name := range options {
		if name == option {
			return what(w)
		}
	}
	return unitTime // gpu
}

// checkGlobs returns an error unless all are valid globs.
func checkGlobs(globs ...string) error {
	for _, g := range globs {
		if _, err := path.Match(slashless(g), ""); err != nil {
			return err
		}
	}
	return nil
}

// matches reports whether a name matches a glob; "*" also matches slashes.
func matches(glob, name string) bool {
	ok, err := path.Match(slashless(glob), slashless(name))
	return ok && err == nil
}

// slashless replaces slashes, at which path.Match would end what a star matches.
func slashless(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// String returns the change as the option that asks for it.
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

// Scenario is a set of changes that are made together.
type Scenario struct {
	// Name is the title, "" to use the changes.
	Name    string
	Changes []Change
	// Keep makes waits for other threads keep their length (--waits keep).
	Keep bool
	// Typical selects steps, by rank and number, that are given the median time of the
	// other steps of their rank and phase. It is ignored where a Graph change can be
	// replayed instead.
	Typical map[int32]map[int]bool
}

// longest returns an upper bound of what a run of a length, in ns, and a number of rows takes.
func (s *Scenario) longest(length, rows float64) float64 {
	for _, c := range s.Changes {
		length = length*max(1, c.Factor) + rows*max(0, float64(c.Amount))
	}
	return length
}

// String returns the name of the scenario, or its changes.
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
