package command

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/hotspot"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// maxProfiled is the most functions that a report proposes to profile.
const maxProfiled = 3

// goOn ends a report with the next command, if the host is to be optimised: the one
// that finds the Python lines of the functions that GPUs wait for. evidence is the
// command whose JSON says for how long. Its file names are examples, so that a report
// is the same from a file and from a pipe, and contains no paths.
func goOn(d *report.Document, h *report.Handoff, evidence string) {
	if h.Verdict != nil && *h.Verdict != "YES" || h.Verdict == nil && h.FirstTarget == nil {
		return
	}
	if t := h.FirstTarget; t != nil && (slices.Contains(runtimes, *t) || findings.Phrase(*t) != "") {
		return // no Python line is to blame
	}
	s := d.Details("Find the Python lines")
	names := functionsOf(h)
	if e, full := hotspot.ToProfile(names); e != nil {
		s.Say("Profile %s with line_profiler:", nameList(names))
		s.Code(e.Command("profile.txt", full))
	} else {
		s.Say("Profile the functions in which the GPUs wait with line_profiler.")
	}
	s.Say("Then see which lines to change first, by how long a GPU waits for them:")
	s.Code(evidence + " --format json | hotspots --evidence - profile.txt")
}

// runtimes are the first targets that are work of Python's runtime.
var runtimes = []string{event.Classes[event.GIL], event.Classes[event.GC]}

// functionsOf returns the functions to profile: the first target, and those with most
// idle time or growth. It returns nil if the first target is not a function.
func functionsOf(h *report.Handoff) (names []string) {
	add := func(name string) {
		if strings.Contains(name, ".") && !slices.Contains(names, name) && len(names) < maxProfiled {
			names = append(names, name)
		}
	}
	if h.FirstTarget != nil {
		if add(*h.FirstTarget); len(names) == 0 {
			return nil
		}
	}
	for _, op := range h.TopRegressingOps {
		if op.Function != nil {
			add(*op.Function)
		}
	}
	for _, cause := range h.TopIdleCauses {
		add(cause.Source)
	}
	return names
}

// nameList returns names separated by commas.
func nameList(names []string) (t report.Text) {
	for i, name := range names {
		if i > 0 {
			t = append(t, report.Plain(", ")...)
		}
		t = append(t, report.Name(name))
	}
	return t
}
