package gap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/handoff"
	"github.com/hostbound/hostbound/pkg/marker"
)

// maxTargets is how many causes the hand-off names.
const maxTargets = 5

// handoff makes the hand-off of a report.
func (r *Report) handoff() handoff.Handoff {
	h := handoff.Handoff{TopIdleCauses: []handoff.IdleCause{}}
	for _, c := range r.Idle.Causes {
		if onHost(c.Cause) && c.Share >= minIdleShare && len(h.TopIdleCauses) < maxTargets {
			h.TopIdleCauses = append(h.TopIdleCauses, handoff.IdleCause{Cause: c.Cause, UsPerStep: c.UsPerStep, Path: c.Path, Source: c.Source})
		}
	}
	most := 0.0
	for _, p := range r.Idle.Phases {
		if p.TotalUs > most && p.Phase != event.Phases[event.Unknown] {
			h.Phase, most = new(p.Phase), p.TotalUs
		}
	}
	h.FirstTarget = r.firstTarget()
	if n := r.Idle.Steps; n > 0 && r.Idle.Window == WindowBenchmark {
		h.Idle, h.Wall, h.Kernels = perStep(r.Idle.TotalUs, n), perStep(r.Idle.WindowUs, n), perStep(float64(r.Graph.Kernels), n)
	}
	return h
}

// onHost tells whether a cause of idle time is what a host thread does.
func onHost(cause string) bool {
	switch cause {
	case "graph", "queued", "tail", "untraced":
		return false
	}
	return true
}

// firstTarget returns what to look at first, nil for nothing.
// It is what costs most per step, of findings and of ranges: a function where that is
// known, else a range or call. Waiting for requests is no target where there is too little
// load.
func (r *Report) firstTarget() *string {
	steps := float64(max(1, r.Idle.Steps))
	most, target := 0.0, ""
	low := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Pattern == LowLoad })
	for _, f := range r.Findings {
		name := cmp.Or(f.Source, innermost(f.Path), f.Site)
		if name != "" && f.Pattern != LowLoad && f.UsStep > most {
			most, target = f.UsStep, name
		}
	}
	for _, c := range r.Idle.Causes {
		name, ok := strings.CutPrefix(c.Cause, "host:")
		if !ok || c.Share < minIdleShare || c.Us/steps <= most || low && marker.FetchesRequests(name) {
			continue
		}
		most, target = c.Us/steps, cmp.Or(c.Source, name)
	}
	return handoff.OrNull(target)
}
