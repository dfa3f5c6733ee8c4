package hotspot

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
)

// Brief returns the report for a program that reads little: the hotspots to change
// first, each with its best option, and what to profile next. It contains no source
// text.
func (r *Report) Brief() *report.Brief {
	weighed := slices.ContainsFunc(r.Hotspots, func(h Hotspot) bool { return h.ExposedUsPerStep != nil })
	b := &report.Brief{Answer: r.title(View{Trace: weighed}).String(), Conclusion: "compute"}
	for i := range r.Hotspots {
		h := &r.Hotspots[i]
		if h.Type == Compute && h.Sub != Opaque {
			continue
		}
		if len(b.Items) == 0 {
			b.Conclusion = string(h.Type)
		}
		b.Items = append(b.Items, h.brief())
	}
	if !weighed {
		b.CannotTell = append(b.CannotTell, "whether a GPU waits for any of it: give a trace of the same run with --evidence")
	}
	if r.Steps == 0 {
		b.CannotTell = append(b.CannotTell, "the number of steps: give --steps")
	}
	switch {
	case r.ProfileNext != "": // the list of functions may be long
		b.Next = new("env " + fmt.Sprintf(r.profiler, "$(hotspots PROFILE --format json | jq -r .profile_next)"))
	case len(r.Hotspots) > 0 && !r.HasSource():
		b.Next = new("hotspots PROFILE --source DIR --brief")
	case !weighed:
		b.Next = new("hotspots PROFILE --evidence TRACE --brief")
	}
	return b.Fit()
}

// brief returns a hotspot as an item. Its id is derived from the line's text, not its
// number.
func (h *Hotspot) brief() report.BriefItem {
	said := fnv.New32a()
	said.Write([]byte(h.Source))
	where := h.place()
	item := report.BriefItem{
		ID:    report.BriefID("hotspots", string(h.Type), h.Function, fmt.Sprintf("%08x", said.Sum32())),
		Claim: fmt.Sprintf("%s in %s", h.Type, h.Function), Where: &where, MagnitudeUs: h.UsPerStep,
		Evidence: fmt.Sprintf("%s of the profiled time, confidence %s", report.Percent(h.Share), h.Confidence),
	}
	if len(h.Evidence) > 0 {
		item.Evidence += "; " + h.Evidence[0]
	}
	switch {
	case h.GainUsPerStep != nil:
		item.MagnitudeUs, item.CIUs = h.GainUsPerStep, h.GainCIUs
		item.Evidence += "; without it steps would be that much shorter, by replay of the trace"
	case h.ExposedUsPerStep != nil:
		item.MagnitudeUs = h.ExposedUsPerStep
		item.Evidence += "; a GPU waits for it that long"
	}
	if len(h.Options) > 0 {
		item.Claim += ": " + h.Options[0].Option
	}
	return item
}
