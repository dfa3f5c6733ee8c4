package gap

import (
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// maxTargets is how many causes the hand-off names.
const maxTargets = 5

// minCauseShare, 2 %: the least share of the idle time of a cause that is named.
const minCauseShare = 0.02

// handoff returns the hand-off of the report.
func (r *Report) handoff() report.Handoff {
	h := report.Handoff{TopIdleCauses: []report.IdleCause{}}
	for _, c := range r.Idle.Causes {
		if onHost(c.Cause) && c.Share >= minCauseShare && len(h.TopIdleCauses) < maxTargets {
			h.TopIdleCauses = append(h.TopIdleCauses, report.IdleCause{Cause: c.Cause, UsPerStep: c.UsPerStep, Path: c.Path, Source: c.Source})
		}
	}
	most := 0.0
	for _, p := range r.Idle.Phases {
		if p.TotalUs > most && p.Phase != event.Phases[event.Unknown] {
			h.Phase, most = new(p.Phase), p.TotalUs
		}
	}
	h.FirstTarget, h.KernelLevel = report.OrNull(targetOf(r.First)), r.kernelLevel()
	if n := r.Idle.Steps; n > 0 && r.Idle.Window == WindowBenchmark {
		h.Idle, h.Wall, h.Kernels = perStep(r.Idle.TotalUs, n), perStep(r.Idle.WindowUs, n), perStep(float64(r.Graph.Kernels), n)
	}
	return h
}

// kernelLevel returns what the report says of kernels, for the hand-off.
func (r *Report) kernelLevel() *report.KernelLevel {
	k := &report.KernelLevel{GraphCoverage: r.Graph.Coverage, Capturable: []string{}}
	for i := range r.Graph.Eager {
		if e := &r.Graph.Eager[i]; e.Capturable && len(k.Capturable) < maxTargets {
			k.Capturable = append(k.Capturable, e.Name)
		}
	}
	if p := r.Pattern; p != nil {
		k.LayerKernels, k.LayerRepetitions, k.LayerGap = &p.Length, &p.Repetitions, &p.GapPerStep
	}
	if len(r.Gaps.Top) > 0 {
		k.LongestGap = &r.Gaps.Top[0].GapUs
	}
	if s := r.Straggler; s != nil && s.Rank != nil {
		k.Straggler, k.StragglerLate = s.Rank, &s.LateUs
	}
	return k
}

// onHost reports whether a cause of idle time is something that a host thread does.
func onHost(cause string) bool {
	_, ok := bounds[cause]
	return !ok
}
