package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Log writes a remark to standard error. One that begins with "warning: " is
// among the Warnings from then on.
func (c *Context) Log(text string) {
	c.Call.Log(text)
	if w, ok := strings.CutPrefix(text, warningPrefix); ok {
		c.warnings = appendNew(c.warnings, w)
	}
}

const warningPrefix = "warning: "

// Warn writes a warning to standard error and puts it among the Warnings.
func (c *Context) Warn(text string) { c.Log(warningPrefix + text) }

// logReports says what is wrong with reports, which is among the Warnings from
// their header, and which of them are parts of one run of a process.
func (c *Context) logReports(h *event.Header) {
	for _, w := range h.Warnings() {
		if len(h.Reports) == 1 {
			w = h.Reports[0].File + ": " + w
		}
		c.Call.Log(warningPrefix + w)
	}
	for _, rank := range h.RankNumbers() {
		var files []string
		for i := range h.Reports {
			if slices.Contains(h.Reports[i].Ranks, rank) {
				files = append(files, h.Reports[i].File)
			}
		}
		if len(files) > 1 {
			c.Log(fmt.Sprintf("rank %d is in %s, one after the other; the time between is not recorded", rank, strings.Join(files, ", ")))
		}
	}
}

// Warnings returns what was warned of so far, each warning once: of the reports
// that the input comes from, by the filters before this one, and here. All of
// them are known when the input has been read to its end. A filter that writes
// a report has them in its list of warnings (MergeWarnings), one that writes a
// stream passes them on.
func (c *Context) Warnings() []string {
	var all []string
	for _, in := range c.inputs {
		if in.Events != nil {
			all = appendNew(all, in.Events.Header().Warnings()...)
		}
	}
	return appendNew(all, c.filterWarnings()...)
}

// filterWarnings are those of Warnings that are not of reports.
func (c *Context) filterWarnings() []string {
	var all []string
	for _, in := range c.inputs {
		if in.Warner != nil {
			all = appendNew(all, in.Warner.Warnings()...)
		}
	}
	return appendNew(all, c.warnings...)
}

// lateWarnings are the Warnings that a header does not have: they go out at the
// end of what is written.
func (c *Context) lateWarnings(h *event.Header) []string {
	have := h.Warnings()
	return slices.DeleteFunc(c.filterWarnings(), func(w string) bool { return slices.Contains(have, w) })
}

// MergeWarnings returns the warnings of an analysis with those of Warnings that
// are not among them.
func (c *Context) MergeWarnings(own []string) []string { return appendNew(own, c.Warnings()...) }

// appendNew appends those that the list lacks, in their order.
func appendNew(list []string, more ...string) []string {
	for _, w := range more {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
