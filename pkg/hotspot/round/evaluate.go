package round

import (
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/hotspot"
)

// Options are what the rounds do not say.
type Options struct {
	Max   int    // rounds after the baseline, 0: DefaultMax
	Notes *Notes // nil for none
}

// Evaluate follows the rounds, of which the first is the baseline.
func Evaluate(in []Input, o Options) *Result {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	res := &Result{Rounds: []Round{}, Warnings: unknownNotes(in, o.Notes)}
	profiles := make([]*profile, len(in))
	last, measured := 0, 0 // the last round that was kept, and the last of these with a benchmark
	for i := range in {
		if len(in) > 1 { // alone there is nothing to compare it with
			profiles[i] = newProfile(&in[i])
		}
		r := begin(&in[i], o.Notes)
		if i == 0 {
			r.Verdict, r.kept = Baseline, true
			r.compareBench(nil, in[0].Bench)
		} else {
			r.Against = &in[last].Name
			res.Warnings = append(res.Warnings, r.compareProfiles(profiles[last], profiles[i])...)
			r.compareBench(in[measured].Bench, in[i].Bench)
			if len(in[measured].Bench) > 0 && len(in[i].Bench) > 0 {
				r.BenchAgainst = &in[measured].Name
			}
			r.Target = target(in[last].Report, profiles[last], profiles[i], &r)
			r.predict(in[last].Report, in[i].Moved)
			r.decide(in[i].Moved)
			if r.kept = r.Verdict != Regressed && !(r.Note != nil && r.Note.Reverted); r.kept {
				last = i
				if len(in[i].Bench) > 0 {
					measured = i
				}
			}
		}
		res.Rounds = append(res.Rounds, r)
	}
	res.Warnings = append(res.Warnings, affinity(res.Rounds)...)
	res.stop(&in[last], o)
	res.summarise(in, profiles, last)
	res.Last = last
	return res
}

// begin is a round before it is compared: no list of it is null.
func begin(in *Input, notes *Notes) Round {
	r := Round{Name: in.Name, TotalUs: in.Report.TotalUs, Steps: in.Report.Steps, Note: notes.of(in.Name),
		Functions: []Change{}, Lines: []Change{}, Pitfalls: []Pitfall{}}
	if r.Steps > 0 {
		r.UsPerStep = new(r.TotalUs / float64(r.Steps))
	}
	return r
}

// unknownNotes warns of notes on rounds that there are not.
func unknownNotes(in []Input, notes *Notes) (warnings []string) {
	if notes == nil {
		return nil
	}
	for _, n := range notes.Rounds {
		if !slices.ContainsFunc(in, func(r Input) bool { return r.Name == n.Name }) {
			warnings = append(warnings, fmt.Sprintf("the notes speak of %s, which is no round here", n.Name))
		}
	}
	return warnings
}

// affinity warns where rounds were allowed to run on different CPUs.
func affinity(rounds []Round) (warnings []string) {
	first := ""
	name := ""
	for _, r := range rounds {
		if r.Note == nil || r.Note.CPUs == "" {
			continue
		}
		if first == "" {
			first, name = r.Note.CPUs, r.Name
		} else if r.Note.CPUs != first {
			warnings = append(warnings, fmt.Sprintf("%s ran on the CPUs %s, %s on %s: part of the difference may be the CPUs'", name, first, r.Name, r.Note.CPUs))
		}
	}
	return warnings
}

// target is the line, or else the function, that the round was to improve: what the
// notes name, or else of the lines of the hotspots of the round before that which lost
// most time.
func target(before *hotspot.Report, a, b *profile, r *Round) *Change {
	da, db, _ := perStep(a, b)
	if fn, number, ok := noted(r.Note, a); ok {
		return changeOf(a, b, fn, number, da, db)
	}
	var best *Change
	for i := range before.Hotspots {
		h := &before.Hotspots[i]
		if h.Type == hotspot.Compute {
			continue
		}
		fn := keyOf(h.File, h.Function)
		for number := range a.keys[fn] {
			if number < h.Line || number > h.LastLine { // a loop, and what it does
				continue
			}
			c := changeOf(a, b, fn, number, da, db)
			if best == nil || c.DeltaUs < best.DeltaUs || c.DeltaUs == best.DeltaUs && c.Line < best.Line {
				c.Type = string(h.Type)
				best = c
			}
		}
	}
	return best
}

// noted is the function and line of the round before that a note names.
// A line goes before a function, as it says more. Paths are compared as profiles reduce them.
func noted(n *Note, a *profile) (fn functionKey, number int, ok bool) {
	if n == nil {
		return fn, 0, false
	}
	if n.Line > 0 && n.File != "" {
		for k, keys := range a.keys {
			if _, there := keys[n.Line]; there && k.file == keyOf(n.File, "").file {
				return k, n.Line, true
			}
		}
	}
	if n.Function != "" {
		for k := range a.functions {
			if k.name == keyOf("", n.Function).name {
				return k, 0, true
			}
		}
	}
	return fn, 0, false
}

// changeOf is how a line of a function changed, by its number before, or the function
// where there is no such line; nil where that is not there, either. Equal lines are one.
func changeOf(a, b *profile, fn functionKey, number int, da, db float64) *Change {
	if text, there := a.keys[fn][number]; there {
		t := change(fn, a.source[fn][text], costOf(a.lines[fn], text), costOf(b.lines[fn], text), da, db)
		t.Line = number
		return &t
	}
	was := costOf(a.functions, fn)
	if was == nil {
		return nil
	}
	return new(change(fn, "", was, costOf(b.functions, fn), da, db))
}

// decide sets the verdict, and what speaks for it.
// A benchmark of both rounds decides alone. Where none is, the traces of both do, else the
// profile, which slows short lines down; a benchmark of an earlier round can only make it worse. Failed tests call for taking it back, whatever
// the verdict.
func (r *Round) decide(moved *Moved) {
	by := decisive(r.Benchmark)
	switch {
	case by != nil && *r.BenchAgainst == *r.Against:
		r.decideByBenchmark(by)
	case moved != nil && moved.CIUs != nil:
		r.decideByTrace(moved)
		r.checkBenchmark(by)
	case r.ChangePct == nil:
		r.Verdict, r.Reason = NotComparable, "no outermost function is in both profiles, and there is no benchmark of both"
	default:
		r.decideByProfile()
		r.checkBenchmark(by)
	}
	if r.Verdict == Regressed {
		r.RollBack = true
	}
	if r.Note != nil && r.Note.Tests == "failed" {
		r.RollBack = true
		r.Reason += "; its tests failed"
	}
	if r.RollBack || (r.Note != nil && r.Note.Reverted) {
		r.Pitfalls = pitfalls(r.Lines)
	}
}

// decisive is the first metric of which there are figures of both rounds. The time to
// the first token is none: it waits in queues.
func decisive(bench []MetricChange) *MetricChange {
	for i := range bench {
		if bench[i].ChangePct != nil && bench[i].Metric != TTFT {
			return &bench[i]
		}
	}
	return nil
}

// decideByBenchmark decides by a metric of which both rounds have figures: an interval that
// leaves out zero where one is known, else a change of [SingleRun] and more.
func (r *Round) decideByBenchmark(by *MetricChange) {
	pct := *by.ChangePct
	r.Decisive = &MetricDecision{string(by.Metric), pct}
	better := pct
	if !by.Metric.HigherIsBetter() {
		better = -pct
	}
	r.gain = new(better / 100)
	label := metricNames[by.Metric]
	switch ci := by.ChangeCI; {
	case ci != nil && ci[0] <= 0 && ci[1] >= 0:
		r.Verdict = NoChange
		r.Reason = fmt.Sprintf("%s %+.1f %%, 95 %% between %+.1f and %+.1f: no more than runs differ", label, pct, ci[0], ci[1])
	case ci == nil && math.Abs(pct) < 100*SingleRun:
		r.Verdict = NoChange
		r.Reason = fmt.Sprintf("%s %+.1f %%: of single runs, under %.0f %% says nothing", label, pct, 100*SingleRun)
	default:
		r.Verdict = Regressed
		if better > 0 {
			r.Verdict = Improved
		}
		r.Reason = fmt.Sprintf("%s %+.1f %%", label, pct)
		if ci == nil {
			r.Reason += ", of single runs: noise unknown"
		}
	}
	r.contradiction()
}

// decideByTrace decides by the steps in the traces of both rounds.
func (r *Round) decideByTrace(m *Moved) {
	r.Decisive = &MetricDecision{"trace", m.Pct}
	r.gain = new(-m.Pct / 100)
	r.Reason = fmt.Sprintf("steps %+.1f %% in the traces", m.Pct)
	switch {
	case m.CIUs[0] <= 0 && m.CIUs[1] >= 0:
		r.Verdict = NoChange
		r.Reason += ": no more than steps differ"
	case m.DeltaUs < 0:
		r.Verdict = Improved
	default:
		r.Verdict = Regressed
	}
}

// contradiction adds what the profile says, where that is something else.
func (r *Round) contradiction() {
	if r.ChangePct == nil {
		return
	}
	p := *r.ChangePct
	if p < -100*ProfileNoise && r.Verdict != Improved || p > 100*ProfileNoise && r.Verdict == Improved {
		r.Reason += fmt.Sprintf("; the profile's time changed by %+.1f %%, but throughput decides", p)
	}
}

// decideByProfile decides by the profiled time, of which [ProfileNoise] and more counts.
func (r *Round) decideByProfile() {
	p := *r.ChangePct
	r.Decisive = &MetricDecision{"profile", p}
	r.gain = new(-p / 100)
	r.Reason = fmt.Sprintf("profiled time %+.1f %%", p)
	switch {
	case math.Abs(p) < 100*ProfileNoise:
		r.Verdict = NoChange
		r.Reason += fmt.Sprintf(": under %.0f %% is within what two profiles differ by", 100*ProfileNoise)
	case p < 0:
		r.Verdict = Improved
	default:
		r.Verdict = Regressed
	}
}

// checkBenchmark adds what a benchmark says against an earlier round than the profile is
// compared with: how much of it is this round's is not known, but together they must not
// have made it worse.
func (r *Round) checkBenchmark(by *MetricChange) {
	if by == nil {
		if r.Verdict != NoChange {
			r.Reason += "; no benchmark covers both rounds: whether throughput followed is unknown"
		}
		return
	}
	all := Round{Name: r.Name}
	all.decideByBenchmark(by)
	r.Reason += fmt.Sprintf("; since %s: %s", *r.BenchAgainst, all.Reason)
	if all.Verdict == Regressed {
		r.Verdict = Regressed
	}
}

// metricNames are the metrics as text.
var metricNames = map[Metric]string{
	OutputThroughput: "throughput", RequestThroughput: "request throughput", TPOT: "TPOT", ITL: "ITL", E2EL: "E2EL", TTFT: "TTFT",
}
