package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
)

// Log writes a remark to standard error. One that begins with "warning: " is
// among the Warnings from then on.
func (c *Context) Log(text string) {
	text = strings.ReplaceAll(text, "\n", " ")
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.name, text)
	if w, ok := strings.CutPrefix(text, warningPrefix); ok {
		c.warnings = appendNew(c.warnings, w)
	}
}

const warningPrefix = "warning: "

// Warn writes a warning to standard error and puts it among the Warnings.
func (c *Context) Warn(text string) { c.Log(warningPrefix + text) }

// Warnings returns what was warned of so far, each warning once: of the reports
// that the input comes from, by the filters before this one, and here. All of
// them are known when the input has been read to its end. A filter that writes
// a report has them in its list of warnings (MergeWarnings), one that writes a
// stream passes them on.
func (c *Context) Warnings() []string {
	var all []string
	for _, in := range c.inputs {
		if in.events != nil {
			all = appendNew(all, in.events.Header().Warnings()...)
		}
	}
	return appendNew(all, c.filterWarnings()...)
}

// filterWarnings are those of Warnings that are not of reports.
func (c *Context) filterWarnings() []string {
	var all []string
	for _, in := range c.inputs {
		if in.warner != nil {
			all = appendNew(all, in.warner.Warnings()...)
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

func appendNew(list []string, more ...string) []string {
	for _, w := range more {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
