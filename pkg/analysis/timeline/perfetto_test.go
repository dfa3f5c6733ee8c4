package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// steps returns two steps of two ranks, with names that nobody should have.
func stepsOf() *Timeline {
	const none = None
	hostile := "</script>\"\n\x1b[31m\xff" + strings.Repeat("é", 2000)
	s := &Step{
		Number: 4, Phase: event.Generation, Start: -100, Until: 900, Idle: 300, Worst: 1, Left: 7,
		Names: []string{"outer", "cudaLaunchKernel", "gemm", hostile},
		Events: []Event{
			{Start: -200, End: 1500, Kind: event.NVTX, Class: event.Range, Name: 0, Thread: 7, Stream: none, Correlation: none, Launch: -1},
			{Start: -150, End: -120, Kind: event.API, Class: event.Launch, Name: 1, Thread: 7, Stream: none, Correlation: 11, Launch: -1},
			{Start: 0, End: 300, Kind: event.Kernel, Class: event.GEMM, Name: 2, Thread: none, Stream: 13, Correlation: 11, Launch: 1},
			{Start: 200, End: 400, Kind: event.Kernel, Class: event.GEMM, Name: 2, Thread: none, Stream: 13, Correlation: 11, Launch: 1, Replayed: true},
			{Start: 250, End: 250, Kind: event.API, Class: -1, Name: 3, Thread: 7, Stream: none, Correlation: none, Launch: -1},
			{Start: 300, End: 600, Kind: event.Overhead, Class: event.ByProfiler, Name: 3, Thread: none, Stream: none, Correlation: none, Launch: -1},
		},
		Gaps: []Gap{
			{Start: 400, End: 900, Cause: "host:" + hostile, Path: "outer > inner", Why: "running"},
			{Start: -100, End: 0, Cause: "launch", Site: "cudaLaunchKernel"},
		},
	}
	next := &Step{
		Number: 5, Phase: event.Unknown, Start: 900, Until: 1600, Names: s.Names,
		Events: []Event{s.Events[0], {Start: 1600, End: 1700, Kind: event.Run, Class: -1, Name: 0, Thread: 7, Stream: none, Correlation: none, Launch: -1}},
	}
	other := &Step{Rank: 1, Number: -1, Start: 0, Until: 10, Names: s.Names}
	return &Timeline{Steps: []*Step{s, next, other}, Seen: 9}
}

// TestPerfetto parses what is written: all slices are there, once, on their tracks, with their
// arrows.
func TestPerfetto(t *testing.T) {
	var b bytes.Buffer
	if err := WritePerfetto(&b, stepsOf()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Pid, Tid      int
			Ts, Dur       json.Number
			ID            int
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	count, tracks := map[string]int{}, map[[2]int]string{}
	var got []string
	for _, e := range doc.TraceEvents {
		count[e.Ph]++
		switch {
		case e.Ph == "M" && e.Name == "process_name":
			tracks[[2]int{e.Pid, -1}] = e.Args["name"].(string)
		case e.Ph == "M" && e.Name == "thread_name":
			tracks[[2]int{e.Pid, e.Tid}] = e.Args["name"].(string)
		case e.Ph == "X":
			start, err := e.Ts.Float64()
			length, err2 := e.Dur.Float64()
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			text := fmt.Sprintf("%s/%s: %s %q %.0f %.0f", tracks[[2]int{e.Pid, -1}], tracks[[2]int{e.Pid, e.Tid}], e.Cat, e.Name, 1000*start, 1000*(start+length))
			for _, key := range []string{"gpu_idle_ns", "phase", "place_by_idle_time", "events_left_out", "site", "ranges", "why", "class", "correlation", "launched_by"} {
				if v, there := e.Args[key]; there {
					text += fmt.Sprintf(" %s=%v", key, v)
				}
			}
			got = append(got, text)
		}
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`rank 0/steps: step "step 4" 100 1100 gpu_idle_ns=300 phase=generation place_by_idle_time=1 events_left_out=7`,
		`rank 0/steps: step "step 5" 1100 1800 gpu_idle_ns=0 phase=unknown`,
		`rank 0/GPU 0 waits for: idle "launch" 100 200 site=cudaLaunchKernel`,
		`ranges=outer > inner why=running`,
		`rank 0/GPU 0, stream 13: kernel "gemm" 200 500 class=gemm correlation=11`,
		`rank 0/GPU 0, stream 13 (2): kernel "gemm" 400 600 class=gemm correlation=11 launched_by=graph`,
		`rank 0/thread 7: nvtx "outer" 0 1700 class=range`,
		`rank 0/thread 7: api "cudaLaunchKernel" 50 80 class=launch correlation=11`,
		`rank 0/thread 7, CPU: run "outer" 1800 1900`,
		`rank 0/profiler: overhead`,
		`rank 1/steps: step "trace" 200`,
	} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(all, want), all)
		}
	}
	if len(got) != 12 {
		t.Errorf("%d slices, want 12", len(got))
	}
	if count["s"] != 1 || count["f"] != 1 || bytes.Contains(b.Bytes(), []byte("</script>")) || !utf8.Valid(b.Bytes()) {
		t.Errorf("%v, or hostile bytes", count)
	}
	b.Reset()
	if err := WritePerfetto(&b, &Timeline{}); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("no steps: %v, %s", err, b.Bytes())
	}
}
