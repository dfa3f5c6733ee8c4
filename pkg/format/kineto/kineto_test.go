package kineto

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// writeRanks writes the traces of all processes of a run and returns their names.
func writeRanks(t *testing.T, traces []*sim.Trace, name string, opt sim.KinetoOptions) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, tr := range traces {
		for p := range tr.Processes {
			path := filepath.Join(dir, fmt.Sprintf(name, len(paths)))
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if opt.Process = int32(p); opt.Rank >= 0 {
				opt.Rank = len(paths)
			}
			if err := tr.WriteKineto(f, opt); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	return paths
}

// gpuRow is a GPU row as text, with times that any rounding keeps.
func gpuRow(kind event.Kind, start, end, launch int64, device, stream, correlation int64, replayed bool, unit int64) string {
	return fmt.Sprint(kind, " ", start/unit, " ", (end-start)/unit, " ", launch/unit, " ", device, stream, correlation, replayed)
}

// TestTruth compares the rows of a simulated run with the run itself, in every era.
func TestTruth(t *testing.T) {
	for _, era := range sim.KinetoEras {
		for _, mode := range []sim.Mode{sim.Eager, sim.Node} {
			t.Run(fmt.Sprint(era, mode), func(t *testing.T) {
				c := sim.Default()
				c.Ranks, c.Mode, c.Steps, c.Layers = 2, mode, 6, 3
				tr, err := sim.Simulate(c)
				if err != nil {
					t.Fatal(err)
				}
				paths := writeRanks(t, []*sim.Trace{tr}, "rank%d.json", sim.KinetoOptions{Era: era})
				slices.Reverse(paths)
				r, err := Open(paths, Options{})
				if err != nil {
					t.Fatal(err)
				}
				unit, base := int64(1), tr.Session.UTC
				if era == sim.Kineto2020 || era == sim.Kineto1_8 || era == sim.Kineto1_12 {
					unit = 1000
				}
				checkTruth(t, r, tr, unit, base)
			})
		}
	}
}

func checkTruth(t *testing.T, r *Reader, tr *sim.Trace, unit, base int64) {
	t.Helper()
	calls := map[[2]int64]*sim.Call{}
	for c := range tr.Calls.All() {
		calls[[2]int64{int64(c.Process), int64(c.Corr)}] = c
	}
	want := map[string]int{}
	work := func(kind event.Kind, w *sim.Work, node bool) {
		call := calls[[2]int64{int64(w.Process), int64(w.Corr)}]
		floor := func(ns int64) int64 { return (ns + base) / unit * unit }
		row := gpuRow(kind, floor(w.Start), floor(w.Start)+(w.End-w.Start)/unit*unit, floor(call.Start), int64(w.Device), int64(w.Stream), int64(w.Corr), node, unit)
		want[fmt.Sprint(w.Process, " ", row)]++
	}
	for k := range tr.Kernels.All() {
		work(event.Kernel, &k.Work, k.Node != 0)
	}
	for k := range tr.Copies.All() {
		work(event.Memcpy, &k.Work, k.Node != 0)
	}
	h := r.Header()
	origin := h.Reports[0].Origin // Offset is relative to it
	ranges, api := 0, 0
	err := event.Each(r, func(b *event.Batch) error {
		for i := range b.Len {
			kind := b.Kind.Values[i]
			switch {
			case kind == event.API:
				api++
			case kind == event.NVTX:
				ranges++
			case kind.IsGPU():
				launch, _ := b.LaunchStart.Get(i)
				row := gpuRow(kind, b.Start.Values[i]+origin, b.End.Values[i]+origin, launch+origin, int64(b.Device.Values[i]),
					b.Stream.Values[i], b.Correlation.Values[i], b.GraphNode.Valid.Get(i), unit)
				want[fmt.Sprint(b.Rank.Values[i], " ", row)]--
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for row, n := range want {
		if n != 0 {
			t.Errorf("%+d times %s", -n, row)
		}
	}
	if api != tr.Calls.Len() || ranges == 0 {
		t.Errorf("%d calls of %d, %d ranges", api, tr.Calls.Len(), ranges)
	}
	if !slices.Equal(h.RankNumbers(), []int32{0, 1}) {
		t.Errorf("ranks %v", h.RankNumbers())
	}
}

// TestClocks has ranks whose clocks are apart: their collectives tell.
func TestClocks(t *testing.T) {
	for _, off := range []float64{0, 3, 40_000, -7_000_000} { // us
		c := sim.Default()
		c.Ranks, c.Layers, c.Steps = 3, 4, 12
		c.ClockOffset = []float64{0, 0, off}
		c.ClockError = []float64{0, 0, off}
		traces, err := sim.SimulateReports(c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open(writeRanks(t, traces, "rank%d.json", sim.KinetoOptions{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		ends := map[int32][]int64{}
		if err := event.Each(r, func(b *event.Batch) error {
			for i := range b.Len {
				if b.Class.Valid.Get(i) && b.Class.Values[i] == event.Allreduce {
					ends[b.Rank.Values[i]] = append(ends[b.Rank.Values[i]], b.End.Values[i])
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for rank := range int32(3) {
			for k, end := range ends[rank] {
				if apart := end - ends[0][k]; max(apart, -apart) > 5000 {
					t.Fatalf("off by %g us: collective %d ends %d ns apart on rank %d: %q", off, k, apart, rank, r.Header().Warnings())
				}
			}
		}
		said := strings.Join(append(r.Header().Warnings(), r.Header().Reports[0].Notes...), "\n")
		if moved := strings.Contains(said, "clocks were aligned"); moved != (max(off, -off) > 50) || !moved && !strings.Contains(said, "agree within") {
			t.Errorf("off by %g us: %s", off, said)
		}
	}
}

func TestRanks(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Layers, c.Steps = 2, 2, 2
	tr, err := sim.Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		says int
		want string
	}{
		{"rank%d.json", -1, "[0 1]"},
		{"1763-TP-%d-DECODE.trace.json.gz", -1, "[0 1]"}, // it is no gzip: content counts
		{"%d.json", -1, "[0 1]"},
		{"rank7-%d.json", 0, "[0 1]"}, // what the trace says counts more than its name
		{"rank7-%d.json", -1, "error"},
	} {
		r, err := Open(writeRanks(t, []*sim.Trace{tr}, test.name, sim.KinetoOptions{Rank: test.says}), Options{})
		got := "error"
		if err == nil {
			got = fmt.Sprint(r.Header().RankNumbers())
		}
		if got != test.want {
			t.Errorf("%s: ranks %s, want %s (%v)", test.name, got, test.want, err)
		}
	}
}

// TestMarkers has steps of the profiler's schedule around those of an engine: only
// these are markers, and the first one is none.
func TestMarkers(t *testing.T) {
	text := func(names ...string) []byte {
		var b strings.Builder
		b.WriteString(`{"traceEvents":[`)
		length := 5
		for i, name := range names {
			if name == "outer" { // the next one is around the one after it
				length = 25
				continue
			}
			fmt.Fprintf(&b, `{"ph":"X","cat":"user_annotation","name":%q,"pid":1,"tid":1,"ts":%d,"dur":%d},`, name, 10*i, length)
			length = 5
		}
		b.WriteString(event1 + `]}`)
		return []byte(b.String())
	}
	for _, test := range []struct {
		names []string
		want  int64
	}{
		{[]string{"ProfilerStep#1", "execute_context_0(0)_generation_8(8)", "ProfilerStep#2", "execute_context_0(0)_generation_8(8)"}, 1},
		{[]string{"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"}, 2},
		{[]string{"execute_new_1_cached_3", "step[DECODE bs=8]", "step[DECODE bs=9]"}, 2},
		{[]string{"step[DECODE bs=8]"}, 0},
		{[]string{"outer", "step[DECODE bs=8]", "execute_8_context_0(0)_generation_8(8)", "step[DECODE bs=9]", "outer", "execute_8_context_0(0)_generation_8(8)", "step[EXTEND bs=9]"}, 2},
		{[]string{"something else"}, 0},
	} {
		got := readBytes(t, text(test.names...), Options{})
		if got.err != nil || got.header.ClassRows(event.StepMarker) != test.want {
			t.Errorf("%q: %d markers, want %d (%v)", test.names, got.header.ClassRows(event.StepMarker), test.want, got.err)
		}
	}
}

// TestSpill keeps no rows in memory, and sorts them a few at a time: the same come.
func TestSpill(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Layers, c.Steps = 3, 2, 3
	tr, err := sim.Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	paths := writeRanks(t, []*sim.Trace{tr}, "rank%d.json", sim.KinetoOptions{})
	read := func(memory int64) (all []string) {
		r, err := Open(paths, Options{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if memory > 0 && r.Store.Spilled() == 0 {
			t.Error("nothing is in the file")
		}
		if err := event.Each(r, func(b *event.Batch) error {
			for i := range b.Len {
				launch, ok := b.LaunchStart.Get(i)
				all = append(all, fmt.Sprint(b.Rank.Values[i], b.Start.Values[i], b.End.Values[i], string(b.Name.Get(i)), launch, ok, b.Class.Values[i]))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := read(0)
	defer func(n int) { chunkRows = n }(chunkRows)
	for _, chunkRows = range []int{1, 7, 100} {
		if got := read(1 << 20); !slices.Equal(got, want) {
			t.Errorf("%d rows, %d when %d are sorted at a time, or others", len(want), len(got), chunkRows)
		}
	}
}

// TestTwiceApart gives a trace twice, one after the other or as two arrays, with the rows of each
// in runs of their own, and more of them than are compared: about how many there are is told.
func TestTwiceApart(t *testing.T) {
	defer func(n, m int) { chunkRows, maxSample = n, m }(chunkRows, maxSample)
	chunkRows = 7
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":3,"args":{"device":0,"stream":7,"correlation":%d}}`, i%5, 10*i, i))
	}
	all := strings.Join(rows, ",")
	for trace, want := range map[string]int64{`[` + all + `]`: 0, `[` + all + `,` + all + `]`: 1000, `[` + all + `],"traceEvents":[` + all + `]`: 1000} {
		for _, maxSample = range []int{1 << 14, 1 << 9, 1 << 8} {
			got := readBytes(t, []byte(`{"traceEvents":`+trace+`}`), Options{})
			if got.err != nil {
				t.Fatal(got.err)
			}
			var n int64
			for _, s := range got.header.Reports[0].Warnings {
				if strings.Contains(s, "are repeated") {
					fmt.Sscanf(strings.TrimPrefix(s, "about "), "%d", &n)
				}
			}
			if exact := maxSample == 1<<14; exact && n != want || n < want/2 || n > want*3/2 {
				t.Errorf("%d rows stand in it once more, and with %d compared %d were told", want, maxSample, n)
			}
		}
	}
}

// TestForeign reads a trace of an accelerator of which the categories are not read.
func TestForeign(t *testing.T) {
	got := readBytes(t, []byte(`{"traceEvents":[{"ph":"X","cat":"mtia_ccp_events","name":"k","pid":0,"tid":7,"ts":1,"dur":3},{"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"ts":1,"dur":3}]}`), Options{})
	if got.err != nil || !slices.Contains(got.header.Reports[0].Warnings, "no GPU work was recorded: 1 events are of an accelerator that is not read (MTIA, HPU)") {
		t.Error(got.err, got.header.Reports[0].Warnings)
	}
}

// Traces that were put together twice have each row twice, which doubles all that is counted.
func TestTwice(t *testing.T) {
	kernel := func(ts, stream int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":%d,"ts":%d,"dur":3,"args":{"device":0,"stream":%d,"correlation":7}}`, stream, ts, stream)
	}
	for _, times := range []int{1, 2} {
		var rows []string
		for i := range 20 { // on two streams at the same time
			for range times {
				rows = append(rows, kernel(10*i, 7), kernel(10*i, 8))
			}
		}
		got := readBytes(t, []byte(`{"traceEvents":[`+strings.Join(rows, ",")+`]}`), Options{})
		if got.err != nil {
			t.Fatal(got.err)
		}
		twice := slices.ContainsFunc(got.header.Reports[0].Warnings, func(s string) bool { return strings.Contains(s, "are repeated") })
		if twice != (times == 2) {
			t.Errorf("%d times: %q", times, got.header.Reports[0].Warnings)
		}
	}
}

// Overheads are written without a thread: one inside calls of one thread alone is that thread's, so
// that a launch which waits for a full queue is not counted as work of the host.
func TestOverheadThread(t *testing.T) {
	x := func(cat, name string, tid, ts, dur int) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%d,"dur":%d}`, cat, name, tid, ts, dur)
	}
	text := strings.Join([]string{
		x("overhead", "Command Buffer Full", 0, 12, 5), x("overhead", "Buffer Flush", 0, 120, 5), x("overhead", "Command Buffer Full", 0, 212, 5),
		x("cuda_runtime", "cudaLaunchKernel", 7, 10, 10), x("cuda_runtime", "cudaLaunchKernel", 7, 210, 10), x("cuda_runtime", "cudaLaunchKernel", 8, 211, 10),
	}, ",")
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, []byte(`{"traceEvents":[`+text+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	err = event.Each(r, func(b *event.Batch) error {
		for i := range b.Len {
			if b.Kind.Values[i] == event.Overhead {
				got = append(got, fmt.Sprint(b.Class.Values[i], b.Thread.Values[i]))
			}
		}
		return nil
	})
	if want := []string{"queue_full 7", "profiler 0", "queue_full 0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}

// A kernel that starts before the call that launched it is a sign of clocks that differ.
func TestEarly(t *testing.T) {
	for _, start := range []int{9, 10} {
		got := readBytes(t, []byte(fmt.Sprintf(`{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":3,"args":{"correlation":7}},
			{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":3,"args":{"device":0,"stream":7,"correlation":7}}]}`, start)), Options{})
		if got.err != nil || got.warned(event.EarlyText) != (start < 10) {
			t.Errorf("start %d: %v %q", start, got.err, got.header.Warnings())
		}
	}
}
