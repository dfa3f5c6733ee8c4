package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
)

// scopeNames are the names of scopes in documents.
var scopeNames = map[string]string{
	metric.Aggregate: step.BenchmarkWindow, metric.Context: step.ContextSteps, metric.Generation: step.GenerationSteps,
}

// scopeName returns the name of a scope of the run in documents.
func scopeName(scope string, run *metric.Run) string {
	if scope == metric.Aggregate && run.Window == metric.WindowTrace {
		return step.WholeTrace
	}
	return scopeNames[scope]
}

// remedy is what would help against a reason for INCONCLUSIVE.
type remedy int

const (
	recordGPU     remedy = iota // no GPU activity was recorded
	recordLess                  // the profiler could not keep up
	recordReplays               // replays of CUDA graphs were not recorded
	recordMarkers               // steps cannot be identified
	recordMore                  // too few steps after the profiler's start
	countMarkers                // steps may not be the iterations that markers show
)

// noSteps returns the reason for a run without steps. The title of the report states it, too.
func noSteps(run *metric.Run) string {
	return "no " + cmp.Or(run.Workload, "inference") + " steps were found, and the figures are of the whole trace, start-up and shut-down included"
}

// inconclusive returns the reasons why the trace cannot answer, a sentence each, and for each of
// them what would help. The weightiest come first: what is missing altogether, then what is
// missing in part, then doubts about the steps.
func inconclusive(run *metric.Run) (reasons []string, remedies []remedy) {
	say := func(what remedy, format string, args ...any) {
		reasons, remedies = append(reasons, fmt.Sprintf(format, args...)), append(remedies, what)
	}
	if !run.GPUActivity {
		say(recordGPU, "there is no GPU activity in the window")
	}
	if run.LostEvents {
		say(recordLess, "the profiler lost CUDA events: GPU work may be missing from the trace, and GPUs that look idle may be busy")
	}
	if run.StartOnly {
		say(recordMore, "the only forward step is the first after the profiler started, which includes profiler start-up")
	}
	for i := range run.Ranks {
		r := &run.Ranks[i]
		switch where := scopeName(metric.Aggregate, run); {
		case step.LostReplays(r.GraphLaunches, r.Replays, r.TraceGraphLaunches, r.TraceReplays):
			say(recordReplays, "rank %d launched %d CUDA graphs in its window (%s), but only %d replays were recorded: "+
				"GPU work is missing from the trace, and GPUs that look idle may be busy", r.Rank, r.GraphLaunches, where, r.Replays)
		case step.LostReplays(r.TraceGraphLaunches, r.TraceReplays, 0, 0) && !stat.MostOf(r.TraceReplays, r.TraceGraphLaunches):
			say(recordReplays, "rank %d launched %d CUDA graphs, but only %d replays were recorded: GPU work of the steps "+
				"is missing from the trace, so the %s may lack steps of the run", r.Rank, r.TraceGraphLaunches, r.TraceReplays, where)
		}
	}
	if run.NoSteps {
		say(recordMarkers, "%s", noSteps(run))
	}
	if n := wholeSteps(run); n >= 0 && n < minWhole {
		say(recordMore, "no rank has %d whole steps in its window (at most %d): too few for a verdict", minWhole, n)
	}
	if steps := numSteps(run); steps > 0 && run.Markers > 2*steps {
		say(countMarkers, "only %d of %d forward-step marker ranges became steps: the figures cover only part of the run", steps, run.Markers)
	}
	return reasons, remedies
}

// wholeSteps returns the largest number of whole steps in the window of a rank, -1 if there are
// no steps or if that is unknown.
func wholeSteps(run *metric.Run) int64 {
	most := int64(-1)
	for i := range run.Ranks {
		if r := &run.Ranks[i]; r.Whole != nil && r.Total > 0 && !run.NoSteps {
			most = max(most, *r.Whole)
		}
	}
	return most
}

// withApart returns what the verdict would be if the ranks whose steps could not be identified
// were included, with what they did in their windows.
func (r *Report) withApart(res *metric.Result, th *Thresholds) string {
	if len(r.run.Apart) == 0 {
		return r.Verdict
	}
	for i := range r.Scopes {
		name := r.Scopes[i].Name
		rows, err := res.WithApart(name)
		if err != nil {
			return Inconclusive
		}
		if s := classify(name, rows, th.Scope(name)); s.Verdict == Yes {
			return Yes
		}
	}
	return No
}

// ranksApart returns the numbers of the ranks that the figures leave out.
func (r *Report) ranksApart() (ranks []string) {
	for i := range r.run.Ranks {
		if rank := &r.run.Ranks[i]; rank.Apart && r.run.Window != metric.WindowTrace {
			ranks = append(ranks, fmt.Sprint(rank.Rank))
		}
	}
	return ranks
}

// numSteps returns the number of steps of all ranks.
func numSteps(run *metric.Run) (n int64) {
	for i := range run.Ranks {
		n += run.Ranks[i].Total
	}
	return n
}

// warnOfSteps warns about ranks without steps, and about figures that rest on too few steps.
func warnOfSteps(run *metric.Run, say func(format string, args ...any)) {
	if run.Method == "" {
		return
	}
	most := int64(0)
	for i := range run.Ranks {
		r := &run.Ranks[i]
		if most = max(most, r.Total); r.Benchmark != nil {
			most = max(most, *r.Benchmark)
		}
		if r.Total == 0 && !r.Apart { // ranks apart have a warning already
			say("rank %d has no steps and is not in per-step figures", r.Rank)
		}
	}
	if most == 1 {
		say("no rank has more than one step: idle time between steps is not in any per-step figure")
	}
	for i := range run.Phases {
		if p := &run.Phases[i]; p.Iterations < fewSteps {
			steps := report.Counted(int(p.Iterations), strings.TrimSuffix(scopeNames[p.Phase], "s"))
			say("only %s: too few for reliable figures", steps)
		}
	}
}
