package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// archiveRuns is the number of runs in an archive, odd the number of outliers among them.
const (
	archiveRuns = 1000
	odd         = 12
)

// ailments are the faults of the outliers, by the cause that must be named.
var ailments = []struct {
	cause string
	plant func(*sim.Config)
}{
	{"input preparation", func(c *sim.Config) { c.SetHost("_prepare_inputs", 1.4*780) }},
	{"GPU kernels", func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Factor: 1.7, Rank: -1}}
	}},
	{"waits for a rank that its host makes late", func(c *sim.Config) { c.SlowRank, c.Slow, c.SlowOp = 1, 500, "_prepare_inputs" }},
	{"other host work", func(c *sim.Config) { c.SetHost("_handle_responses", 240+300) }},
}

// runArchive counts the normal runs of archives that are reported as outliers, and the
// outliers that are found with the right cause.
func runArchive(w io.Writer, o options) error {
	fmt.Fprintf(w, "| archive | odd | found | cause named | false |\n|--:|--:|--:|--:|--:|\n")
	for seed := range o.seeds {
		found, right, wrong, err := oneArchive(seed, o.verbose)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %d | %d of %d runs | %s | %s | %d |\n", seed, odd, archiveRuns, count{found, odd}, count{right, odd}, wrong)
	}
	return nil
}

// oneArchive simulates an archive and looks for outliers in it.
func oneArchive(seed int, verbose io.Writer) (found, right, wrong int, failed error) {
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		return 0, 0, 0, err
	}
	defer os.RemoveAll(dir)
	results := make([]*metric.Result, archiveRuns)
	var mu sync.Mutex
	numbers := make([]int, archiveRuns)
	for k := range numbers {
		numbers[k] = k
	}
	forEach(numbers, func(k int) {
		c := sim.Default()
		c.Seed, c.Steps, c.Layers, c.Warmup, c.Tail, c.ContextEvery = uint64(1+k+archiveRuns*seed), 40, 4, 0, 0, 0
		// Starts of an engine differ by 2 %, as with real engines.
		hostScale(&c, 1+0.02*gauss(c.Seed))
		if k < odd {
			ailments[k%len(ailments)].plant(&c)
		}
		res, err := measured(dir, c)
		mu.Lock()
		defer mu.Unlock()
		results[k], failed = res, firstError(failed, err)
	})
	if failed != nil {
		return 0, 0, 0, failed
	}
	t := metric.New()
	for k, res := range results {
		metric.Append(t, fmt.Sprintf("run%04d", k), res)
	}
	out, err := metric.FindOutliers(t, "run")
	if err != nil {
		return 0, 0, 0, err
	}
	for _, f := range out.Found {
		var k int
		if _, err := fmt.Sscanf(strings.TrimPrefix(f.Name, "run"), "%d", &k); err != nil {
			return 0, 0, 0, err
		}
		remark(verbose, "archive %d: %s %+.0f us, %s %+.0f us, q %.2g", seed, f.Name, f.DeltaUs, f.Cause, f.CauseUs, f.Q)
		if k >= odd {
			wrong++
			continue
		}
		found++
		right += one(f.Cause == ailments[k%len(ailments)].cause)
	}
	return found, right, wrong, nil
}

// measured simulates a run and measures it.
func measured(dir string, c sim.Config) (res *metric.Result, err error) {
	t, err := sim.Simulate(c)
	if err != nil {
		return nil, err
	}
	path, err := writeTrace(dir, t)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	err = inProcess(&command.Metrics, []string{path}, func(p *command.Plan) error {
		res, err = p.Measure()
		return err
	})
	return res, err
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// gauss returns a normally distributed number that depends only on the seed.
func gauss(seed uint64) float64 { return rand.New(rand.NewPCG(seed, 0xa2c)).NormFloat64() }
