package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// gapsOf simulates a run and returns the report of gaps on it.
func gapsOf(dir string, c sim.Config, split bool) (*gap.Report, error) {
	traces, _, err := sim.SimulateTruth(c, split)
	if err != nil {
		return nil, err
	}
	var paths []string
	for i := range traces {
		path, err := writeTrace(dir, traces[i])
		if err != nil {
			return nil, err
		}
		defer os.Remove(path)
		paths = append(paths, path)
	}
	return readGaps(paths)
}

// writeRank writes the report of one rank of a run, and returns its path.
func writeRank(dir string, c sim.Config, rank int) (string, error) {
	traces, err := sim.SimulateReports(c)
	if err != nil {
		return "", err
	}
	return writeTrace(dir, traces[rank])
}

func writeTrace(dir string, t *sim.Trace) (string, error) {
	f, err := os.CreateTemp(dir, "*.sqlite")
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return f.Name(), t.WriteSQLite(f.Name(), sim.Options{})
}

// readGaps returns the report of gaps on files.
func readGaps(paths []string) (rep *gap.Report, err error) {
	err = inProcess(&command.Gaps, paths, func(c *command.Plan) error {
		src, err := c.Events(source.Phased, true)
		if err != nil {
			return err
		}
		rep, err = gap.Compute(src, gap.Options{})
		return err
	})
	return rep, err
}

// eachRun calls work for every requested kind and every seed, on all processors. It calls
// the returned functions one at a time, in order. kinds are the names of the kinds.
func eachRun(kinds []string, o options, work func(dir string, kind, seed int) (record func(), err error)) error {
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	type outcome struct {
		at     int
		record func()
		err    error
	}
	var items []int
	for k, name := range kinds {
		for seed := range o.seeds {
			if strings.Contains(name, o.only) {
				items = append(items, k*o.seeds+seed)
			}
		}
	}
	var mu sync.Mutex
	var all []outcome
	forEach(items, func(i int) {
		record, err := work(dir, i/o.seeds, o.first+i%o.seeds)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, outcome{i, record, err})
	})
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(a.at, b.at) })
	for _, out := range all {
		if out.err != nil {
			return out.err
		}
		out.record()
	}
	return nil
}
