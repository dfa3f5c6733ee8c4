package isolate

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// marked returns the rows of steps with a marker each, of the given rank, that start
// so many ns apart: a marker, three kernels of the class, one more outside of it.
func marked(rank int32, steps int, apart int64, class event.Class) (rows []eventtest.Row) {
	for n := range int64(steps) {
		at := n * apart
		m := eventtest.New(event.NVTX, rank, at, at+apart/2, "_forward_step: 0 ctx reqs, 2 gen reqs")
		m.Class, m.Thread = event.StepMarker, 1
		rows = append(rows, m)
		for i := range int64(4) {
			k := eventtest.New(event.Kernel, rank, at+apart/2+i*apart/10, at+apart/2+i*apart/10+apart/20, "k")
			k.Device, k.Class, k.Thread = rank, class, -1
			k.LaunchStart, k.LaunchEnd, k.LaunchThread = at+1000+i, at+1001+i, 1
			if i == 3 { // a sampler's
				k.LaunchStart, k.LaunchEnd = at+apart/2+10, at+apart/2+20
			}
			rows = append(rows, k)
		}
	}
	return rows
}

// stepsOf returns the step rows of a rank, and its window row.
func stepsOf(t *testing.T, h *event.Header, rows []eventtest.Row, opt Options, rank int32) (steps []eventtest.Row, window eventtest.Row) {
	t.Helper()
	for _, r := range isolate(t, h, rows, opt, 3) {
		switch {
		case r.Rank != rank:
		case r.Kind == event.Step:
			steps = append(steps, r)
		case r.Kind == event.Window:
			window = r
		}
	}
	return steps, window
}

// What was not recorded ends a step, its segment and its period, however short it
// is.
func TestUnrecorded(t *testing.T) {
	const apart = 1_000_000
	rows := marked(0, 20, apart, event.Allreduce)
	// The recording stops during the sampler's kernel of step 7, and goes on with step 12.
	stop, start := int64(7*apart+apart/2+3*apart/10+10), int64(12*apart-5)
	rows = slices.DeleteFunc(rows, func(r eventtest.Row) bool { return r.Start >= stop && r.Start < start })
	h := eventtest.Header(rows)
	h.Reports[0].RankFacts = []event.RankFacts{{
		Rank: 0, Markers: 16, Allreduces: 64, RankSpan: event.RankSpan{Unrecorded: [][2]int64{{stop, start}}},
	}}
	for _, by := range []string{step.Allreduce, step.NVTX} {
		steps, w := stepsOf(t, h, rows, Options{By: by}, 0)
		if len(steps) != 16 {
			t.Fatalf("by %s: %d steps", by, len(steps))
		}
		for i, s := range steps {
			if s.End > stop && s.Start < start || (s.Segment == 0) != (i < 8) {
				t.Errorf("by %s: step %d from %d to %d in segment %d", by, i, s.Start, s.End, s.Segment)
			}
		}
		if last := steps[7]; by == step.Allreduce && last.End != stop {
			t.Errorf("the step before the border ends at %d, want %d", last.End, stop)
		}
		if w.Segment != 1 || w.Start < start || w.Step != 16 {
			t.Errorf("by %s: window %+v", by, w)
		}
	}
}

// The window of several recordings is the last one, and a warning says so.
func TestUnrecordedWindow(t *testing.T) {
	const apart = 1_000_000
	rows := marked(0, 20, apart, event.Allreduce)
	stop, start := int64(12*apart-5), int64(14*apart-5)
	rows = slices.DeleteFunc(rows, func(r eventtest.Row) bool { return r.Start >= stop && r.Start < start })
	h := eventtest.Header(rows)
	h.Reports[0].RankFacts = []event.RankFacts{{
		Rank: 0, Markers: 18, Allreduces: 72, RankSpan: event.RankSpan{Unrecorded: [][2]int64{{stop, start}}},
	}}
	var said []string
	_, w := stepsOf(t, h, rows, Options{By: step.NVTX, Log: func(s string) { said = append(said, s) }}, 0)
	want := "only 6 of 18 steps of rank 0 are analysed: pauses or unrecorded time split them into 2 segments; --segment-gap sets the length of pauses that do"
	if w.Segment != 1 || len(said) != 1 || said[0] != want {
		t.Errorf("window %+v, said %q, want %q", w, said, want)
	}
}

// A sampler's kernel launched after the marker belongs to the step, however late it
// comes.
func TestOutsideMarkers(t *testing.T) {
	rows := marked(0, 10, 40_000_000, event.Allreduce)
	steps, w := stepsOf(t, eventtest.Header(rows), rows, Options{By: step.Allreduce}, 0)
	if len(steps) != 10 || w.Size != 4 {
		t.Errorf("%d steps of %d kernels, want 10 of 4", len(steps), w.Size)
	}
}

// A stage of a pipeline without all-reduce kernels has steps where others have.
func TestPipelineStage(t *testing.T) {
	rows := append(marked(0, 10, 1_000_000, event.Allreduce), marked(1, 10, 1_000_000, event.Comm)...)
	h := eventtest.Header(rows)
	h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Markers: 10, Allreduces: 40}, {Rank: 1, Markers: 10}}
	var said []string
	opt := Options{By: step.Allreduce, Log: func(s string) { said = append(said, s) }}
	steps, w := stepsOf(t, h, rows, opt, 1)
	if len(steps) != 10 || w.Size != 1 {
		t.Errorf("%d steps, window %+v", len(steps), w)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "its steps are found by its forward-step markers") }) {
		t.Errorf("said %q", said)
	}
}

// Markers that some iterations lack are noticed.
func TestLostMarkers(t *testing.T) {
	for every, want := range map[int]string{10: "27 steps by allreduce, but 30 forward passes", 2: "15 steps by allreduce, but 30 forward passes"} {
		n := 0
		rows := slices.DeleteFunc(marked(0, 30, 1_000_000, event.Allreduce), func(r eventtest.Row) bool {
			n += b2i(r.Kind == event.NVTX)
			return r.Kind == event.NVTX && n%every == every/2
		})
		_, warnings, err := found(t, rows, Options{By: step.Allreduce})
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("one in %d: warnings %q, error %v", every, warnings, err)
		}
	}
}

// Of a run most of whose replays were not recorded the markers tell more than the
// all-reduce kernels that are left.
func TestUnrecordedReplays(t *testing.T) {
	h := &event.Header{Columns: event.BaseCols, Reports: []event.Report{{
		Ranks: []int32{0}, Extent: event.Extent{Classes: map[string]int64{"allreduce": 30, "step": 90, "graph_launch": 80}},
		RankFacts: []event.RankFacts{{Rank: 0, Markers: 90, Allreduces: 30, GraphLaunches: 80}},
	}}}
	it, err := New(eventtest.Source(h, nil, 1), Options{})
	if err != nil || it.Header().Isolation.Method != step.NVTX {
		t.Errorf("method %+v, error %v", it.Header().Isolation, err)
	}
	h.Reports[0].Classes["step"], h.Reports[0].RankFacts[0].Markers = 0, 0
	var warnings []string
	if _, err := New(eventtest.Source(h, nil, 1), Options{Warn: func(s string) { warnings = append(warnings, s) }}); err != nil || len(warnings) != 1 {
		t.Errorf("warnings %q, error %v", warnings, err)
	}
}

// So they are where steps are the markers.
func TestLostMarkersByNVTX(t *testing.T) {
	for _, lost := range []bool{true, false} {
		rows := marked(0, 30, 1_000_000, event.Comm)
		var all []eventtest.Row
		for n, r := range rows {
			marker := r.Kind == event.NVTX
			if !marker || !lost || n/5%10 != 5 {
				all = append(all, r)
			}
			for i := range int64(12) {
				c := eventtest.New(event.API, 0, r.Start+1000+i, r.Start+1001+i, "cudaLaunchKernel")
				c.Class, c.Thread = event.Launch, 1
				if i > 8 { // a sampler's
					c.Start, c.End = c.Start+600_000, c.End+600_000
				}
				if marker {
					all = append(all, c)
				}
			}
		}
		slices.SortStableFunc(all, func(a, b eventtest.Row) int { return cmp.Compare(a.Start, b.Start) })
		_, warnings, err := found(t, all, Options{By: step.NVTX})
		if err != nil || len(warnings) != b2i(lost) {
			t.Errorf("markers lost %v: warnings %q, error %v", lost, warnings, err)
		}
	}
}

// A draft's all-reduces with which a recording begins are no step.
func TestLeadingDraft(t *testing.T) {
	rows := marked(0, 10, 1_000_000, event.Allreduce)
	rows = rows[4:] // the sampler's of a step before
	steps, w := stepsOf(t, eventtest.Header(rows), rows, Options{By: step.Allreduce}, 0)
	if len(steps) != 9 || steps[0].Start != 1_500_000 || w.Step != 9 {
		t.Errorf("%d steps, window %+v", len(steps), w)
	}
}
