package round

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/stat"
)

// compareProfiles fills in how the round's profile differs from an earlier one. The
// change is that of the outermost functions of both, whose times include their callees.
// It is per step if the steps of both are known, else in total, and null if they share
// no such function.
func (r *Round) compareProfiles(before, after *profile) (warnings []string) {
	da, db, known := perStep(before, after)
	r.PerStep = known
	keys, missing := sharedRoots(before, after)
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
		warnings = append(warnings, fmt.Sprintf("%s and %s have different outermost functions (%s): only those in both are compared",
			*r.Against, r.Name, strings.Join(slices.Compact(missing), ", ")))
	}
	if !known && entries[0] != entries[1] {
		warnings = append(warnings, fmt.Sprintf("%s and %s were entered %d and %d times and their steps are unknown: totals are compared, not times per step",
			*r.Against, r.Name, entries[0], entries[1]))
	}
	if a > 0 {
		us, pct := b-a, 100*(b-a)/a
		r.ChangeUs, r.ChangePct = &us, &pct
	}
	r.Functions, r.Lines = changes(before, after, da, db)
	return warnings
}

// union calls each with the costs of the same thing in two rounds, nil if one lacks it.
func union[K comparable](before, after map[K]cost, each func(k K, a, b *cost)) {
	for k, a := range before {
		if b, both := after[k]; both {
			each(k, &a, &b)
		} else {
			each(k, &a, nil)
		}
	}
	for k, b := range after {
		if _, both := before[k]; !both {
			each(k, nil, &b)
		}
	}
}

// changes compares the functions of two rounds by key, and the lines of those that both
// have. A function that one lacks is reported once, not per line.
func changes(before, after *profile, da, db float64) (functions, lines []Change) {
	union(before.functions, after.functions, func(k functionKey, a, b *cost) {
		functions = append(functions, change(k, a, b, da, db))
		if a == nil || b == nil {
			return
		}
		union(before.lines[k], after.lines[k], func(_ string, a, b *cost) { lines = append(lines, change(k, a, b, da, db)) })
	})
	return largest(functions), largest(lines)
}

// costOf returns the cost of a key, nil if there is none.
func costOf[K comparable](costs map[K]cost, k K) *cost {
	if c, ok := costs[k]; ok {
		return &c
	}
	return nil
}

// change returns how a function, or one of its lines, changed from a to b, one of which
// may be nil: it did not exist. Times are divided by da and db, the numbers of steps.
func change(k functionKey, a, b *cost, da, db float64) Change {
	c := Change{Function: k.name, File: k.file, Source: cmp.Or(a, b).source}
	if a != nil {
		us := float64(a.ns) / 1000 / da
		c.Line, c.BeforeUs, c.DeltaUs, c.PerHitUs[0] = a.number, &us, -us, perHit(*a)
	} else {
		c.Status = "NEW"
	}
	if b != nil {
		us := float64(b.ns) / 1000 / db
		c.Line, c.AfterUs, c.DeltaUs, c.PerHitUs[1] = b.number, &us, c.DeltaUs+us, perHit(*b)
	} else {
		c.Status = "REMOVED"
	}
	return c
}

// perHit returns the time per hit in us, nil if there were no hits.
func perHit(c cost) *float64 {
	if c.hits <= 0 {
		return nil
	}
	return new(float64(c.ns) / 1000 / float64(c.hits))
}

// largest returns the largest changes.
func largest(all []Change) []Change {
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(math.Abs(b.DeltaUs), math.Abs(a.DeltaUs)), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Source, b.Source))
	})
	small := func(c Change) bool { return c.Status == "" && math.Abs(c.DeltaUs) < minChange*math.Abs(all[0].DeltaUs) }
	all = slices.DeleteFunc(all[:min(len(all), maxChanges)], small)
	if all == nil {
		all = []Change{}
	}
	return all
}

// values returns a metric's figures in all runs, nil if a run lacks it.
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

// estimate returns the mean of a metric over runs. Each run is the mean of many
// requests, so only the number of runs limits the precision.
func estimate(x []float64) stat.Estimate {
	mean := stat.Mean(x)
	u := make([]float64, len(x))
	for i, v := range x {
		u[i] = (v - mean) / float64(len(x))
	}
	return stat.Repeated(mean, u, stat.MinSamples*len(x))
}

// changed returns the change of a metric's mean from a to b, in percent of a's, and its
// 95 % interval, nil if unknown. A side with one run is taken to vary as much as the
// runs of the other side.
func changed(a, b []float64) (pct float64, interval *[2]float64) {
	base := stat.Mean(a)
	pct = 100 * (stat.Mean(b) - base) / base
	if len(a) < 2 && len(b) < 2 {
		return pct, nil
	}
	ea, eb := estimate(a), estimate(b)
	d := stat.Compare(&ea, &eb)
	if math.IsNaN(d.Lo) || math.IsNaN(d.Hi) {
		return pct, nil
	}
	return pct, &[2]float64{100 * d.Lo / base, 100 * d.Hi / base}
}

// compareBench fills in the round's benchmark and how it differs from an earlier one.
// Metrics that the round lacks are left out; those that only the earlier one lacks have
// no change.
func (r *Round) compareBench(before, after []Benchmark) {
	for _, m := range Metrics {
		x := values(after, m)
		if len(x) == 0 {
			continue
		}
		c := MetricChange{Metric: m, Mean: stat.Mean(x), Runs: len(x)}
		if len(x) > 1 {
			e := estimate(x)
			c.Interval = &[2]float64{e.Mean - e.Half(), e.Mean + e.Half()}
		}
		if old := values(before, m); len(old) > 0 {
			var pct float64
			pct, c.ChangeCI = changed(old, x)
			c.ChangePct = &pct
		}
		r.Benchmark = append(r.Benchmark, c)
	}
}
