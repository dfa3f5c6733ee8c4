package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// movable are operations of the simulated engine on whose cost no other operation
// depends.
var movable = []string{"_schedule", "prepare_resources", "_handle_responses"}

// throughExports compares simulated exports. Half of the pairs are equal runs with
// different seeds; in the others one operation costs 30 % more.
func throughExports(pairs int) (tally, error) {
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return tally{}, err
	}
	defer os.RemoveAll(dir)
	var t tally
	for k := range pairs {
		if err := t.export(dir, k); err != nil {
			return t, err
		}
	}
	return t, nil
}

// export simulates and compares one pair.
func (t *tally) export(dir string, k int) error {
	rng := rand.New(rand.NewPCG(uint64(k), 3))
	c := sim.Default()
	c.Steps = 30 + rng.IntN(60)
	c.Seed = uint64(2*k + 1)
	before, err := profile(c, filepath.Join(dir, "before.sqlite"))
	if err != nil {
		return err
	}
	c.Seed++
	name, truth := "", 0.0
	if k%2 == 1 {
		name = movable[rng.IntN(len(movable))]
		for _, op := range c.Host {
			if op.Name == name {
				truth = 0.3 * op.Mean
				c.SetHost(name, 1.3*op.Mean)
			}
		}
	}
	after, err := profile(c, filepath.Join(dir, "after.sqlite"))
	if err != nil {
		return err
	}
	result, err := compare.Compare(before, after, compare.Options{})
	if err != nil {
		return err
	}
	t.count(read(result), name, truth)
	return nil
}

// count counts a pair in which the named operation costs truth more; "" for equal runs.
func (t *tally) count(c *compare.Comparison, name string, truth float64) {
	alarm := false
	for i := range c.Operations {
		r := &c.Operations[i]
		switch {
		case r.Name == name:
			t.changed++
			t.found += one(r.Significant && *r.Delta > 0)
			t.interval(r, truth)
		default:
			t.interval(r, 0)
			t.unchanged++
			t.spurious += one(r.Significant)
			alarm = alarm || r.Significant
		}
	}
	if name == "" {
		t.pairs++
		for i := range c.Summary {
			alarm = alarm || c.Summary[i].Significant
		}
		for _, rows := range [][]compare.Row{c.Kernels, c.Classes, c.API} {
			for i := range rows {
				alarm = alarm || rows[i].Significant
			}
		}
		t.alarmed += one(alarm)
	}
}

// profile simulates a run, writes it as an export, and reads it back.
func profile(c sim.Config, path string) (*compare.Run, error) {
	trace, err := sim.Simulate(c)
	if err != nil {
		return nil, err
	}
	if err := trace.WriteSQLite(path, sim.Options{}); err != nil {
		return nil, err
	}
	reader, err := nsys.Open([]string{path}, nsys.Options{})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	steps, err := isolate.New(reader, isolate.Options{By: step.Allreduce})
	if err != nil {
		return nil, err
	}
	phases, err := step.NewTagger(steps, nil)
	if err != nil {
		return nil, err
	}
	return compare.Profile(phases, compare.ProfileOptions{})
}
