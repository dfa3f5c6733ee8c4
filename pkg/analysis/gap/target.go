package gap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// HostWork is the pattern of the operation that most idle time is in, where no finding is worth as
// much: what there is to do follows from what the operation is.
const HostWork = "HOST_WORK"

// target chooses what to begin with: the finding that is worth most, or the operation that most
// idle time is in where that is more and no finding is about it.
func (f *finder) target(strata map[stratum]*found) *Finding {
	var first *Finding
	for k := range f.rep.Findings {
		if g := &f.rep.Findings[k]; g.Pattern != Recapture && (first == nil || g.UsStep > first.UsStep) {
			first = g
		}
	}
	for k := range f.rep.Idle.Causes {
		c := &f.rep.Idle.Causes[k]
		if !f.worth(c.Us) || first != nil && c.Us/f.steps <= first.UsStep {
			break // the others are smaller
		}
		if c.Cause == idle.Untraced.String() && first != nil { // what is known goes first
			continue
		}
		if name, _ := strings.CutPrefix(c.Cause, hostPrefix); !c.operation() || f.explained(c) || f.found(LowLoad) && marker.FetchesRequests(name) {
			continue
		}
		return f.operation(c, strata)
	}
	return first
}

// operation tells whether a cause of idle time is something that a host thread does, as opposed
// to what it waits for and to what nothing is known of.
func (c *Cause) operation() bool {
	switch c.Cause {
	case event.Classes[event.GIL], event.Classes[event.GC]:
		return false
	case idle.Untraced.String():
		known := int64(0)
		for _, w := range c.Why {
			known += w.Ns
		}
		return 2*known >= c.Ns
	}
	return onHost(c.Cause)
}

// explained tells whether a finding is about a cause: in its range, or about its calls.
func (f *finder) explained(c *Cause) bool {
	return slices.ContainsFunc(f.rep.Findings, func(g Finding) bool {
		if name, ok := strings.CutPrefix(c.Cause, hostPrefix); ok {
			return innermost(g.Path) == name || g.Site == name
		}
		return len(c.Sites) > 0 && g.Site == c.Sites[0].Site || c.Cause == event.Classes[event.Launch] && slices.Contains(forLaunches, g.Pattern)
	})
}

// forLaunches are the patterns that say what to do about launches.
var forLaunches = []string{GraphExpand, GraphFallback, GraphSplit, CustomOp}

// operation makes the finding about a cause of idle time.
func (f *finder) operation(c *Cause, strata map[stratum]*found) *Finding {
	at, doing, kind := Finding{Path: c.Path, Source: c.Source}, "", c.Cause
	switch name, ok := strings.CutPrefix(c.Cause, hostPrefix); {
	case ok:
		at.Site, doing = name, "is in "+name
		at.Path = cmp.Or(c.Path, name)
		if f.c.markerNames()[name] { // the step itself: what is done in it has no name
			kind = idle.Untraced.String()
		}
	case c.Cause == idle.Untraced.String():
		at.Site, doing = c.Cause, "runs outside of any recorded range or call"
	default:
		at.Site, doing = c.Cause, "is in calls that "+callsThat[c.Cause]
		if len(c.Sites) > 0 && 2*c.Sites[0].Ns >= c.Ns {
			s := &c.Sites[0]
			at.Site, at.Path, at.Source, doing = s.Site, s.Path, s.Source, "is in "+s.Site+in(s.Path)
			if s.launchesGraphs() {
				kind = graphLaunches
			}
		}
	}
	text := fmt.Sprintf("the GPU is idle %s, %s of its idle time, while the launching thread %s", f.per(c.Us), report.Percent(c.Share), doing)
	if len(c.Why) > 0 {
		if phrase := idle.Phrase(c.Why[0].Why); phrase != "" && 2*c.Why[0].Ns >= c.Ns {
			text += fmt.Sprintf(" (for %s of that, launching threads %s)", report.Percent(float64(c.Why[0].Ns)/float64(c.Ns)), phrase)
		}
	}
	if line := f.c.lineIn(c.Cause, strata); line != nil {
		at.Line = line.Line
		text += fmt.Sprintf("; %s of it at %s", report.Percent(line.Us/c.Us), line.Line)
	}
	text += f.colon(kind)
	at.Pattern, at.Evidence, at.UsStep, at.Share = HostWork, text, c.Us/f.steps, new(c.Share)
	return &at
}

// colon is what to do about a cause of idle time, after a colon; "" where nothing is known.
func (f *finder) colon(cause string) string {
	if do := f.c.opt.Advice(cause); do != "" {
		return ": " + do
	}
	return ""
}

// graphLaunches is, for advice, the cause of calls that launch graphs.
const graphLaunches = "graph_launch"

// callsThat says what the calls of a cause do.
var callsThat = map[string]string{
	"launch": "launch kernels", "sync": "wait for the GPU", "memop": "copy", "alloc": "make or free objects", "api": "do other things with the GPU",
}

// lineIn returns the line of Python at which most idle time of a cause is, nil where too few
// samples say so.
func (c *computer) lineIn(cause string, strata map[stratum]*found) *PythonLine {
	of := map[stratum]*found{}
	for s, f := range strata {
		if key, _ := c.sites.Undivided(s.key); c.sites.CauseName(key) == cause {
			of[s] = f
		}
	}
	if lines := c.pythonLines(1, of); len(lines) > 0 {
		return &lines[0]
	}
	return nil
}

// name is what a finding is about, for the hand-off: a function where that is known, else a range,
// a call, or what threads wait for.
func (g *Finding) name() string {
	return cmp.Or(g.Source, innermost(g.Path), g.Site, waitsFor[g.Pattern])
}

// waitsFor are what launching threads wait for in findings without a place: causes of idle time, and
// whys of idle (hoststate.go).
var waitsFor = map[string]string{
	GIL: event.Classes[event.GIL], GCManage: event.Classes[event.GC], Affinity: idle.Descheduled.String(), JIT: idle.Load.String(),
	Serialize: "blocked:lock", Wait: "blocked:wait", Sleep: "blocked:sleep", IO: "blocked:file",
	GraphExpand: idle.Launch.String(), GraphFallback: idle.Launch.String(), GraphSplit: idle.Launch.String(), CustomOp: idle.Launch.String(),
}

// bounds say of causes of idle time that are no host thread's what bounds the steps there, and how
// to go on.
var bounds = map[string][2]string{
	idle.Graph.String():    {"between kernels of one graph replay", "'gaps --report pattern' shows before which kernels: fuse those, or let them overlap (programmatic dependent launch)"},
	idle.Queued.String():   {"between launch and start, where work waits for another stream, a copy or an event", "'gaps --report gaps' shows before which kernels"},
	idle.Tail.String():     {"after the last work recorded in the window", "record more steps"},
	idle.Untraced.String(): {"before work whose launching call was not recorded", "record CUDA calls, of all threads and processes"},
}

// bound says what bounds the steps where there is no host operation to begin with.
func (i *Idle) bound() string {
	var parts, next []string
	for k := range i.Causes {
		if b, ok := bounds[i.Causes[k].Cause]; ok && i.Causes[k].Share >= minIdleShare {
			parts, next = append(parts, report.Percent(i.Causes[k].Share)+" of the idle time is "+b[0]), append(next, b[1])
		}
	}
	text := fmt.Sprintf("No host operation to begin with: the GPUs are busy %s of the time", report.Percent(1-i.TotalUs/i.WindowUs))
	if len(parts) == 0 {
		return text + ", and no cause of idle time has a share that is worth a change."
	}
	return text + "; " + strings.Join(parts, ", and ") + ". Next: " + strings.Join(next, "; ") + "."
}
