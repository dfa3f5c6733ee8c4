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

// journal is what the reader of an answer has to be told: what the reports, the filters
// before this one and this one itself warn of. All of it is known when the inputs have been
// read to their ends.
type journal struct {
	call   *cli.Call
	inputs []*source.Input // that were opened
	own    []string        // of this command itself
}

// Log writes a remark to standard error. One that begins with "warning: " is
// among the warnings from then on.
func (j *journal) Log(text string) {
	j.call.Log(text)
	if w, ok := strings.CutPrefix(text, warningPrefix); ok {
		j.own = appendNew(j.own, w)
	}
}

const warningPrefix = cli.Warning

// Warn writes a warning to standard error and puts it among the warnings.
func (j *journal) Warn(text string) { j.Log(warningPrefix + text) }

// ofReports says what is wrong with reports, which is among the warnings from
// their header, and which of them are parts of one run of a process.
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

// merged returns the warnings of an analysis, and after them those that it lacks; those of all
// ranks as one.
func (j *journal) merged(analysis []string) []string {
	for _, in := range j.inputs {
		if in.Events != nil {
			analysis = appendNew(analysis, in.Events.Header().Warnings()...)
		}
	}
	return report.OneForAllRanks(appendNew(analysis, j.ofFilters()...))
}

// ofFilters are the warnings that are not of reports.
func (j *journal) ofFilters() []string {
	var all []string
	for _, in := range j.inputs {
		if in.Warner != nil {
			all = appendNew(all, in.Warner.Warnings()...)
		}
	}
	return appendNew(all, j.own...)
}

// late are the warnings that a header does not have: they go out at the end of what is
// written.
func (j *journal) late(h *event.Header) []string {
	have := h.Warnings()
	return slices.DeleteFunc(j.ofFilters(), func(w string) bool { return slices.Contains(have, w) })
}

// appendNew appends those that the list lacks, in their order.
func appendNew(list []string, more ...string) []string {
	for _, w := range more {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
