package timeline_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// collect returns what is kept of a run, and what package gap says of it.
func collect(t *testing.T, c sim.Config, by string, opt timeline.Options) (*timeline.Timeline, *gap.Report) {
	t.Helper()
	src := testrun.Open(t, by, testrun.Simulate(t, c, false)...)
	lines := timeline.New(src.Header(), opt)
	rep, err := gap.Compute(event.Tee(src, lines.Add), gap.Options{PerStep: true, BusyAll: opt.BusyAll})
	if err != nil {
		t.Fatal(err)
	}
	return lines.Close(), rep
}

// TestAgainstGaps compares what is kept of steps with what package gap says of every
// step: the worst are the worst, their idle time by cause is the same, and rows and
// gaps of a GPU fill the period and do not overlap.
func TestAgainstGaps(t *testing.T) {
	for _, mode := range []sim.Mode{sim.Eager, sim.Node, sim.Whole} {
		c := sim.Default()
		c.Ranks, c.Devices, c.Mode, c.Steps, c.Layers = 2, 2, mode, 20, 3
		by := "nvtx"
		lines, rep := collect(t, c, by, timeline.Options{Worst: 4, Spread: 6})
		if len(lines.Steps) < 8 || lines.Seen != len(rep.Idle.PerStep) {
			t.Fatalf("%s: %d steps kept of %d, want %d", mode, len(lines.Steps), lines.Seen, len(rep.Idle.PerStep))
		}
		slices.SortStableFunc(rep.Idle.PerStep, func(a, b gap.StepIdle) int { return cmp.Compare(b.TotalUs, a.TotalUs) })
		worst := 0
		for _, s := range lines.Steps {
			if s.Worst > 0 {
				worst++
				if want := rep.Idle.PerStep[s.Worst-1]; math.Abs(want.TotalUs-float64(s.Idle)/1e3) > 1e-6 {
					t.Errorf("%s: worst %d is idle for %d ns, want %f us", mode, s.Worst, s.Idle, want.TotalUs)
				}
			}
			checkStep(t, s, rep)
		}
		if worst != 4 {
			t.Errorf("%s: %d worst steps", mode, worst)
		}
	}
}

func checkStep(t *testing.T, s *timeline.Step, rep *gap.Report) {
	t.Helper()
	name := fmt.Sprintf("rank %d step %d", s.Rank, s.Number)
	k := slices.IndexFunc(rep.Idle.PerStep, func(p gap.StepIdle) bool { return p.Rank == s.Rank && int64(p.Step) == s.Number })
	if k < 0 {
		t.Fatalf("%s: not in the report", name)
	}
	causes := map[string]int64{}
	busy := map[int32][][2]int64{}
	for _, g := range s.Gaps {
		causes[g.Cause] += g.End - g.Start
		busy[g.Device] = append(busy[g.Device], [2]int64{g.Start, g.End})
	}
	for _, want := range rep.Idle.PerStep[k].Causes {
		if us := float64(causes[want.Cause]) / 1e3; math.Abs(us-want.Us) > 1e-6 {
			t.Errorf("%s: %f us of %s, want %f", name, us, want.Cause, want.Us)
		}
		delete(causes, want.Cause)
	}
	if len(causes) > 0 {
		t.Errorf("%s: %v, of which the report says nothing", name, causes)
	}
	checkWaits(t, name, s)
	gaps := len(s.Gaps)
	for i, e := range s.Events {
		if e.Kind == event.Kernel || e.Kind == event.Graph {
			busy[e.Device] = append(busy[e.Device], [2]int64{e.Start, e.End})
		}
		if e.Launch >= 0 && (s.Events[e.Launch].Kind != event.API || s.Events[e.Launch].Correlation != e.Correlation) {
			t.Errorf("%s: row %d is launched by %+v", name, i, s.Events[e.Launch])
		}
		if e.Kind.IsGPU() && e.Launch < 0 {
			t.Errorf("%s: %s has no launch", name, s.Names[e.Name])
		}
	}
	if gaps == 0 || len(busy) != 2 {
		t.Errorf("%s: %d gaps on %d devices", name, gaps, len(busy))
	}
	for device, spans := range busy {
		slices.SortFunc(spans, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		at := s.Start
		for _, span := range spans {
			if span[0] > at {
				t.Errorf("%s: nothing on GPU %d for %d ns", name, device, span[0]-at)
			}
			at = max(at, span[1])
		}
		if at < s.Until {
			t.Errorf("%s: nothing on GPU %d for the last %d ns", name, device, s.Until-at)
		}
	}
}

// checkWaits wants each wait within a collective of its GPU, at the beginning, and none in idle time.
func checkWaits(t *testing.T, name string, s *timeline.Step) {
	t.Helper()
	for _, w := range s.Waits {
		within := slices.ContainsFunc(s.Events, func(e timeline.Event) bool {
			return e.Class.IsCollective() && e.Device == w.Device && e.Start <= w.Start && w.End < e.End
		})
		idle := slices.ContainsFunc(s.Gaps, func(g timeline.Gap) bool { return g.Device == w.Device && g.Start < w.End && w.Start < g.End })
		if !within || idle || w.Cause == "" || w.Late == "" {
			t.Errorf("%s: %+v: in a collective %v, in a gap %v", name, w, within, idle)
		}
	}
}

// TestWaits sees the slow rank of four in what the others' GPUs wait for, by its operation.
func TestWaits(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Mode, c.Steps, c.Layers, c.Overlap, c.KernelScale = 4, sim.Eager, 40, 3, true, 4
	c.SlowRank, c.Slow = 2, 3000
	lines, _ := collect(t, c, "nvtx", timeline.Options{Worst: 200}) // all of them
	waits := map[string]int64{}
	for _, s := range lines.Steps {
		for _, w := range s.Waits {
			waits[w.Late+", "+w.Cause] += w.End - w.Start
		}
	}
	all := int64(0)
	for _, ns := range waits {
		all += ns
	}
	if due := waits["for rank 2, host:"+c.SlowOp]; all == 0 || due < all/2 {
		t.Errorf("%d ns of %d for the operation of the slow rank: %v", due, all, waits)
	}
}

// TestTrace keeps a stream without steps as one step.
func TestTrace(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Warmup, c.Steps, c.Layers = 1, 0, 4, 2
	lines, rep := collect(t, c, "none", timeline.Options{Worst: 3})
	if len(lines.Steps) != 1 || lines.Seen != 1 {
		t.Fatalf("%d steps of %d", len(lines.Steps), lines.Seen)
	}
	s := lines.Steps[0]
	if s.Number != -1 || s.Worst != 1 || math.Abs(float64(s.Idle)/1e3-rep.Idle.TotalUs) > 1e-6 || s.Left != 0 {
		t.Errorf("step %d, worst %d, %d ns idle, want %f us", s.Number, s.Worst, s.Idle, rep.Idle.TotalUs)
	}
}

// TestDocument draws the slowest steps and those of median length: every span is in its
// step, and idle time fills what GPUs do not.
func TestDocument(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Devices, c.Mode, c.Steps, c.Layers = 2, 1, sim.Eager, 40, 3
	lines, _ := collect(t, c, "nvtx", timeline.Options{Worst: 2, Spread: 8, Slowest: true})
	d, s := report.New(report.Plain("steps"))
	lines.Document(s, figure.Palette{"launch": 1})
	longest := int64(0)
	for _, st := range lines.Steps {
		longest = max(longest, st.Until-st.Start)
		if st.Worst == 1 && st.Until-st.Start < longest {
			t.Errorf("step %d is not the slowest", st.Number)
		}
	}
	if n := len(d.Sections[0].Blocks); n < 3 || n > 5 {
		t.Fatalf("%d steps are drawn", n)
	}
	for _, b := range d.Sections[0].Blocks {
		drawing := b.(*report.Drawing)
		plot := drawing.Plot.(*figure.Timeline)
		tracks := map[string]bool{}
		for _, track := range plot.Tracks {
			tracks[track.Name] = true
			for _, span := range track.Spans {
				if span.From < plot.From || span.To > plot.To || span.To < span.From {
					t.Errorf("%s: %+v is not in %f to %f", drawing.Title, span, plot.From, plot.To)
				}
			}
		}
		if !tracks["GPU 0 is idle or waits, by cause"] || len(tracks) < 4 || len(plot.Arrows) == 0 || len(drawing.Table.Rows) == 0 {
			t.Errorf("%s: tracks %v, %d arrows, %d rows", drawing.Title, tracks, len(plot.Arrows), len(drawing.Table.Rows))
		}
	}
}
