package nsys

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// checkTogether returns an error unless reports that share no rank are of one run: the
// spans of their GPU work must overlap, directly or by way of other reports. Reports
// whose clocks cannot be compared are ignored.
func (r *Reader) checkTogether(loose []bool) error {
	var first []int
	for i := range r.header.Reports {
		if !loose[i] && r.header.Reports[i].GPUStart != nil {
			first = append(first, i)
		}
	}
	if len(first) < 2 {
		return nil
	}
	together := connected(first[0], first, func(i, k int) bool {
		a, b := &r.header.Reports[i], &r.header.Reports[k]
		return r.sharesRank(i, k) || *a.GPUStart <= *b.GPUEnd && *b.GPUStart <= *a.GPUEnd
	})
	for _, k := range first {
		if slices.Contains(together, k) {
			continue
		}
		if !r.opts.Separate {
			return &event.Error{
				Msg:    fmt.Sprintf("the GPU work in %s and in %s does not overlap in time, and they are not parts of one process: they are not from one run", r.paths[first[0]], r.paths[k]),
				Advice: "give the reports of one run; --separate where a clock is wrong or this is meant",
			}
		}
		rep := &r.header.Reports[k]
		rep.Warnings = append(rep.Warnings, "its GPU work and that of the first report do not overlap in time: they are not of one run, or a session start is wrong")
	}
	return nil
}

// connected returns the reports that are linked with the first one, directly or by way
// of others.
func connected(first int, of []int, linked func(i, k int) bool) []int {
	all := []int{first}
	for n := 0; n < len(all); n++ {
		for _, k := range of {
			if !slices.Contains(all, k) && linked(all[n], k) {
				all = append(all, k)
			}
		}
	}
	return all
}

// sharesRank reports whether two reports have a rank in common and thus hold parts of
// it.
func (r *Reader) sharesRank(i, k int) bool {
	return slices.ContainsFunc(r.header.Reports[i].Ranks, func(rank int32) bool { return slices.Contains(r.header.Reports[k].Ranks, rank) })
}
