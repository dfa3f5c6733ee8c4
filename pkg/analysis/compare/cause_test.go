package compare_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// planted is a regression of one cause, and what must be said of it.
type planted struct {
	change     func(before, after *sim.Config)
	conclusion string
	cause      string // first of the causes; "": not asked
	target     string // recommended_first_target; "": not asked
	advice     string // in the first of the mitigations; "": not asked
}

// TestCauses plants one cause at a time, and finds it named; of the clean counterpart,
// another run of what came before, nothing is said.
func TestCauses(t *testing.T) {
	for name, p := range map[string]planted{
		"GIL": {
			change:     func(a, b *sim.Config) { a.GIL, b.GIL = 20, 420 },
			conclusion: compare.HostInterStep, cause: "gil", target: "waiting for the interpreter lock (GIL)", advice: "interpreter lock",
		},
		"GC": {
			change:     func(a, b *sim.Config) { a.GCEvery, b.GCEvery, a.GC, b.GC = 1, 1, 100, 600 },
			conclusion: compare.HostInterStep, cause: "gc", target: "garbage collection (GC)", advice: "gc.freeze",
		},
		"graphs lost": {
			change: func(_, b *sim.Config) { b.Mode = sim.Eager },
			advice: "CUDA graph replays are lost. Per step, before and now: replayed kernels",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, again := sim.Default(), sim.Default()
			before.Seed, before.Steps, before.ContextEvery, before.Layers = 11, 120, 0, 4
			again = before
			again.Seed = 12
			after := again
			p.change(&before, &after)
			again.GIL, again.GCEvery, again.GC = before.GIL, before.GCEvery, before.GC
			check(t, p, difference(t, before, after))
			if c := difference(t, before, again); c.Conclusion != compare.None || len(c.Mitigations) > 0 || len(c.Handoff.TopIdleCauses) > 0 {
				t.Errorf("clean: %s; %q; %v", c.Conclusion, c.Mitigations, c.Handoff.TopIdleCauses)
			}
		})
	}
}

// TestSlowGPU makes the kernels slower: the operation that waits for them takes longer, the
// GPU works meanwhile, and there is nothing to do about the operation.
func TestSlowGPU(t *testing.T) {
	before := sim.Default()
	before.Seed, before.Steps, before.ContextEvery, before.Layers, before.KernelScale = 11, 120, 0, 8, 8
	after := before
	after.Seed, after.KernelScale = 12, 12
	c := difference(t, before, after)
	if h := c.Handoff; c.Conclusion != compare.GPU || h.FirstTarget != nil || len(h.TopRegressingOps) > 0 || strings.Contains(strings.Join(c.Mitigations, " "), "Bookkeeping") {
		t.Errorf("%s: first target %s, operations %+v, advice %q", c.Conclusion, spelled(h.FirstTarget), h.TopRegressingOps, c.Mitigations)
	}
	if !slices.ContainsFunc(c.Explanation, func(s string) bool { return strings.HasPrefix(s, "GPU work changed most") }) {
		t.Errorf("%q", c.Explanation)
	}
	if !slices.ContainsFunc(c.Explanation, func(s string) bool { return strings.Contains(s, "take longer by what they contain or wait for") }) {
		t.Errorf("%q", c.Explanation)
	}
}

// Stages of a pipeline wait for one another's work, and the first one's host for the last one's tokens: neither is
// a cause, but what makes stages take longer is.
func TestPipeline(t *testing.T) {
	for want, change := range map[string]func(c *sim.Config){
		compare.GPU:           func(c *sim.Config) { c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: -1, Factor: 1.6}} },
		compare.HostInStep:    func(c *sim.Config) { c.SlowRank, c.Slow = 1, 2500 },
		compare.HostInterStep: func(c *sim.Config) { c.GCEvery, c.GC = 2, 5000 },
	} {
		before := sim.Default()
		before.Seed, before.Steps, before.ContextEvery, before.Layers, before.KernelScale = 11, 60, 0, 24, 4
		before.Markers, before.Host, before.SlowOp = sim.VLLM, sim.HostOps(sim.VLLM), "gpu_model_runner: preprocess"
		before.Ranks, before.Engine.Pipeline, before.Engine.Ahead, before.Engine.NoWait = 4, 4, 1, true
		after := before
		after.Seed = 12
		change(&after)
		if c := difference(t, before, after); c.Conclusion != want {
			t.Errorf("%s, want %s: %q", c.Conclusion, want, c.Explanation)
		}
	}
}

// TestCopies has GPUs copy more between the kernels of a host that is far ahead: no host causes that,
// and what kernels wait for is named.
func TestCopies(t *testing.T) {
	before := sim.Default()
	before.Mode, before.Ranks, before.Seed, before.Steps, before.ContextEvery, before.Layers, before.KernelScale = sim.Eager, 1, 11, 120, 0, 8, 6
	after := before
	after.Seed, after.Faults = 12, []sim.Fault{{Kind: sim.FaultPageable, Rank: -1, US: 10}}
	c := difference(t, before, after)
	if title := fmt.Sprint(c.Document().Title); c.Conclusion != compare.Unclear || !strings.Contains(title, "launched work that has not begun, while the GPU copies data (+") {
		t.Errorf("%s: %s", c.Conclusion, title)
	}
}

// TestSlowRank makes the host of one rank slower: what grows most is the time that collectives of
// the others wait for it, which counts with what that host did; and its GPU, for which they wait
// without a host being late.
func TestSlowRank(t *testing.T) {
	before := sim.Default()
	before.Seed, before.Ranks, before.Steps, before.ContextEvery, before.Layers = 11, 4, 120, 0, 8
	after := before
	after.Seed, after.SlowRank, after.Slow = 12, 1, 800
	c := difference(t, before, after)
	said := strings.Join(c.Explanation, " ")
	if c.Conclusion != compare.HostInStep || !strings.Contains(said, "host time in _prepare_inputs +") {
		t.Errorf("%s; %q", c.Conclusion, said)
	}
	sum := 0.0
	for i := range c.Wait {
		sum += *c.Wait[i].Delta
	}
	for i := range c.Summary {
		if r := &c.Summary[i]; r.Name == "wait" && math.Abs(sum-*r.Delta) > 1e-6 {
			t.Errorf("causes of waits that add up to %v of %v", sum, *r.Delta)
		}
	}
	after = before
	after.Seed, before.KernelScale, after.KernelScale = 12, 6, 6
	after.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: 1, Factor: 1.4}}
	if c = difference(t, before, after); c.Conclusion != compare.Imbalance || !strings.Contains(strings.Join(c.Explanation, " "), "waiting for a rank whose GPU works longer +") {
		t.Errorf("%s; %q", c.Conclusion, c.Explanation)
	}
}

// TestSlowMachine makes all of the host slower by one factor: idle time is put down to the operations that
// it lies in, not to calls whose time is hidden behind busy GPUs.
func TestSlowMachine(t *testing.T) {
	before := sim.Default()
	before.Seed, before.Steps, before.ContextEvery, before.Layers, before.Mode, before.KernelScale = 11, 60, 0, 8, sim.Eager, 4
	after := before
	after.Seed, after.LaunchCost, after.Host = 12, 1.15*before.LaunchCost, slices.Clone(before.Host)
	for k := range after.Host {
		after.Host[k].Mean *= 1.15
	}
	c := difference(t, before, after)
	said := strings.Join(c.Explanation, " ")
	if !strings.Contains(said, "All host work changed by one factor") || !strings.Contains(said, "of the change: host time in _") || strings.Contains(said, "cudaLaunchKernel calls") {
		t.Errorf("%q", said)
	}
}

// TestLikelyCause adds a collection to one step in four of a short run: it is named.
func TestLikelyCause(t *testing.T) {
	before := sim.Default()
	before.Seed, before.Steps, before.ContextEvery, before.Layers = 1, 56, 0, 4
	after := before
	after.Seed, after.GCEvery, after.GC = 2, 4, 3000
	c := difference(t, before, after)
	said := strings.Join(c.Explanation, " ")
	if len(c.Handoff.TopIdleCauses) == 0 || c.Handoff.TopIdleCauses[0].Cause != "gc" || !strings.Contains(said, "of the change: garbage collection (GC) +") {
		t.Errorf("%q", said)
	}
}

func difference(t *testing.T, before, after sim.Config) *compare.Comparison {
	t.Helper()
	return differenceBy(t, "allreduce", before, after)
}

func differenceBy(t *testing.T, by string, before, after sim.Config) *compare.Comparison {
	t.Helper()
	c, err := compare.Compare(simulatedBy(t, by, before), simulatedBy(t, by, after), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func check(t *testing.T, p planted, c *compare.Comparison) {
	t.Helper()
	if p.conclusion != "" && c.Conclusion != p.conclusion {
		t.Errorf("conclusion %s; %q", c.Conclusion, c.Explanation)
	}
	if h := c.Handoff; p.cause != "" && (len(h.TopIdleCauses) == 0 || h.TopIdleCauses[0].Cause != p.cause) {
		t.Errorf("causes %+v; %q", h.TopIdleCauses, c.Explanation)
	}
	if h := c.Handoff; p.target != "" && (h.FirstTarget == nil || *h.FirstTarget != p.target) {
		t.Errorf("first target %v", spelled(h.FirstTarget))
	}
	if p.advice != "" && (len(c.Mitigations) == 0 || !strings.Contains(c.Mitigations[0], p.advice)) {
		t.Errorf("mitigations %q", c.Mitigations)
	}
	for _, m := range c.Mitigations {
		if strings.Contains(m, "outside the CUDA graph") && *c.Steady.Target.Graph+*c.Steady.Target.Replays == 0 {
			t.Errorf("there is no graph: %s", m)
		}
	}
}

func spelled(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// What happens in few steps is in the first line where there is evidence of it.
func TestFewSteps(t *testing.T) {
	headline := func(c *compare.Comparison) string {
		var b strings.Builder
		if err := report.Markdown(&b, c.Document(), report.Options{}); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(b.String(), "\n")
		return first
	}
	clean := sim.Default()
	clean.Seed, clean.Steps, clean.ContextEvery, clean.Layers = 21, 200, 0, 3
	pauses, some, often, again := clean, clean, clean, clean
	some.Seed, some.GCEvery, some.GC = 22, 20, 300
	pauses.Seed, pauses.GCEvery, pauses.GC = 22, 50, 30_000
	often.Seed, often.GCEvery, often.GC = 22, 11, 20_000
	again.Seed = 22
	for name, c := range map[string]struct {
		after sim.Config
		want  string
	}{
		"four pauses": {pauses, "# No significant change in step time"},
		"ten pauses":  {some, "in a few steps only: Python GC in 10 of 197 steps"},
		"many pauses": {often, "Root cause: inter-step host overhead: garbage collection (GC) (+"},
		"clean":       {again, "# Same step time, within 1.0 %"},
	} {
		got := difference(t, clean, c.after)
		if h := headline(got); !strings.Contains(h, c.want) || name != "ten pauses" && strings.Contains(h, "few steps") {
			t.Errorf("%s: %q; %s; %+v", name, h, got.Conclusion, got.Handoff.TopIdleCauses)
		}
	}
}
