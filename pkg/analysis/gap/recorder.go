package gap

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// record returns the command that records what host threads do, "" if the profiler that made
// this recording cannot.
func (c *Watch) record() string {
	if c.header.Platform() == event.AMD {
		return report.ROCm
	}
	if !c.byNsys() {
		return ""
	}
	return report.CaptureCommand(report.CaptureOptions{Host: true})
}

// nameless reports whether the largest cause of idle time is a mere forward-step range, or
// code without a range.
func (i *Idle) nameless(c *Watch) bool {
	if len(i.Causes) == 0 {
		return false
	}
	cause, host := strings.CutPrefix(i.Causes[0].Cause, hostPrefix)
	if !host {
		return cause == idle.Untraced.String()
	}
	// Parse the name, too, with a digit for folded ones: the first step is not classified as a
	// marker.
	_, step := marker.Parse(strings.ReplaceAll(cause, "#", "0"))
	return step || c.isMarker(cause)
}

// unrecorded lists what the recording lacks about host threads that GPUs waited for. bare
// reports that none of their samples has a stack.
func (c *Watch) unrecorded(views []*view, bare bool) []idle.Missing {
	var ranks []int32
	for _, v := range views {
		ranks = append(ranks, v.id)
	}
	missing := idle.Unrecorded(c.header, ranks)
	if slices.ContainsFunc(ranks, func(rank int32) bool { return !c.header.Records(event.Sample, rank) }) {
		missing = append(missing, idle.Missing{What: "which functions threads ran", Option: "--sample=process-tree"})
	} else if bare {
		missing = append(missing, idle.Missing{What: "which functions threads ran (the export has no stacks of its samples)", Option: "--sample=process-tree"})
	}
	gil := false
	for id := range int32(c.ranges.Len()) {
		gil = gil || marker.GILStateOf(c.ranges.Text(id)) != marker.NoGIL
	}
	if !gil {
		missing = append(missing, idle.Missing{What: "waits for Python's GIL", Option: "-t python-gil"})
	}
	if !c.byNsys() {
		for k := range missing {
			missing[k].Option = ""
		}
	}
	return missing
}

// byNsys reports whether nsys made the recording, or may have: its options do not apply to
// other profilers.
func (c *Watch) byNsys() bool { return slices.Contains([]string{"", "nsys"}, c.header.Source()) }
