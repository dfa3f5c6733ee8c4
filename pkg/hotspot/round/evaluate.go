package round

import (
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/hotspot"
)

// Options are settings that the rounds do not contain.
type Options struct {
	Max   int    // most rounds after the baseline, 0 for DefaultMax
	Notes *Notes // nil if there are none
}

// Evaluate evaluates the rounds, of which the first is the baseline.
func Evaluate(in []Input, o Options) *Result {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	res := &Result{Rounds: []Round{}, Warnings: unknownNotes(in, o.Notes)}
	profiles := make([]*profile, len(in))
	last, measured := 0, 0 // the last kept round, and the last kept one with a benchmark
	for i := range in {
		if len(in) > 1 { // alone there is nothing to compare with
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

// begin returns a round before it is compared, with empty lists instead of null ones.
func begin(in *Input, notes *Notes) Round {
	r := Round{Name: in.Name, TotalUs: in.Report.TotalUs, Steps: in.Report.Steps, Note: notes.of(in.Name),
		Functions: []Change{}, Lines: []Change{}, Pitfalls: []Pitfall{}}
	if r.Steps > 0 {
		r.UsPerStep = new(r.TotalUs / float64(r.Steps))
	}
	return r
}

// unknownNotes warns of notes on rounds that do not exist.
func unknownNotes(in []Input, notes *Notes) (warnings []string) {
	if notes == nil {
		return nil
	}
	for _, n := range notes.Rounds {
		if !slices.ContainsFunc(in, func(r Input) bool { return r.Name == n.Name }) {
			warnings = append(warnings, fmt.Sprintf("the notes name %s, which is not among the rounds", n.Name))
		}
	}
	return warnings
}

// affinity warns if rounds were allowed to run on different CPUs.
func affinity(rounds []Round) (warnings []string) {
	var first *Note
	for _, r := range rounds {
		switch n := r.Note; {
		case n == nil || n.CPUs == "":
		case first == nil:
			first = n
		case n.CPUs != first.CPUs:
			warnings = append(warnings, fmt.Sprintf("%s ran on CPUs %s and %s on CPUs %s: part of the difference may come from that", first.Name, first.CPUs, n.Name, n.CPUs))
		}
	}
	return warnings
}

// target returns the line, or else the function, that the round was to improve: what
// the notes name, or else the line that lost most time among the hotspots of the round
// before.
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
			if number < h.Line || number > h.LastLine { // a loop and its body
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

// noted returns the function and line of the round before that a note names. A line
// takes precedence over a function. Paths are compared in reduced form.
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

// changeOf returns how a line of a function changed, given by its earlier number. If
// there is no such line, it returns the function's change; nil if that does not exist,
// either. Equal lines are merged.
func changeOf(a, b *profile, fn functionKey, number int, da, db float64) *Change {
	if text, there := a.keys[fn][number]; there {
		t := change(fn, costOf(a.lines[fn], text), costOf(b.lines[fn], text), da, db)
		t.Line = number
		return &t
	}
	was := costOf(a.functions, fn)
	if was == nil {
		return nil
	}
	return new(change(fn, was, costOf(b.functions, fn), da, db))
}

// evidence is the change of a figure, from which a verdict follows.
type evidence struct {
	by    string      // as in MetricDecision
	label string      // precedes the figure
	pct   float64     // change in percent
	up    bool        // more is better
	ci    *[2]float64 // 95 % interval of pct, nil if unknown
	noise float64     // least change that counts if ci is unknown, in percent
	doubt string      // caveat if ci is unknown
}

// decide sets the verdict and its reason. If both rounds have a benchmark, it decides
// alone; else the traces of both, else the profile, which slows short lines down. A
// benchmark of an earlier round can only worsen the verdict. Failed tests call for a
// rollback, whatever the verdict.
func (r *Round) decide(moved *Moved) {
	bench := decisive(r.Benchmark)
	switch measured := bench != nil && *r.BenchAgainst == *r.Against; {
	case measured:
		r.decideBy(bench)
		if p := r.ChangePct; p != nil && (*p < -100*ProfileNoise && r.Verdict != Improved || *p > 100*ProfileNoise && r.Verdict == Improved) {
			r.Reason += fmt.Sprintf("; profiled time changed by %+.1f %%, but throughput decides", *p)
		}
	case moved != nil && moved.CIUs != nil:
		r.decideBy(&evidence{by: "trace", label: "step time in the traces", pct: moved.Pct, ci: &[2]float64{moved.pct(moved.CIUs[0]), moved.pct(moved.CIUs[1])}})
		r.checkBenchmark(bench)
	case r.ChangePct == nil:
		r.Verdict, r.Reason = NotComparable, "no outermost function is in both profiles, and there is no benchmark of both"
	default:
		r.decideBy(&evidence{by: "profile", label: "profiled time", pct: *r.ChangePct, noise: 100 * ProfileNoise})
		r.checkBenchmark(bench)
	}
	failed := r.Note != nil && r.Note.Tests == "failed"
	if failed {
		r.Reason += "; its tests failed"
	}
	r.RollBack = failed || r.Verdict == Regressed
	if r.RollBack || r.Note != nil && r.Note.Reverted {
		r.Pitfalls = pitfalls(r.Lines)
	}
}

// decisive returns the first metric that both rounds have, nil if none. Time to first
// token does not count: it includes waiting in queues.
func decisive(bench []MetricChange) *evidence {
	for _, c := range bench {
		if c.ChangePct != nil && c.Metric != TTFT {
			return &evidence{string(c.Metric), metricNames[c.Metric], *c.ChangePct, c.Metric.HigherIsBetter(), c.ChangeCI, 100 * SingleRun, " (single runs: noise unknown)"}
		}
	}
	return nil
}

// decideBy decides by a figure, using its interval if that is known.
func (r *Round) decideBy(e *evidence) {
	better := 0 - e.pct // avoids negative zero
	if e.up {
		better = e.pct
	}
	r.Decisive, r.gain = &MetricDecision{e.by, e.pct}, new(better/100)
	r.Reason = fmt.Sprintf("%s %+.1f %%", e.label, e.pct)
	if e.ci != nil {
		r.Reason += fmt.Sprintf(", 95 %% interval %+.1f to %+.1f %%", e.ci[0], e.ci[1])
	} else {
		r.Reason += e.doubt
	}
	switch {
	case e.ci != nil && e.ci[0] <= 0 && e.ci[1] >= 0:
		r.Verdict = NoChange
		r.Reason += ": within the noise"
	case e.ci == nil && math.Abs(e.pct) < e.noise:
		r.Verdict = NoChange
		r.Reason += fmt.Sprintf(": within the noise (under %.0f %%)", e.noise)
	case better > 0:
		r.Verdict = Improved
	default:
		r.Verdict = Regressed
	}
}

// checkBenchmark adds a benchmark's change since an earlier round than the profile is
// compared with. How much of it is due to this round is unknown, but together the
// rounds must not have made it worse.
func (r *Round) checkBenchmark(by *evidence) {
	switch {
	case by != nil:
		var all Round
		all.decideBy(by)
		r.Reason += fmt.Sprintf("; since %s: %s", *r.BenchAgainst, all.Reason)
		if all.Verdict == Regressed {
			r.Verdict = Regressed
		}
	case r.Verdict != NoChange:
		r.Reason += "; no benchmark of both rounds, so throughput is unknown"
	}
}

// metricNames are the metrics' names in text.
var metricNames = map[Metric]string{
	OutputThroughput: "throughput", RequestThroughput: "request throughput", TPOT: "TPOT", ITL: "ITL", E2EL: "E2EL", TTFT: "TTFT",
}
