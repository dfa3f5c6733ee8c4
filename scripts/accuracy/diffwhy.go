package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// diffWhyRow counts the results for one cause of lost host time.
type diffWhyRow struct {
	runs, named, first, near, covered, silent int
}

// Microseconds that hosts lose per step, in the baseline and in the target.
const (
	lostBefore = 100
	lostAfter  = 500
)

// runDiffWhy compares runs whose hosts lose more time for one cause, and equal runs.
func runDiffWhy(w io.Writer, o options) error {
	causes := slices.DeleteFunc(slices.Clone(hostCauses), func(c hostCause) bool { return c.why == "" })
	causes = append(causes, hostCause{kind: "running", why: "running"})
	rows := make([]diffWhyRow, len(causes))
	var names []string
	for _, c := range causes {
		names = append(names, c.kind)
	}
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		c := &causes[i]
		paths, truth := [3]string{}, [3]float64{}
		for k, lost := range []float64{lostBefore, lostAfter, lostBefore} {
			var err error
			if paths[k], truth[k], err = diffWhyRun(dir, c.kind, lost, 3*seed+k); err != nil {
				return nil, err
			}
		}
		changed, err := readDiffWhy(paths[0], paths[1])
		if err != nil {
			return nil, err
		}
		equal, err := readDiffWhy(paths[0], paths[2])
		if err != nil {
			return nil, err
		}
		return func() { rows[i].add(c, changed, equal, truth[1]-truth[0], seed, o.verbose) }, nil
	})
	fmt.Fprintf(w, "| the host loses more time | runs | found | first | within 5 %% | in its interval | silent on equal runs |\n|:--|--:|--:|--:|--:|--:|--:|\n")
	for i, r := range rows {
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s |\n", causes[i].kind, r.runs, count{r.named, r.runs}, count{r.first, r.runs},
			count{r.near, r.runs}, count{r.covered, r.runs}, count{r.silent, r.runs})
	}
	return err
}

// diffWhyRun simulates a run. truth is what its hosts lose per rank-step of the benchmark
// segments, in us, without the last step.
func diffWhyRun(dir, kind string, lost float64, seed int) (path string, truth float64, err error) {
	c := sim.Default()
	c.Seed, c.Steps, c.ContextEvery, c.Layers, c.Tail = uint64(seed+1), 120, 0, 6, 0
	c.Why = sim.HostCause{Kind: kind, US: lost}
	traces, true, err := sim.SimulateTruth(c, false)
	if err != nil {
		return "", 0, err
	}
	steps := 0.0
	for _, r := range true.Ranks {
		for k := range r.Steps[:len(r.Steps)-1] {
			if s := &r.Steps[k]; s.Segment == r.Steps[len(r.Steps)-1].Segment {
				truth += float64(s.Lost) / 1e3
				steps++
			}
		}
	}
	path, err = writeTrace(dir, traces[0])
	return path, truth / steps, err
}

func readDiffWhy(a, b string) (result *compare.Comparison, err error) {
	err = inProcess(&command.Diff, []string{a, b, "--why"}, func(c *command.Plan) error {
		if result, err = c.Diff(); err == nil {
			read(result)
		}
		return err
	})
	return result, err
}

func (r *diffWhyRow) add(c *hostCause, changed, equal *compare.Comparison, truth float64, seed int, verbose io.Writer) {
	r.runs++
	is := func(row *compare.IdleRow) bool {
		return row.Why != nil && *row.Why == c.why && (c.kind != "gil" || row.Cause == "gil") && row.Significant && *row.Delta > 0
	}
	named, first, near, covered := false, false, false, false
	for i := range changed.IdleWhy {
		row := &changed.IdleWhy[i]
		if !is(row) || named {
			continue
		}
		named, first = true, i == 0
		near, covered = math.Abs(*row.Delta-truth) <= 0.05*truth, row.CI[0] <= truth && truth <= row.CI[1]
	}
	silent := !slices.ContainsFunc(equal.IdleWhy, func(row compare.IdleRow) bool { return row.Significant })
	r.named, r.first, r.near, r.covered, r.silent = r.named+one(named), r.first+one(first), r.near+one(near), r.covered+one(covered), r.silent+one(silent)
	if verbose != nil && (!first || !near || !silent) {
		fmt.Fprintf(verbose, "diffwhy: %s, seed %d: named %v, first %v, near %v, silent %v; truth %.1f us; %s\n", c.kind, seed, named, first, near, silent, truth, changed.Document().Title)
	}
}
