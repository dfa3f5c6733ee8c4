package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestSideBySide wants ranks that are read side by side to give the answer of ranks that
// are read one after the other, whatever their steps are found by, also where they cannot
// be found, in one report and in one for each rank.
func TestSideBySide(t *testing.T) {
	cases.Whole(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, by := range []string{"auto", "nvtx", "graph"} {
		for _, split := range []bool{false, true} {
			for _, markers := range []sim.Markers{sim.Default().Markers, sim.NoMarkers} {
				c := sim.Default()
				c.Ranks, c.Layers, c.Steps, c.Warmup, c.Markers = 3, 2, 12, 2, markers
				args := append([]string{"--format", "json", "--by", by}, testrun.Simulate(t, c, split)...)
				runtime.GOMAXPROCS(1)
				want := call(t, nil, "verdict", args...)
				runtime.GOMAXPROCS(8)
				if got := call(t, nil, "verdict", args...); got != want {
					t.Errorf("--by %s, a report for each rank: %v, markers %q: %v\nside by side %v", by, split, markers, want, got)
				}
			}
		}
	}
}

// TestPartNoSurer wants a verdict on chosen steps, or times, to be no surer than that on the
// whole run, whose markers were to have become steps: before and after steps are found.
func TestPartNoSurer(t *testing.T) {
	t.Parallel()
	// Eager passes are steps, but those of a single layer have too few kernels for that.
	for _, tt := range []struct {
		layers int
		share  float64
		want   string
	}{{4, 0, "YES"}, {4, 0.75, "YES"}, {1, 0.75, "INCONCLUSIVE"}} {
		c := sim.Default()
		c.Ranks, c.Layers, c.Steps, c.Engine.EagerShare = 1, tt.layers, 60, tt.share
		files := testrun.Simulate(t, c, false)
		for _, part := range [][]string{nil, {"--from", "3", "--to", "12"}, {"--from", "450ms", "--to", "900ms"}} {
			args := append([]string{"--format", "json", "--by", "graph"}, part...)
			got := call(t, nil, "verdict", append(args, files...)...)
			if few := strings.Contains(got.stdout, "forward-step marker ranges became steps"); few != (tt.want == "INCONCLUSIVE") ||
				!strings.Contains(got.stdout, `"verdict": "`+tt.want+`"`) {
				t.Errorf("%d layers, %v of eager steps, %v: not %s:\n%.500s", tt.layers, tt.share, part, tt.want, got.stdout)
			}
		}
	}
}

// TestBordersOfPart wants the figures of chosen steps and times to be those that the whole run has
// there: a replay that goes on from before is GPU work, and a range host work; what was left out after
// the end is no idle time. The host runs ahead here: most of a replay lies in the step after that of its launch.
func TestBordersOfPart(t *testing.T) {
	t.Parallel()
	const us, ms = 1000, 1_000_000
	var rows []eventtest.Row
	for k := range int64(24) {
		start := 1000*ms + k*20*ms
		marker := eventtest.New(event.NVTX, 0, start, start+19*ms, fmt.Sprintf("_forward_step %d: 0 ctx reqs, 8 gen reqs", k))
		call := eventtest.New(event.API, 0, start+ms, start+2*ms, "cudaGraphLaunch")
		replay := eventtest.New(event.Graph, 0, start+16*ms, start+35*ms, "graph") // and 1 ms idle
		prep := eventtest.New(event.NVTX, 0, start+14*ms, start+18*ms, "_prepare_inputs")
		marker.Class, call.Class, prep.Class = event.StepMarker, event.GraphLaunch, event.Prep
		marker.Thread, call.Thread, prep.Thread, replay.Device, replay.Stream = 1, 1, 1, 0, 7
		call.Correlation, replay.Correlation = k+1, k+1
		replay.LaunchStart, replay.LaunchEnd, replay.LaunchThread = call.Start, call.End, 1
		rows = append(rows, marker, call, prep, replay)
	}
	eventtest.Sort(rows)
	h := eventtest.Header(rows)
	h.Stage, h.Columns = "nsys2arrow", event.BaseCols
	var raw bytes.Buffer
	w := arrow.NewWriter(&raw, h)
	if err := errors.Join(event.Each(eventtest.Source(h, rows, 10), w.Write), w.Close()); err != nil {
		t.Fatal(err)
	}
	steps := must(t, raw.Bytes(), "phase")
	for _, tt := range []struct {
		part                        []string
		idle, window, exposed, prep int64 // us
	}{
		{[]string{"--from", "10", "--to", "16"}, 6000, 119_000, 6000, 24_000},
		{[]string{"--from", "1195ms", "--to", "1330ms"}, 6000, 119_000, 6000, 24_000},
		{[]string{"--to", "1310ms"}, 30_000, 299_000, 16_000, 60_000},
		{[]string{"--window", "trace", "--from", "1202ms", "--to", "1210ms"}, 0, 8000, 0, 0},
		{[]string{"--window", "trace", "--from", "1215500us", "--to", "1240ms"}, 1500, 24_500, 1500, 6500},
	} {
		for name, stream := range map[string][]byte{"rows": raw.Bytes(), "steps": steps} {
			got := string(must(t, stream, "metrics", append(tt.part, "--format", "csv")...))
			for _, want := range []string{
				fmt.Sprintf("\naggregate,gpu_idle_ratio,%d,%d,", tt.idle*us, tt.window*us),
				fmt.Sprintf("\naggregate,host_prep_exposed_ratio,%d,%d,", tt.exposed*us, tt.prep*us),
			} {
				if !strings.Contains(got, want) {
					t.Errorf("%s, %v: no %q in\n%.400s", name, tt.part, want, got)
				}
			}
		}
	}
}
