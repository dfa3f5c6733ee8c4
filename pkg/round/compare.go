package round

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/stat"
)

// maxChanges is how many functions and lines a round lists.
const maxChanges = 10

// compareProfiles fills in how the round's profile differs from before.
func (r *Round) compareProfiles(before, after *profile) (warnings []string) {
	da, db, known := perStep(before, after)
	r.PerStep = known
	keys, missing := comparable(before, after)
	var a, b float64
	var entries [2]int64
	for _, k := range keys {
		a += float64(before.functions[k].ns) / 1000 / da
		b += float64(after.functions[k].ns) / 1000 / db
		entries[0] += before.functions[k].hits
		entries[1] += after.functions[k].hits
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		warnings = append(warnings, fmt.Sprintf("%s and %s do not have the same outermost functions (%s): the change is that of those which both have, and what moved into another function is none",
			*r.Against, r.Name, strings.Join(slices.Compact(missing), ", ")))
	}
	if !known && entries[0] != entries[1] {
		warnings = append(warnings, fmt.Sprintf("%s and %s were entered %d and %d times, and their steps cannot be identified: the change is that of totals, work included",
			*r.Against, r.Name, entries[0], entries[1]))
	}
	if a > 0 {
		us, pct := b-a, 100*(b-a)/a
		r.ChangeUs, r.ChangePct = &us, &pct
	}
	r.Functions = changedFunctions(before, after, da, db)
	r.Lines = changedLines(before, after, da, db)
	return warnings
}

func changedFunctions(before, after *profile, da, db float64) []Change {
	var all []Change
	for k, a := range before.functions {
		b, both := after.functions[k]
		all = append(all, change(k, "", a, b, both, da, db))
	}
	for k, b := range after.functions {
		if _, both := before.functions[k]; !both {
			all = append(all, added(k, "", b, db))
		}
	}
	return largest(all)
}

func changedLines(before, after *profile, da, db float64) []Change {
	var all []Change
	for k, lines := range before.lines {
		if _, both := after.functions[k]; !both {
			continue // the function is gone, which says it for all of its lines
		}
		for text, a := range lines {
			b, both := after.lines[k][text]
			all = append(all, change(k, before.source[k][text], a, b, both, da, db))
		}
	}
	for k, lines := range after.lines {
		if _, both := before.functions[k]; !both {
			continue
		}
		for text, b := range lines {
			if _, both := before.lines[k][text]; !both {
				all = append(all, added(k, after.source[k][text], b, db))
			}
		}
	}
	return largest(all)
}

func change(k functionKey, source string, a, b cost, both bool, da, db float64) Change {
	us := float64(a.ns) / 1000 / da
	c := Change{Function: k.name, File: k.file, Line: a.number, Source: source, BeforeUs: &us, DeltaUs: -us, Status: "REMOVED"}
	c.PerHitUs[0] = perHit(a)
	if both {
		now := float64(b.ns) / 1000 / db
		c.AfterUs, c.DeltaUs, c.Status, c.Line = &now, now-us, "", b.number
		c.PerHitUs[1] = perHit(b)
	}
	return c
}

func added(k functionKey, source string, b cost, db float64) Change {
	now := float64(b.ns) / 1000 / db
	return Change{Function: k.name, File: k.file, Line: b.number, Source: source, AfterUs: &now, DeltaUs: now,
		Status: "NEW", PerHitUs: [2]*float64{nil, perHit(b)}}
}

func perHit(c cost) *float64 {
	if c.hits <= 0 {
		return nil
	}
	us := float64(c.ns) / 1000 / float64(c.hits)
	return &us
}

// largest are the largest changes.
func largest(all []Change) []Change {
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(math.Abs(b.DeltaUs), math.Abs(a.DeltaUs)), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Source, b.Source))
	})
	all = all[:min(len(all), maxChanges)]
	if all == nil {
		all = []Change{}
	}
	return all
}

// values are a metric's figures in all runs, nil where a run lacks it.
func values(runs []Benchmark, m Metric) []float64 {
	x := make([]float64, 0, len(runs))
	for _, b := range runs {
		v, ok := b[m]
		if !ok {
			return nil
		}
		x = append(x, v)
	}
	return x
}

// estimate is the mean of a metric over runs. Each run is the mean of many requests,
// so that the number of runs is all that limits what is known.
func estimate(x []float64) stat.Estimate {
	mean := stat.Mean(x)
	u := make([]float64, len(x))
	for i, v := range x {
		u[i] = (v - mean) / float64(len(x))
	}
	return stat.Repeated(mean, u, stat.MinSamples*len(x))
}

// interval is the 95 % interval of b less a, nil where nothing is known of it: a side
// with one run is taken to differ from the next as much as those of the other do.
func interval(a, b []float64) *[2]float64 {
	if len(a) < 2 && len(b) < 2 {
		return nil
	}
	ea, eb := estimate(a), estimate(b)
	var w stat.Estimator
	d := w.Compare(&ea, &eb)
	if math.IsNaN(d.Lo) || math.IsNaN(d.Hi) {
		return nil
	}
	return &[2]float64{d.Lo, d.Hi}
}

// compareBench fills in the round's benchmark, and how it differs from before.
func (r *Round) compareBench(before, after []Benchmark) {
	for _, m := range Metrics {
		x := values(after, m)
		if len(x) == 0 {
			continue
		}
		c := MetricChange{Metric: m, Mean: stat.Mean(x), Runs: len(x)}
		if len(x) > 1 {
			c.Interval = meanInterval(x)
		}
		if old := values(before, m); len(old) > 0 {
			base := stat.Mean(old)
			pct := 100 * (c.Mean - base) / base
			c.ChangePct = &pct
			if ci := interval(old, x); ci != nil {
				c.ChangeCI = &[2]float64{100 * ci[0] / base, 100 * ci[1] / base}
			}
		}
		r.Benchmark = append(r.Benchmark, c)
	}
}

// meanInterval is the 95 % interval of a mean over at least two runs.
func meanInterval(x []float64) *[2]float64 {
	e := estimate(x)
	half := e.Apart() / math.Sqrt(2*float64(len(x)))
	return &[2]float64{e.Mean - half, e.Mean + half}
}
