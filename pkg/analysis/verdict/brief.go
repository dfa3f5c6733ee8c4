package verdict

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
)

// Brief returns the short form for programs: the metrics over their limits in the scope that
// decides, with their figures.
func (r *Report) Brief() *report.Brief {
	s := r.worst()
	b := &report.Brief{Answer: r.title().String(), Conclusion: r.Verdict}
	switch {
	case len(r.Reasons) > 0:
		b.Answer += ": " + r.Reasons[0]
	case s.value[gpuIdle] != nil:
		b.Answer += fmt.Sprintf(": in the %s the GPUs are idle %s of the time (limit %s)", r.about(s), percent(s.value[gpuIdle]), limit(*s.limits.at(gpuIdle)))
	}
	for m := range numVotes {
		if !s.over[m] || m == gpuUtilization && s.over[gpuIdle] {
			continue
		}
		item := report.BriefItem{ID: report.BriefID("verdict", s.Name, metric.Names[m]), Claim: metric.Names[m] + " is over its limit", Where: &s.Name}
		item.Evidence = percent(s.value[m]) + ", limit " + limit(*s.limits.at(m))
		if i := s.interval[m]; i != nil {
			item.Evidence += ", 95 % interval " + report.Percent(i.Low) + " to " + report.Percent(i.High)
		}
		if n := r.steps(s); m == gpuIdle && n > 0 {
			item.MagnitudeUs, item.CIUs = perStep(s, n)
		}
		b.Items = append(b.Items, item)
	}
	b.CannotTell = append(b.CannotTell, r.Warnings...)
	if r.Waits == nil && r.Verdict == Yes && r.Workload == "" {
		b.CannotTell = append(b.CannotTell, "whether there were enough requests: "+r.LowLoadUnknown)
	}
	next := "gaps TRACE --brief"
	switch {
	case r.LowOnLoad():
		next = ""
	case r.Verdict == No:
		next = "whatif TRACE --brief"
	case r.Verdict == Inconclusive:
		next = "nsys2arrow --doctor TRACE"
	}
	b.Next = report.OrNull(next)
	return b.Fit()
}

// steps returns the number of rank-steps of a scope, 0 if unknown.
func (r *Report) steps(s *Scope) (n int64) {
	if p := r.phaseRun(s.Name); p != nil {
		return p.Iterations * int64(len(r.run.Ranks))
	}
	for i := range r.Steps.PerRank {
		n += r.Steps.PerRank[i].Benchmark
	}
	return n
}

// perStep returns the idle time per rank-step, in us, with its 95 % interval, nil if there is
// none.
func perStep(s *Scope, steps int64) (us *float64, ci *[2]float64) {
	x := float64(s.idle) / 1e3 / float64(steps)
	if i := s.interval[gpuIdle]; i != nil {
		whole := float64(s.capacity) / 1e3 / float64(steps)
		ci = &[2]float64{i.Low * whole, i.High * whole}
	}
	return &x, ci
}
