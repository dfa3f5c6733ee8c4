package replay_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// gains reads a simulated run as a caller with walkers of its own does, and treats it.
func gains(t *testing.T, c sim.Config, by string, treatments ...replay.Scenario) *replay.Report {
	t.Helper()
	return gainsOf(t, testrun.Open(t, by, testrun.Simulate(t, c, false)...), by, treatments...)
}

// gainsOf is gains of a stream.
func gainsOf(t *testing.T, src event.Source, by string, treatments ...replay.Scenario) *replay.Report {
	t.Helper()
	store := spill.NewStore(1 << 26)
	t.Cleanup(func() { store.Close() })
	trace := replay.New(src.Header(), store)
	walkers := map[int32]*step.Walker{}
	for rank := range int32(src.Header().NumRanks()) {
		walkers[rank] = step.NewWalker(src.Header(), rank, step.WalkOptions{Work: true}, nothing{})
	}
	err := event.Each(src, func(b *event.Batch) error {
		for i := 0; i < b.Len; {
			j := b.RankEnd(i)
			if rank, ok := b.Rank.Get(i); ok && by != "none" {
				if err := walkers[rank].Add(b, i, j); err != nil {
					return err
				}
			}
			i = j
		}
		return trace.Add(b)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Finish(func(rank int32) *step.RankSteps { walkers[rank].Finish(); return &walkers[rank].RankSteps }); err != nil {
		t.Fatal(err)
	}
	g, err := trace.Each(treatments, false)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

type nothing struct{}

func (nothing) Rows(*event.Batch, int, int) {}
func (nothing) Begin(step.Slice)            {}
func (nothing) End(step.Slice, int64)       {}
func (nothing) Step(*event.Batch, int, int) {}
func (nothing) EndStep(int, step.Owner)     {}

// treat is a treatment of some sites.
func treat(changes ...replay.Change) replay.Scenario { return replay.Scenario{Changes: changes} }

// TestGainsOfSites treats sites by name and path: a planted wait, calls that take memory, an
// operation. Each gain is the difference to the run of the same seed without what was planted;
// the same call elsewhere, and another path, bring nothing.
func TestGainsOfSites(t *testing.T) {
	without := sim.Default()
	without.Ranks, without.Steps, without.Seed = 1, 60, 3
	with := without
	with.Faults = []sim.Fault{{Kind: sim.FaultSync, At: "_sample_async", Rank: -1}, {Kind: sim.FaultAlloc, Rank: -1, US: 600}}
	truth := gains(t, with, "nvtx").StepUs - gains(t, without, "nvtx").StepUs
	at := pathOf(t, with, "cudaDeviceSynchronize")
	alloc := treat(replay.Call("cudaMalloc", 0).At(pathOf(t, with, "cudaMalloc")), replay.Call("cudaFree", 0).At(pathOf(t, with, "cudaFree")))
	wait := treat(replay.Wait("cudaDeviceSynchronize").At(at))
	both := treat(slices.Concat(wait.Changes, alloc.Changes)...)
	g := gains(t, with, "nvtx", wait, alloc, treat(replay.Wait("cudaDeviceSynchronize").At(at+" > elsewhere")), both)
	if pair := g.Scenarios[3]; math.Abs(pair.GainUs-truth) > 0.02*g.StepUs {
		t.Errorf("%q: both treated: %+v, the runs differ by %.1f of %.1f us", at, pair, truth, g.StepUs)
	}
	for _, got := range g.Scenarios[:2] {
		if got.GainUs <= 0 || got.CIUs == nil || got.CIUs[0] > got.GainUs || got.CIUs[1] < got.GainUs {
			t.Errorf("%+v", got)
		}
	}
	if g.Scenarios[2].GainUs != 0 {
		t.Errorf("a wait that is nowhere: %+v", g.Scenarios[2])
	}
	anywhere := gains(t, with, "nvtx", treat(replay.Call("cudaMalloc", 0), replay.Call("cudaFree", 0)))
	if anywhere.Scenarios[0].GainUs != g.Scenarios[1].GainUs {
		t.Errorf("anywhere %+v, at their paths %+v", anywhere.Scenarios[0], g.Scenarios[1])
	}
}

// pathOf returns the path of ranges in which the rows of a simulated run have a call.
func pathOf(t *testing.T, c sim.Config, call string) (path string) {
	t.Helper()
	src := testrun.Open(t, "nvtx", testrun.Simulate(t, c, false)...)
	sites := idle.NewSites()
	r := idle.NewRank(sites, idle.Options{})
	err := event.Each(src, func(b *event.Batch) error {
		for i := range b.Len {
			switch b.Kind.Values[i] {
			case event.NVTX:
				r.Range(b, i)
			case event.API:
				if h := r.Call(b, i); string(b.Name.Get(i)) == call {
					path = sites.PathText(h.Path)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGainsWithoutSteps has a recording without steps be one.
func TestGainsWithoutSteps(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Steps = 1, 30
	g := gains(t, c, "none", treat(replay.Host(0.5)), treat(replay.GPU(2)))
	if g.Steps != 1 || g.Scenarios[0].GainUs <= 0 || g.Scenarios[1].GainUs >= 0 {
		t.Errorf("%+v", g)
	}
}

// TestGainOfOneStep has the one slow step of many take what the others do: no step gains less than
// nothing, and so does the interval not hold it, however far from normal the gains are.
func TestGainOfOneStep(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Steps, c.GCEvery, c.GC = 1, 60, 40, 30_000
	found := false
	for k := range 60 {
		g := gains(t, c, "nvtx", replay.Scenario{Typical: map[int32]map[int]bool{0: {k: true}}}).Scenarios[0]
		if g.GainUs > 300 {
			found = true
			if g.CIUs == nil || g.CIUs[0] < 0 || g.CIUs[1] < g.GainUs {
				t.Errorf("step %d: %.1f us in %v", k, g.GainUs, g.CIUs)
			}
		}
	}
	if !found {
		t.Error("no step is slow")
	}
}

// TestClocksApart has the clocks of two reports differ by more than a collective takes: steps are what
// they are on one clock, and rows that are not changed are where they were.
func TestClocksApart(t *testing.T) {
	var want float64
	for _, off := range []float64{0, 5000, -700} {
		c := sim.Default()
		c.Ranks, c.Steps, c.SlowRank, c.Slow, c.ClockError = 2, 12, 1, 600, []float64{0, off}
		g := gainsOf(t, testrun.Open(t, "allreduce", testrun.Simulate(t, c, true)...), "allreduce", treat(replay.Even()))
		if got := g.Scenarios[0].GainUs; off == 0 {
			want = got
		} else if math.Abs(got-want) > 1e-6 || len(g.Warnings) > 0 {
			t.Errorf("clocks %v us apart: a gain of %.1f us, want %.1f; %q", off, got, want, g.Warnings)
		}
	}
	if want < 200 {
		t.Errorf("even ranks gain %.1f us", want)
	}
}

// TestNoMeeting has two ranks of different runs, whose collectives end together on no clock.
func TestNoMeeting(t *testing.T) {
	var paths []string
	for rank := range 2 {
		c := sim.Default()
		c.Ranks, c.Steps, c.Seed = 2, 12, uint64(rank+1)
		paths = append(paths, testrun.Simulate(t, c, true)[rank])
	}
	g := gainsOf(t, testrun.Open(t, "allreduce", paths...), "allreduce", treat(replay.Host(0.5)))
	if !slices.ContainsFunc(g.Warnings, func(w string) bool { return strings.Contains(w, "match none of another rank") }) {
		t.Errorf("%q", g.Warnings)
	}
}

// earlier is a source whose clock began later, as that of a report is beside one of a session that started
// before it.
type earlier struct {
	event.Source
	ns int64
}

func (s earlier) Next() (*event.Batch, error) {
	b, err := s.Source.Next()
	if err != nil {
		return nil, err
	}
	moved := *b
	for _, column := range []*event.Ints[int64]{&moved.Start, &moved.End, &moved.LaunchStart, &moved.LaunchEnd} {
		column.Values = slices.Clone(column.Values)
		for i := range column.Values {
			column.Values[i] -= s.ns
		}
	}
	return &moved, nil
}

// TestBeforeZero has a run before the time 0 gain what it gains after it.
func TestBeforeZero(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Steps = 1, 20
	paths := testrun.Simulate(t, c, false)
	all := []replay.Scenario{treat(replay.Ahead()), treat(replay.Wait("*").SparingTokens()), treat(replay.Host(0.5))}
	want := gainsOf(t, testrun.Open(t, "nvtx", paths...), "nvtx", all...)
	got := gainsOf(t, earlier{testrun.Open(t, "nvtx", paths...), 1e12}, "nvtx", all...)
	for k, w := range want.Scenarios {
		if g := got.Scenarios[k]; g.GainUs != w.GainUs || k == 0 && w.GainUs <= 0 {
			t.Errorf("%d: %v us before 0, %v us after it", k, g.GainUs, w.GainUs)
		}
	}
}
