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
	Inconclusive = "INCONCLUSIVE" // the recording cannot tell
)

// ExitCode returns the exit status for a verdict.
func ExitCode(verdict string) int {
	switch verdict {
	case Yes:
		return 1
	case Inconclusive:
		return 3
	}
	return 0
}

// Report is the answer. Its JSON form uses the names of TensorRT-LLM's own analysis.
type Report struct {
	Verdict string `json:"verdict"` // Yes, No or Inconclusive
	// Label is the user's name for the run, "" for none.
	Label string `json:"label,omitempty"`
	// Borderline names the measurements that could change the verdict within their intervals,
	// as SCOPE.METRIC. It is empty if none could, or if the verdict is INCONCLUSIVE.
	Borderline []string `json:"borderline"`
	// Window is the window of the aggregate: metric.WindowBenchmark or metric.WindowTrace.
	Window string `json:"scope"`
	Aggregate
	// Reported are the metrics of the aggregate without a vote.
	Reported Reported `json:"reported"`
	// RaisedBy is "host_bound_ratio" if a YES would be a NO without the time that GPUs wait in
	// collectives for a late host, else null. The lower end of that time's interval decides.
	RaisedBy *string `json:"raised_by"`
	// Collectives describes the collectives that waits are of, null if there are none.
	Collectives *metric.Collectives `json:"collectives,omitempty"`
	Phases      Phases              `json:"phases"` // those with steps
	Steps       Steps               `json:"steps"`  // how they were found
	LoadCheck
	// Training is set if a backward pass or an optimizer was recorded. Workload is
	// event.Training or event.Diffusion, "" for token generation or unknown.
	Training bool   `json:"training"`
	Workload string `json:"workload,omitempty"`
	// History says whether the run is worse than those before, null if it was not compared with
	// any.
	History *metric.HistoryResult `json:"history,omitempty"`
	// Warnings are what to know before believing the figures, a sentence each.
	Warnings []string       `json:"warnings"`
	Handoff  report.Handoff `json:"optimization_handoff"` // input of the optimization step

	basis
}

// Aggregate are the figures of the whole window.
type Aggregate struct {
	Metrics   Metrics   `json:"aggregate_metrics"` // ratios, null if not applicable
	Intervals Intervals `json:"intervals"`         // their 95 % intervals
	Counted
	OverDetails Votes `json:"crossed_details"` // by metric
}

// Counted sums up the metrics of a scope.
type Counted struct {
	// Over is how many metrics with a vote are over their limits, out of Applicable ones.
	Over       int `json:"crossed_count"`
	Applicable int `json:"applicable_count"`
	// HostPrep is set if input preparation is confirmed as a cause. NCCL is set if NCCL kernels
	// take so much of the busy time that waiting GPUs may be counted as busy.
	HostPrep bool `json:"host_prep_confirmed"`
	NCCL     bool `json:"nccl_caveat"`
}

// LoadCheck says whether a YES is due to a lack of requests.
type LoadCheck struct {
	// Waits is the idle time due to a lack of requests. IsLowLoad says whether a YES would be a
	// NO without it: then the load is low, and the host does not hold the GPUs back. Both are
	// null without a YES, and if OS calls were not recorded on all ranks. LowLoadUnknown says
	// why they are null for a YES, else it is "".
	IsLowLoad      *bool    `json:"low_load"`
	Waits          *LowLoad `json:"request_wait,omitempty"`
	LowLoadUnknown string   `json:"low_load_unknown,omitempty"`
}

// basis is what a verdict is based on.
type basis struct {
	// Of identifies the reports that the figures are of, nil if the metric rows do not say.
	Of *event.Provenance `json:"-"`
	// Scopes are the verdicts of the scopes, the aggregate first.
	Scopes []Scope `json:"-"`
	// Reasons say why the verdict is INCONCLUSIVE, a sentence each.
	Reasons []string `json:"-"`

	remedies []remedy // what helps against each of Reasons
	run      *metric.Run
	samples  []metric.Sample // for figures; nil for no figures
}

// Reported are metrics without a threshold, as ratios, null if not applicable or unknown.
type Reported struct {
	GraphLaunch    *float64 `json:"graph_launch_ratio"`        // as metric.GraphLaunch, and so on for the others
	Comm           *float64 `json:"comm_ratio"`                // collectives / busy GPU time
	Backpressure   *float64 `json:"launch_backpressure_ratio"` // launch calls that wait for a full queue / wall time
	CollectiveWait *float64 `json:"collective_wait_ratio"`     // null if waits in collectives are unknown
	HostWait       *float64 `json:"host_wait_ratio"`           // null if waits or their causes are unknown
	HostBound      *float64 `json:"host_bound_ratio"`          // null without recorded launches
}

// Phases are the verdicts of the phases, nil for a phase without steps.
type Phases struct {
	Context    *Phase `json:"context,omitempty"`    // steps with context requests
	Generation *Phase `json:"generation,omitempty"` // steps with generation requests alone
}

// Phase is the verdict of a phase.
type Phase struct {
	// IterationCount is the largest number of such steps in any rank.
	IterationCount int64 `json:"iteration_count"`
	// The fields up to RaisedBy are as in Report, but for the steps of the phase in the
	// benchmark segments.
	Verdict string `json:"verdict"`
	Counted
	Metrics   Metrics   `json:"metrics"`
	Intervals Intervals `json:"intervals"`
	Reported  Reported  `json:"reported"`
	RaisedBy  *string   `json:"raised_by"`
	// CUDAGraphs reports whether graph replays ran any of the GPU work; nil for the context
	// phase.
	CUDAGraphs *bool `json:"cuda_graphs_detected,omitempty"`
}

// Steps describes the steps of the run.
type Steps struct {
	// Method is how they were isolated. It is "none" if they were not; then PerRank is empty.
	Method  string `json:"method"`
	PerRank []Rank `json:"per_rank"`
}

// Rank describes the steps of a rank.
type Rank struct {
	Rank       int32 `json:"rank"`        // its number
	Total      int64 `json:"total"`       // number of all its steps
	CommonSize int64 `json:"common_size"` // their most frequent size: all-reduce kernels, or 1
	Segments   int64 `json:"segments"`    // number of segments, split by long idle times
	// Benchmark is the number of steps in the benchmark segment or, if there is none, of all
	// steps, which count instead.
	Benchmark int64 `json:"benchmark"`
	// Outside is what lies outside of the benchmark segment, left out if nothing does.
	Outside *step.Remainder `json:"outside,omitempty"`
}

// FirstLaunch is the FirstTarget for kernel-launch calls: the name of the cause in gaps.
const FirstLaunch = "launch"

// Decide returns the verdict on the result. Thresholds must have been checked. INCONCLUSIVE takes
// precedence, but the report has all figures nevertheless. A phase can make the verdict YES, never
// NO.
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

// raisedBy names the metric that raised the verdict. It returns nil if some scope is a YES
// without it.
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

// borderline names the measurements that could change the verdict. Only scopes with the verdict
// of the run count, because only those decide it. If the aggregate is a firm YES, no phase can
// change the verdict, and none is named.
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

// Ranks returns the number of ranks of the run.
func (r *Report) Ranks() int { return len(r.run.Ranks) }

// phaseRun returns the description of a phase, nil if it has no steps.
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

// scope returns the verdict of a scope, nil if it has none.
func (r *Report) scope(name string) *Scope {
	for i := range r.Scopes {
		if r.Scopes[i].Name == name {
			return &r.Scopes[i]
		}
	}
	return nil
}

// phase returns the verdict of a phase, nil if it has no steps.
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

// handoff returns what the metrics tell about where to begin.
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

// firstTarget returns what to begin with: what gaps found; else the ranges of input preparation,
// if confirmed as a cause; else FirstLaunch, if launches are over their limit and may be a third
// of the idle time. The aggregate and the phase to begin with count. It is nil without a YES, or
// if these figures name nothing: then gaps is needed.
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

// first returns what gaps found to begin with, nil for none, or without a YES or for low load.
func (r *Report) first() *metric.Target {
	if r.Verdict != Yes || r.LowOnLoad() {
		return nil
	}
	return r.run.First
}

// inconclusivePrefix precedes reasons for INCONCLUSIVE among the warnings.
const inconclusivePrefix = "inconclusive: "

// warn fills in Warnings.
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
		if step.LostReplays(r.Replays, r.GraphLaunches, r.TraceReplays, r.TraceGraphLaunches) { // arguments swapped: calls may be lost, not replays
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

// unmatched estimates the share of a scope's time in collectives without a match on another rank,
// if all ranks were recorded. It assumes the same part of collectives in each scope.
func (r *Report) unmatched(s *Scope) float64 {
	c := r.Collectives
	if c == nil || c.Estimated || s.value[comm] == nil {
		return 0
	}
	return c.UnmatchedPart * s.at(comm) * s.at(gpuUtilization)
}

// waitUnknown is about a NO that might be a YES if the causes of waits in collectives were known.
// It returns the first such scope and the share of its time in these waits; else both are nil.
func (r *Report) waitUnknown() (*Scope, *float64) {
	for i := range r.Scopes {
		s := &r.Scopes[i]
		if share := s.waitUnknown(r.unmatched(s)); r.Verdict == No && share != nil {
			return s, share
		}
	}
	return nil, nil
}

// idleAlone reports whether every YES has votes only of the two metrics on idle GPUs.
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
