package collective

import "github.com/hostbound/hostbound/pkg/trace/event"

// year2001 is a time in ns since 1970 that no session's own clock reaches: times after it are UTC.
const year2001 = 1e18

// ReportOf returns the number of the report of a rank, -1 where that is not known, and whether
// its times are UTC but for an error.
func ReportOf(h *event.Header, rank int32) (report int, clocked bool) {
	r := h.Report(rank)
	for k := range h.Reports {
		if &h.Reports[k] == r {
			return k, r.Origin != 0 || r.GPUStart != nil && *r.GPUStart-r.Offset > year2001
		}
	}
	return -1, false
}
