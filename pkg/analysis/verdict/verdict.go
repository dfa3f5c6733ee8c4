// Package verdict decides whether the host holds the GPUs of a run back, by the
// metrics that package metric measured.
//
// Six metrics vote, those that are applicable: gpu_idle_ratio, launch_overhead_ratio, the
// three of input preparation, and gpu_utilization. A metric votes if it crosses its
// threshold; two votes or more make a YES. There is a verdict for the whole benchmark
// window, and for the context steps and the generation steps in it. The overall verdict
// is YES if one of them is, so a phase can raise it and never lower it. (gpu_idle_ratio
// and gpu_utilization are one measurement with two votes, which keeps thresholds and
// counts comparable with those of TensorRT-LLM's own analysis; the report says so if no
// other vote makes a YES.) Input preparation is confirmed as a cause if
// host_prep_perf_impact and host_prep_idle_attribution are both over the limit.
//
// The verdict is INCONCLUSIVE where the trace cannot answer:
//
//   - in some rank's window more graphs were launched than replays were recorded, by
//     more than 2 and more than 1 %; or in its whole trace, where most replays are
//     missing (then the steps that were found may be the few without graphs);
//   - nothing ran on a GPU at all;
//   - the profiler says that it lost CUDA events;
//   - fewer than half of the forward-step marker ranges became steps;
//   - no rank has five whole steps in its window;
//   - no steps were found though they were looked for: the figures are of the
//     whole trace.
//
// It is borderline if it would flip within the interval of one measurement
// (gpu_idle_ratio and gpu_utilization are one): a NO if some scope could become a YES; a
// YES if a scope with a YES could become a NO, unless the aggregate stays a YES. A scope
// without intervals (fewer than metric.MinSteps steps, or parts of a run added up) is
// never named. That does not make its verdict firm: a warning says so for a phase with so
// few steps.
//
// Metrics are those of package metric, which may have been measured by another
// process.
package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Verdicts.
const (
	Yes          = "YES"          // the host holds the GPUs back
	No           = "NO"           // it does not
	Inconclusive = "INCONCLUSIVE" // the recording does not tell
)

// ExitCode returns the exit status that stands for a verdict.
func ExitCode(verdict string) int {
	switch verdict {
	case Yes:
		return 1
	case Inconclusive:
		return 3
	}
	return 0
}

// Report is the answer. Its JSON form has the names that TensorRT-LLM's own
// analysis returns.
type Report struct {
	Verdict string `json:"verdict"` // Yes, No or Inconclusive
	// Label is what the user calls the run, "" for nothing.
	Label string `json:"label,omitempty"`
	// Borderline names the measurements that could change the verdict within
	// their intervals, as SCOPE.METRIC; empty where it is firm, or INCONCLUSIVE.
	Borderline []string `json:"borderline"`
	// Window is what the aggregate is of: metric.WindowBenchmark or WindowTrace.
	Window string `json:"scope"`
	Aggregate
	// Reported are the metrics of the aggregate without a vote.
	Reported Reported `json:"reported"`
	// RaisedBy is host_bound_ratio of a YES that would be none without the time that GPUs wait
	// in collectives for a late host (the lower end of its interval), else null.
	RaisedBy *string `json:"raised_by"`
	// Collectives says what the waits in collectives are of, null where there are none.
	Collectives *metric.Collectives `json:"collectives,omitempty"`
	Phases      Phases              `json:"phases"` // those with steps
	Steps       Steps               `json:"steps"`  // how they were found
	LoadCheck
	// Training tells that a backward pass or an optimizer was recorded. Workload says what the
	// run does other than generating tokens, event.Training or event.Diffusion; "" for neither.
	Training bool   `json:"training"`
	Workload string `json:"workload,omitempty"`
	// History says whether the run is worse than those before, null where it was not
	// compared with any.
	History *metric.HistoryResult `json:"history,omitempty"`
	// Warnings are what to know before believing the figures, a sentence each.
	Warnings []string       `json:"warnings"`
	Handoff  report.Handoff `json:"optimization_handoff"` // for whoever optimises

	basis
}

// Aggregate are the figures of the whole window.
type Aggregate struct {
	Metrics   Metrics   `json:"aggregate_metrics"` // ratios, null where not applicable
	Intervals Intervals `json:"intervals"`         // of these, 95 %
	Counted
	OverDetails Votes `json:"crossed_details"` // one vote for each metric
}

// Counted is what the metrics of a scope come to.
type Counted struct {
	// Over is how many metrics are over their limits, out of Applicable ones.
	Over       int `json:"crossed_count"`
	Applicable int `json:"applicable_count"`
	// HostPrep tells that input preparation is confirmed as a cause, NCCL that NCCL kernels take so
	// much of the busy time that idle GPUs may be counted as busy.
	HostPrep bool `json:"host_prep_confirmed"`
	NCCL     bool `json:"nccl_caveat"`
}

// LoadCheck says whether a YES is one for want of requests.
type LoadCheck struct {
	// IsLowLoad tells of a YES whether there would be none without the idle time for want of
	// requests: then the load is low, and the host does not hold the GPUs back. Waits is that
	// time. Both are null without a YES, and where calls of the system's libraries were not
	// recorded on all ranks; LowLoadUnknown says why in a YES, else it is "".
	IsLowLoad      *bool    `json:"low_load"`
	Waits          *LowLoad `json:"request_wait,omitempty"`
	LowLoadUnknown string   `json:"low_load_unknown,omitempty"`
}

// basis is what a verdict rests on.
type basis struct {
	// Of says of what reports the figures are, nil where the metric rows do not say.
	Of *event.Provenance `json:"-"`
	// Scopes are the verdicts of the scopes, the aggregate first.
	Scopes []Scope `json:"-"`
	// Reasons say why the verdict is INCONCLUSIVE, a sentence each.
	Reasons []string `json:"-"`

	remedies []remedy // of the reasons
	run      *metric.Run
	samples  []metric.Sample // for figures, nil for none
}

// Reported are metrics without a vote, null where they are not applicable or not known.
type Reported struct {
	GraphLaunch    *float64 `json:"graph_launch_ratio"`        // as metric.GraphLaunch, and so on
	Comm           *float64 `json:"comm_ratio"`                // collectives, of busy GPU time
	Backpressure   *float64 `json:"launch_backpressure_ratio"` // waits for a full queue, by wall time
	CollectiveWait *float64 `json:"collective_wait_ratio"`     // null without collectives of several ranks
	HostWait       *float64 `json:"host_wait_ratio"`           // null as CollectiveWait
	HostBound      *float64 `json:"host_bound_ratio"`          // null as CollectiveWait
}

// Phases are the verdicts of the phases, nil for a phase without steps.
type Phases struct {
	Context    *Phase `json:"context,omitempty"`    // steps with context requests
	Generation *Phase `json:"generation,omitempty"` // steps with generation requests alone
}

// Phase is the verdict of a phase.
type Phase struct {
	// IterationCount is the largest number of such steps in any one rank.
	IterationCount int64 `json:"iteration_count"`
	// The rest, Metrics, Intervals, Reported and RaisedBy too, is as in Report, of the steps of the phase in the benchmark segments.
	Verdict string `json:"verdict"`
	Counted
	Metrics   Metrics   `json:"metrics"`
	Intervals Intervals `json:"intervals"`
	Reported  Reported  `json:"reported"`
	RaisedBy  *string   `json:"raised_by"`
	// CUDAGraphs reports whether graph replays ran any of the GPU work; nil for
	// the context phase.
	CUDAGraphs *bool `json:"cuda_graphs_detected,omitempty"`
}

// Steps describes the steps.
type Steps struct {
	// Method is how they were isolated, "none" where they were not; then PerRank is
	// empty.
	Method  string `json:"method"`
	PerRank []Rank `json:"per_rank"`
}

// Rank describes the steps of a rank.
type Rank struct {
	Rank       int32 `json:"rank"`        // its number
	Total      int64 `json:"total"`       // of all its steps
	CommonSize int64 `json:"common_size"` // their most frequent size: all-reduce kernels, or 1
	Segments   int64 `json:"segments"`    // into which long idle stretches split them
	// Benchmark is the number of steps in the benchmark segment; where there is
	// none, that of all steps, which are taken instead.
	Benchmark int64 `json:"benchmark"`
	// Outside is what lies outside of the benchmark segment, left out where nothing does.
	Outside *step.Remainder `json:"outside,omitempty"`
}

// FirstLaunch is the FirstTarget that stands for kernel-launch calls, by the name
// that gaps gives the cause.
const FirstLaunch = "launch"

// Decide returns the verdict on what was measured.
// Thresholds have been checked. INCONCLUSIVE goes before everything else; what was measured
// is in the report all the same. A phase can make the verdict YES, and never NO.
func Decide(res *metric.Result, th Thresholds) *Report {
	r := &Report{Warnings: []string{}, Window: res.Window, Label: res.Label, basis: basis{run: &res.Run, samples: res.Samples, Of: res.Of}}
	r.Workload, r.Training = r.run.Workload, r.run.Workload == event.Training
	r.Scopes = append(r.Scopes, classify(metric.Aggregate, res.Rows, &th.Aggregate))
	for _, name := range []string{metric.Context, metric.Generation} {
		if r.phaseRun(name) != nil {
			r.Scopes = append(r.Scopes, classify(name, res.Rows, th.Scope(name)))
		}
	}
	all := &r.Scopes[0]
	r.Metrics, r.Intervals, r.OverDetails = all.figures()
	r.Counted = all.Counted
	r.Phases = Phases{r.phase(metric.Context), r.phase(metric.Generation)}
	r.Steps = steps(r.run)
	r.Reported, r.Collectives = all.reported(), r.run.Collectives
	r.Verdict = No
	for i := range r.Scopes {
		if r.Scopes[i].Verdict == Yes {
			r.Verdict = Yes
		}
	}
	r.RaisedBy = r.raisedBy()
	r.Reasons, r.remedies = inconclusive(r.run)
	if r.withApart(res, &th) != r.Verdict {
		r.Reasons = append(r.Reasons, fmt.Sprintf("the steps of rank %s cannot be identified, and its figures would change the verdict of the other ranks",
			strings.Join(r.ranksApart(), ", ")))
		r.remedies = append(r.remedies, recordMarkers)
	}
	if len(r.Reasons) > 0 {
		r.Verdict, r.RaisedBy = Inconclusive, nil
	}
	r.Borderline = r.borderline()
	if r.Verdict == Yes {
		if r.Waits = r.lowLoad(); r.Waits == nil {
			r.LowLoadUnknown = cmp.Or(lowLoadUnknown[r.run.Source], lowLoadUnknown[""])
		} else {
			r.IsLowLoad = &r.Waits.Explains
		}
	}
	r.Handoff = r.handoff()
	r.warn()
	r.Warnings = report.OneForAllRanks(r.Warnings)
	return r
}

// raisedBy names what raised the verdict: nothing where a scope is a YES without it.
func (r *Report) raisedBy() (name *string) {
	for i := range r.Scopes {
		switch s := &r.Scopes[i]; {
		case s.Verdict == Yes && !s.Raised:
			return nil
		case s.Raised:
			name = s.raisedBy()
		}
	}
	return name
}

// borderline names the measurements that could change the verdict.
// Only measurements of scopes with the run's own verdict count, as only those decide it; and
// none where the aggregate's YES is certain, whatever a phase would say.
func (r *Report) borderline() []string {
	names := []string{}
	all := &r.Scopes[0]
	if r.Verdict == Inconclusive || all.Verdict == Yes && all.interval[gpuIdle] != nil && len(all.Borderline) == 0 {
		return names
	}
	for i := range r.Scopes {
		if s := &r.Scopes[i]; s.Verdict == r.Verdict {
			for _, name := range s.Borderline {
				names = append(names, s.Name+"."+name)
			}
		}
	}
	return names
}

// Ranks is how many ranks the figures are of.
func (r *Report) Ranks() int { return len(r.run.Ranks) }

// phaseRun returns what is known of a phase, nil where it has no steps.
func (r *Report) phaseRun(name string) *metric.Phase {
	for i := range r.run.Phases {
		if r.run.Phases[i].Phase == name {
			return &r.run.Phases[i]
		}
	}
	return nil
}

// steps describes the steps of the ranks.
func steps(run *metric.Run) Steps {
	s := Steps{Method: run.Method, PerRank: []Rank{}}
	if s.Method == "" {
		s.Method = "none"
		return s
	}
	for i := range run.Ranks {
		rank := &run.Ranks[i]
		n := rank.Total
		if rank.Benchmark != nil {
			n = *rank.Benchmark
		}
		s.PerRank = append(s.PerRank, Rank{rank.Rank, rank.Total, rank.CommonSize, rank.Segments, n, rank.Outside})
	}
	return s
}

// scope returns the verdict of a scope, nil where it has none.
func (r *Report) scope(name string) *Scope {
	for i := range r.Scopes {
		if r.Scopes[i].Name == name {
			return &r.Scopes[i]
		}
	}
	return nil
}

// phase returns the verdict of a phase, nil where it has no steps.
func (r *Report) phase(name string) *Phase {
	s := r.scope(name)
	if s == nil {
		return nil
	}
	found := r.phaseRun(name)
	p := &Phase{IterationCount: found.Iterations, Verdict: s.Verdict, Counted: s.Counted}
	p.Metrics, p.Intervals, _ = s.figures()
	p.Reported, p.RaisedBy = s.reported(), s.raisedBy()
	if name == metric.Generation {
		p.CUDAGraphs = new(found.Replayed > 0)
	}
	return p
}

// handoff fills in what the metrics know of where to begin.
func (r *Report) handoff() report.Handoff {
	h := report.Handoff{Verdict: &r.Verdict, HostPrepConfirmed: &r.HostPrep}
	most := int64(-1)
	for i := range r.Scopes {
		if s := &r.Scopes[i]; s.Name != metric.Aggregate && s.Verdict == Yes && s.idle > most {
			most = s.idle
			h.Phase = &s.Name
		}
	}
	if s := r.run.Steady; s != nil {
		h.Wall, h.Kernels = new(s.Wall/1e3), s.Kernels
		if s.GapP50 != nil {
			h.GapP50 = new(*s.GapP50 / 1e3)
		}
	}
	h.FirstTarget = r.firstTarget(h.Phase)
	return h
}

// firstTarget is what to begin with: what gaps found, else the ranges of input preparation where
// they are confirmed, FirstLaunch where launches are over their limit and may be a third of the idle time, of
// all steps or of those of the phase to begin with. It is null where there is no YES or these
// figures cannot name anything: gaps does.
func (r *Report) firstTarget(phase *string) *string {
	if f := r.first(); f != nil {
		return &f.Name
	}
	target := ""
	for i := range r.Scopes {
		switch s := &r.Scopes[i]; {
		case r.LowOnLoad() || r.Verdict != Yes || s.Verdict != Yes || s.Name != metric.Aggregate && s.Name != *phase:
		case s.HostPrep && r.run.Prep != "":
			target = r.run.Prep
		case s.over[launch] && launchPart*s.at(launch)*float64(s.capacity) >= float64(s.idle) && target == "":
			target = FirstLaunch
		}
	}
	return report.OrNull(target)
}

// first is what gaps found to begin with, nil without a YES.
func (r *Report) first() *metric.Target {
	if r.Verdict != Yes || r.LowOnLoad() {
		return nil
	}
	return r.run.First
}

// inconclusivePrefix is before a reason of INCONCLUSIVE among the warnings.
const inconclusivePrefix = "inconclusive: "

// warn says what to know before believing the figures.
func (r *Report) warn() {
	say := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	for _, reason := range r.Reasons {
		say("%s", inconclusivePrefix+reason)
	}
	for _, w := range r.run.Warnings {
		say("%s", w)
	}
	run := r.run
	warnOfSteps(run, say)
	if run.Kernels > 0 && run.Launches == 0 && run.HiddenGraphs == 0 {
		say("launch_overhead_ratio reads 0 because the trace has kernels and no API calls")
	}
	for i := range run.Ranks {
		r := &run.Ranks[i]
		if step.LostReplays(r.Replays, r.GraphLaunches, r.TraceReplays, r.TraceGraphLaunches) { // calls, beside replays
			say("rank %d has %d graph replays, but only %d calls that launched them: calls are missing from the trace", r.Rank, r.Replays, r.GraphLaunches)
		}
	}
	if len(r.Borderline) > 0 {
		say("the verdict is borderline: it would flip if one of these were elsewhere in its 95 %% interval: %s", strings.Join(r.Borderline, ", "))
	}
	c := r.Collectives
	if c != nil && r.Reported.CollectiveWait != nil && c.Doubt() != "" {
		say("%s", c.Doubt())
	}
	if c != nil && c.NoMatch() != "" {
		say("%s", c.NoMatch())
	}
	if s, share := r.waitUnknown(); s != nil {
		say("in the %s %s of the time is, or may be, spent in collective waits of unknown cause: if hosts are late there, the verdict would be YES", r.about(s), percent(share))
	}
	if r.Verdict == Yes && r.RaisedBy == nil && r.idleAlone() {
		say("the YES rests on idle GPUs alone: gpu_idle_ratio and gpu_utilization are the same measurement, counted twice")
	}
	if text := r.Waits.text(); text != "" {
		say("%s", text)
	}
	if share, decides := r.notHost(); share > 0 && r.Verdict == Yes && !r.LowOnLoad() {
		requests, text := "", ""
		if r.Waits != nil && r.Waits.WaitUs > 0 {
			requests = "for requests, "
		}
		if decides {
			text = ". Without it this would not be a YES"
		}
		say("%s of the idle time has no host cause: GPUs wait %sfor copies, for other streams or inside graphs%s", report.Percent(share), requests, text)
	}
	if r.NCCL {
		say("NCCL kernels take %s of the GPUs' busy time: waits for the slowest rank count as busy", percent(r.Metrics.NCCL))
	}
}

// unmatched is about what share of the time of a scope collectives take that have no match on another
// rank, though all were recorded: in each scope the same part of them.
func (r *Report) unmatched(s *Scope) float64 {
	c := r.Collectives
	if c == nil || c.Estimated || s.value[comm] == nil {
		return 0
	}
	return c.UnmatchedPart * s.at(comm) * s.at(gpuUtilization)
}

// waitUnknown is the first scope of a NO that may be a YES, for all that is known of waits in collectives,
// and their share of its time.
func (r *Report) waitUnknown() (*Scope, *float64) {
	for i := range r.Scopes {
		s := &r.Scopes[i]
		if share := s.waitUnknown(r.unmatched(s)); r.Verdict == No && share != nil {
			return s, share
		}
	}
	return nil, nil
}

// idleAlone reports whether no YES has a vote of another metric than the two on idle
// GPUs.
func (r *Report) idleAlone() bool {
	for i := range r.Scopes {
		s := &r.Scopes[i]
		for m := range numVotes {
			if s.Verdict == Yes && s.over[m] && m != gpuIdle && m != gpuUtilization {
				return false
			}
		}
	}
	return true
}
