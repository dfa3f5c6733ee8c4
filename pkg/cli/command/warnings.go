package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// journal collects the warnings for the reader of an answer: those of the reports, of
// earlier filters, and of this command. They are complete when the inputs were read to
// their ends.
type journal struct {
	call   *cli.Call
	inputs []*source.Input // inputs that were opened
	own    []string        // warnings of this command
}

// Log writes a remark to standard error. A remark that begins with "warning: " also
// becomes a warning.
func (j *journal) Log(text string) {
	j.call.Log(text)
	if w, ok := strings.CutPrefix(text, warningPrefix); ok {
		j.own = appendNew(j.own, w)
	}
}

const warningPrefix = cli.Warning

// Warn writes a warning to standard error and adds it to the warnings.
func (j *journal) Warn(text string) { j.Log(warningPrefix + text) }

// ofReports logs the warnings in the reports' header, and which reports are parts of
// one rank.
func (j *journal) ofReports(h *event.Header) {
	for _, w := range h.Warnings() {
		if len(h.Reports) == 1 {
			w = h.Reports[0].File + ": " + w
		}
		j.call.Log(warningPrefix + w)
	}
	for _, rank := range h.RankNumbers() {
		var files []string
		for i := range h.Reports {
			if slices.Contains(h.Reports[i].Ranks, rank) {
				files = append(files, h.Reports[i].File)
			}
		}
		if len(files) > 1 {
			j.Log(fmt.Sprintf("rank %d is in %s, one after the other; the time between is not recorded", rank, strings.Join(files, ", ")))
		}
	}
}

// merged returns the warnings of an analysis followed by those that it lacks, with
// those that differ only in the rank combined. What filters warned of when they wrote a
// file is logged again.
func (r *reader) merged(analysis []string) []string {
	for _, in := range r.inputs {
		if in.Events != nil {
			analysis = appendNew(analysis, in.Events.Header().Warnings()...)
		}
		if in.Warner != nil && !fromStdin(r.files) {
			for _, w := range in.Warner.Warnings() {
				r.call.Log(warningPrefix + w)
			}
		}
	}
	return report.OneForAllRanks(appendNew(analysis, r.ofFilters()...))
}

// ofFilters returns the warnings that are not of reports.
func (j *journal) ofFilters() []string {
	var all []string
	for _, in := range j.inputs {
		if in.Warner != nil {
			all = appendNew(all, in.Warner.Warnings()...)
		}
	}
	return appendNew(all, j.own...)
}

// late returns the warnings that a header lacks. They are written at the end of the
// output.
func (j *journal) late(h *event.Header) []string {
	have := h.Warnings()
	return slices.DeleteFunc(j.ofFilters(), func(w string) bool { return slices.Contains(have, w) })
}

// appendNew appends the elements that the list lacks, in order.
func appendNew(list []string, more ...string) []string {
	for _, w := range more {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
