package gap_test

import (
	"os"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

func compute(t testing.TB, by string, opt gap.Options, paths ...string) *gap.Report {
	t.Helper()
	rep, err := gap.Compute(testrun.Open(t, by, paths...), opt)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestPatternOfModels(t *testing.T) {
	layers := []int{1, 2, 3, 5, 16, 32, 61}
	if os.Getenv("HOSTBOUND_ALL") == "" {
		layers = []int{2, 16}
	}
	for _, n := range layers {
		for _, mode := range []sim.Mode{sim.Eager, sim.Node, sim.Whole} {
			for _, by := range []string{"nvtx", "allreduce"} {
				for _, fused := range []bool{false, true} {
					c := sim.Default()
					c.Layers, c.Mode, c.Fused = n, mode, fused
					c.Warmup, c.Steps, c.Tail = 0, 10, 0
					// Of large models, which take long, each wording of a layer in half of the modes.
					if mode == sim.Whole && by == "allreduce" || n > 32 && fused == ((n+len(mode)+len(by))%2 == 0) {
						continue
					}
					if by == "allreduce" {
						c.Ranks = 1
						c.Devices = 2
					}
					p := compute(t, by, gap.Options{}, testrun.Simulate(t, c, false)...).Pattern
					want := 9
					if fused {
						want = 7
					}
					if p == nil || p.Layers == nil || *p.Layers != n || p.Repetitions != n || p.Length != want {
						t.Errorf("%d layers, %s, by %s, fused %v: %+v, want %d kernels", n, mode, by, fused, p, want)
					}
				}
			}
		}
	}
}

func TestStragglerOfRuns(t *testing.T) {
	base := sim.Default()
	base.Ranks, base.Steps = 3, 30
	base.ClockOffset = []float64{0, 0, 1500}
	modes := []sim.Mode{sim.Node, sim.Eager}
	if os.Getenv("HOSTBOUND_ALL") == "" {
		modes = modes[:1]
	}
	for _, mode := range modes {
		for _, err := range []float64{0, 2000, -2000} {
			c := base
			c.Mode = mode
			c.ClockError = []float64{0, err, -err / 2}
			even := compute(t, "auto", gap.Options{}, testrun.Simulate(t, c, true)...).Straggler
			if even == nil || even.Rank != nil {
				t.Errorf("%s, clock error %v us: like ranks: %+v, want nobody", mode, err, even)
			}
			c.SlowRank, c.Slow, c.SlowOp = 1, 400, "_prepare_inputs"
			s := compute(t, "auto", gap.Options{}, testrun.Simulate(t, c, true)...).Straggler
			if s == nil || s.Rank == nil || *s.Rank != 1 {
				t.Errorf("%s, clock error %v us: %+v, want rank 1", mode, err, s)
				continue
			}
			if s.LateUs < 300 || s.LateUs > 800 {
				t.Errorf("%s, clock error %v us: %v us late a step, want 400 and what follows from it", mode, err, s.LateUs)
			}
			if len(s.Causes) == 0 || s.Causes[0] != "_prepare_inputs" {
				t.Errorf("%s, clock error %v us: causes %q, want _prepare_inputs first: %+v", mode, err, s.Causes, s.Why)
			}
		}
	}
}

// Of equal ranks whose hosts run freely one that fell behind is not named, however many steps it is
// the last in, and one with a slow host is.
func TestStragglerOfFreeHosts(t *testing.T) {
	short := sim.Default()
	short.Ranks, short.Layers, short.Steps, short.Seed, short.Mode = 4, 2, 20, 3, sim.Node
	bound := sim.Default()
	bound.Ranks, bound.Steps, bound.Seed, bound.Mode, bound.Overlap, bound.ContextEvery = 2, 200, 712, sim.Node, true, 0
	bound.Markers, bound.Host, bound.LaunchCost, bound.Frontend, bound.Collective = sim.VLLM, sim.HostOps(sim.VLLM), 9.3, true, "vllm"
	eager := bound
	eager.Mode = sim.Eager
	runs := []sim.Config{short, bound, eager}
	if os.Getenv("HOSTBOUND_ALL") == "" {
		runs = runs[:1]
	}
	for k, c := range runs {
		for _, slow := range []float64{0, 800} {
			if c.Slow = slow; slow > 0 {
				c.SlowRank, c.SlowOp = 1, c.Host[0].Name
			}
			s := compute(t, "auto", gap.Options{}, testrun.Simulate(t, c, true)...).Straggler
			if (s.Rank != nil) != (slow > 0) || s.Rank == nil && s.Kind != "none" {
				t.Errorf("run %d, slower by %v us: %+v", k, slow, s)
			}
		}
	}
}

// A slow GPU is named, and its host is not blamed; ranks that are late in turn are not.
func TestStragglerByFault(t *testing.T) {
	for k, mode := range []sim.Mode{sim.Node, sim.Eager}[:cases.Few(1, 1, 2)] { // scripts/accuracy (straggler) has more runs
		seed := uint64(k)
		c := sim.Default()
		c.Ranks, c.Steps, c.Mode, c.Seed = 4, 40, mode, seed
		c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: 2, Factor: 1.25}}
		rep := compute(t, "auto", gap.Options{}, testrun.Simulate(t, c, true)...)
		s := rep.Straggler
		if s == nil || s.Rank == nil || *s.Rank != 2 || s.Side != "gpu" || len(s.Causes) == 0 || s.Causes[0] != "kernels:gemm" {
			t.Errorf("%s, seed %d: slow GPU: %+v", mode, seed, s)
		}
		if f := has(rep, "COORDINATOR"); f != nil {
			t.Errorf("%s, seed %d: %s", mode, seed, f.Text)
		}
		if has(rep, "SLOW_GPU") == nil {
			t.Errorf("%s, seed %d: no finding of the slow GPU: %+v", mode, seed, rep.Findings)
		}
		c.Faults = []sim.Fault{{Kind: sim.FaultRotate, Rank: -1, US: 600}}
		if s := compute(t, "auto", gap.Options{}, testrun.Simulate(t, c, true)...).Straggler; s == nil || s.Rank != nil {
			t.Errorf("%s, seed %d: late in turn: %+v", mode, seed, s)
		}
		c.Faults = []sim.Fault{{Kind: sim.FaultTail, At: "_prepare_inputs", Rank: 1, Share: 0.6, US: 900}}
		if s := compute(t, "auto", gap.Options{}, testrun.Simulate(t, c, true)...).Straggler; s == nil || s.Rank == nil || *s.Rank != 1 ||
			s.Side != "host" || s.Causes[0] != "_prepare_inputs" {
			t.Errorf("%s, seed %d: late in six of ten steps: %+v", mode, seed, s)
		}
	}
}

// Reports of two runs are not compared.
func TestStragglerOfTwoRuns(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Steps = 2, 40
	a := testrun.Simulate(t, c, true)
	c.Seed++
	c.UTC += 100e9
	b := testrun.Simulate(t, c, true)
	r, err := nsys.Open([]string{a[0], b[1]}, nsys.Options{Separate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	rep, err := gap.Compute(testrun.Phased(t, r, isolate.Options{}), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := rep.Straggler
	if s == nil || s.Rank != nil || s.Kind != "unknown" || s.Reason == "" {
		t.Errorf("%+v", s)
	}
}

// eagerRun is a run without graphs, with waits for the interpreter lock and garbage
// collections.
func eagerRun() sim.Config {
	c := sim.Default()
	c.Mode, c.Ranks, c.Steps, c.GCEvery, c.GIL = sim.Eager, 2, 20, 5, 30
	return c
}

// A rank that is late is worth no more than what its host spends more on, whatever comes late for
// it.
func TestCoordinatorIsWorthItsExcess(t *testing.T) {
	c := sim.Default()
	c.Mode, c.Steps, c.Layers = sim.Eager, 40, 4
	c.SlowRank, c.Slow, c.SlowOp = 1, 2000, "_prepare_inputs"
	f := has(compute(t, "auto", gap.Options{}, testrun.Simulate(t, c, false)...), "COORDINATOR")
	if f == nil || f.UsStep < 1900 || f.UsStep > 2100 {
		t.Errorf("%+v, want 2 ms", f)
	}
}
