package nsys

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// small is a configuration of few rows.
func small(change func(*sim.Config)) sim.Config {
	c := sim.Default()
	c.Steps, c.Warmup, c.Layers = 4, 1, 2
	if change != nil {
		change(&c)
	}
	return c
}

func simulate(t testing.TB, c sim.Config) *sim.Trace {
	t.Helper()
	tr, err := sim.Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestSchemas writes one run in every schema, lazily and with empty tables, as
// a file and as a directory: they are the same rows. Only the metadata, which
// old schemas lack, may be missing from the header.
func TestSchemas(t *testing.T) {
	config := small(func(c *sim.Config) { c.Steps, c.Layers, c.Frontend, c.Overheads = 1, 1, true, true })
	var want []row
	var header event.Report
	for _, schema := range sim.Schemas() {
		for _, opt := range []sim.Options{{Schema: schema}, {Schema: schema, EmptyTables: true}} {
			dir := t.TempDir()
			paths := []string{filepath.Join(dir, "x.sqlite"), filepath.Join(dir, "x_pqtdir")}
			if err := simulate(t, config).WriteSQLite(paths[0], opt); err != nil {
				t.Fatal(err)
			}
			if err := simulate(t, config).WriteParquetDir(paths[1], opt); err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				h, rows := read(t, path)
				for i := range rows { // before 3.24 CUPTI's overheads are among the profiler's
					if rows[i][event.ColKind] == "overhead" {
						rows[i][event.ColClass] = "-"
					}
				}
				if want == nil {
					want, header = rows, h.Reports[0]
				}
				t.Run(fmt.Sprint(schema, opt.EmptyTables, filepath.Base(path)), func(t *testing.T) {
					sameRows(t, rows, want)
					rep := h.Reports[0]
					if old := schema == sim.Schema2020; rep.Schema != schema.String() && !old || (rep.Version == "") != old {
						t.Errorf("nsys %q, schema %q of %s", rep.Version, rep.Schema, schema)
					}
					rep.File, rep.Source, rep.Version, rep.Schema, rep.Capture = header.File, header.Source, header.Version, header.Schema, header.Capture
					if g, w := asJSON(t, rep), asJSON(t, header); g != w {
						t.Errorf("header\n%s\nwant\n%s", g, w)
					}
				})
			}
		}
	}
}

// TestParquetRandom reads random traces from a file and from a directory.
func TestParquetRandom(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			tr, opt := sim.Random(1000 + seed)
			file, columns := written(t, tr, opt)
			if !isExport(columns) {
				t.Skip("nothing was written")
			}
			dir := filepath.Join(t.TempDir(), "x_pqtdir")
			if err := tr.WriteParquetDir(dir, opt); err != nil {
				t.Fatal(err)
			}
			h, want := read(t, file)
			g, got := read(t, dir)
			sameRows(t, got, want)
			g.Reports[0].File = h.Reports[0].File
			if a, b := asJSON(t, g.Reports), asJSON(t, h.Reports); a != b {
				t.Errorf("header\n%s\nwant\n%s", a, b)
			}
		})
	}
}

// TestReduced reads exports without processes of GPU rows.
func TestReduced(t *testing.T) {
	tr := simulate(t, small(func(c *sim.Config) { c.Ranks, c.Devices, c.Frontend = 1, 2, true }))
	path, columns := written(t, tr, sim.Options{Reduced: true})
	h := sameAsReference(t, newReference(tr, columns), path)
	if n := len(h.Reports[0].Ranks); n != 1 {
		t.Errorf("%d ranks, want 1", n)
	}
	// Neither GPU rows nor calls nor ranges say their process.
	path, _ = written(t, tr, sim.Options{Reduced: true, Drop: []string{runtimeTable + ".globalTid", nvtxTable + ".globalTid"}})
	h, rows := read(t, path)
	if n := len(h.Reports[0].Ranks); n != 1 {
		t.Errorf("%d ranks, want 1", n)
	}
	if h.Domains == nil || !slices.ContainsFunc(rows, func(r row) bool { return r[event.ColDomain] != "-" }) {
		t.Errorf("domains %q are lost", h.Domains)
	}
	for _, r := range rows {
		if r[event.ColRank] != "0" || r[event.ColThread] != "-" {
			t.Fatalf("row of another rank or with a thread: %s", r)
		}
	}
}

// TestAmbiguousProcess warns where rows may be of several processes.
func TestAmbiguousProcess(t *testing.T) {
	path, _ := written(t, simulate(t, small(nil)), sim.Options{Reduced: true})
	h, _ := read(t, path)
	if w := h.Warnings(); len(w) == 0 || !strings.Contains(w[0], "do not say their process") {
		t.Errorf("warnings %q", w)
	}
}

// TestEqualCandidates gives rows to the lower of two processes that launched as
// much.
func TestEqualCandidates(t *testing.T) {
	tr, opt := parse(t, `# two processes alike
schema 3.25.0 reduced
process 300
api 0us 1us cudaLaunchKernel_v7000 corr=1
process 200
api 0us 1us cudaLaunchKernel_v7000 corr=2
kernel 5us 6us k corr=1
`)
	path, columns := written(t, tr, opt)
	_, rows := read(t, path)
	if r := rows[0]; r[event.ColRank] != "0" || r[event.ColThread] != "200" {
		t.Errorf("rank 0 begins with %s", r)
	}
	sameAsReference(t, newReference(tr, columns), path)
}

// reports writes the traces of several ranks.
func reports(t testing.TB, c sim.Config, change func(i int, tr *sim.Trace)) []string {
	t.Helper()
	traces, err := sim.SimulateReports(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var paths []string
	for i, tr := range traces {
		if change != nil {
			change(i, tr)
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("rank%d.sqlite", i)))
		if err := tr.WriteSQLite(paths[i], sim.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// TestSplitReports reads two ranks out of one file and out of two.
func TestSplitReports(t *testing.T) {
	c := small(nil)
	file, _ := written(t, simulate(t, c), sim.Options{})
	_, one := read(t, file)
	h, two := read(t, reports(t, c, nil)...)
	if len(h.Reports) != 2 || !slices.Equal(h.Reports[1].Ranks, []int32{1}) {
		t.Errorf("reports %s", asJSON(t, h.Reports))
	}
	// In a file of its own a rank has its own device numbers and ids.
	for _, rows := range [][]row{one, two} {
		for i := range rows {
			for _, c := range []event.Col{event.ColDevice, event.ColThread, event.ColLaunchThread, event.ColCorrelation} {
				rows[i][c] = ""
			}
		}
	}
	sameRows(t, two, one)
}

// TestClocks reads three reports, the clocks of which differ, and the same ones
// normalised and shifted by whoever exported them: the rows are the same, on
// the clock of the first report.
func TestClocks(t *testing.T) {
	c := small(func(c *sim.Config) { c.Ranks, c.ClockOffset = 3, []float64{0, 700, -1500} })
	straight := small(func(c *sim.Config) { c.Ranks = 3 })
	_, want := read(t, reports(t, straight, nil)...)
	_, plain := read(t, reports(t, c, nil)...)
	sameRows(t, plain, want)

	_, shifted := read(t, reports(t, c, func(i int, tr *sim.Trace) { tr.Session.Shift = []int64{0, 5e9, -7e6}[i] })...)
	sameRows(t, shifted, want)

	_, mixed := read(t, reports(t, c, func(i int, tr *sim.Trace) {
		tr.Session.Normalize, tr.Session.Shift = i == 1, []int64{0, 3e6, 0}[i]
	})...)
	sameRows(t, mixed, want)

	h, absolute := read(t, reports(t, c, func(i int, tr *sim.Trace) { tr.Session.Normalize = true })...)
	utc := straight.UTC
	for i := range absolute {
		for _, c := range []event.Col{event.ColStart, event.ColEnd, event.ColLaunchStart, event.ColLaunchEnd} {
			if v := absolute[i][c]; v != "-" {
				n, _ := strconv.ParseInt(v, 10, 64)
				absolute[i][c] = strconv.FormatInt(n-utc, 10)
			}
		}
	}
	sameRows(t, absolute, want)
	for i := range h.Reports {
		if r := &h.Reports[i]; r.Offset != 0 || *r.GPUStart < utc || len(r.Warnings) > 0 {
			t.Errorf("report %s", asJSON(t, r))
		}
	}
}

// TestSpansMove checks that the header's spans are on the clock of the rows.
func TestSpansMove(t *testing.T) {
	c := small(func(c *sim.Config) { c.ClockOffset = []float64{0, 2500} })
	r, err := Open(reports(t, c, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	start := []int64{1 << 62, 1 << 62}
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len {
			if k := b.Kind.Values[i]; k == event.Kernel || k == event.Graph {
				start[r.Report()] = min(start[r.Report()], b.Start.Values[i])
			}
		}
	}
	for i, rep := range r.Header().Reports {
		if *rep.GPUStart != start[i] {
			t.Errorf("report %d: GPU work from %d in the header, from %d in the rows", i, *rep.GPUStart, start[i])
		}
	}
}

// TestClockWarnings tells when clocks cannot be compared.
func TestClockWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		change func(i int, s *sim.Session)
		warn   string
		offset int64
	}{
		"none of one": {func(i int, s *sim.Session) { s.UTC *= int64(1 - i) }, "does not state when its session started", 0},
		"none of the first": {func(i int, s *sim.Session) { s.UTC *= int64(i) },
			"the first report does not state when its session started", 0},
		"another day":             {func(i int, s *sim.Session) { s.UTC += int64(i) * 86400e9 }, "do not overlap in time", 86400e9},
		"another day, normalised": {func(i int, s *sim.Session) { s.UTC += int64(i) * 86400e9; s.Normalize = true }, "do not overlap in time", 0},
		"normalised and none": {func(i int, s *sim.Session) {
			if s.Normalize = i == 0; i == 1 {
				s.UTC = 0
			}
		}, "does not state when its session started", 0},
	} {
		paths := reports(t, small(nil), func(i int, tr *sim.Trace) { test.change(i, &tr.Session) })
		r, err := Open(paths, Options{})
		if apart := strings.Contains(test.warn, "overlap"); apart != (err != nil && strings.Contains(err.Error(), "rank1.sqlite does not overlap in time")) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if r, err = Open(paths, Options{Separate: true}); err != nil {
				t.Fatal(err)
			}
		}
		h := r.Header()
		rep := h.Reports[1]
		if len(rep.Warnings) != 1 || !strings.Contains(rep.Warnings[0], test.warn) || rep.Offset != test.offset {
			t.Errorf("%s: offset %d, warnings %q, want %q", name, rep.Offset, rep.Warnings, test.warn)
		}
		if len(h.Reports[0].Warnings) > 0 {
			t.Errorf("%s: warnings of the first report %q", name, h.Reports[0].Warnings)
		}
	}
}

// TestClose stops after any number of batches: no goroutine stays.
func TestClose(t *testing.T) {
	tr := simulate(t, small(func(c *sim.Config) { c.Steps, c.Layers = 200, 8 }))
	path, _ := written(t, tr, sim.Options{})
	if n := tr.Rows(); n < 5*event.BatchRows {
		t.Fatalf("%d rows are too few", n)
	}
	before := runtime.NumGoroutine()
	for n := range 8 {
		r, err := Open([]string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if _, err := r.Next(); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
		r.Close()
		r.Close()
	}
	for range 100 { // a goroutine ends a moment after it closed its channel
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestBatches checks what batches promise: they are full but for the last one
// of a report, have the rows of one report, and stay valid until the next.
func TestBatches(t *testing.T) {
	for _, rows := range []int{0, 1, event.BatchRows - 1, event.BatchRows, event.BatchRows + 1, 2 * event.BatchRows} {
		tr := &sim.Trace{}
		p := tr.AddProcess(sim.Process{PID: 9})
		name := tr.KernelName("k", "")
		for i := range rows {
			tr.Kernels.Add(sim.Kernel{Work: sim.Work{Start: int64(i), End: int64(i) + 5, Process: p}, Name: name})
		}
		path, _ := written(t, tr, sim.Options{EmptyTables: true})
		r, err := Open([]string{path, path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := []int{0, 0}
		for {
			b, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n := &got[r.Report()]
			if *n%event.BatchRows != 0 || b.Len == 0 || b.Len > event.BatchRows {
				t.Fatalf("a batch of %d rows after %d", b.Len, *n)
			}
			if b.Start.Values[0] != int64(*n) || b.Columns != event.BaseCols || b.Rank.Values[b.Len-1] != int32(r.Report()) {
				t.Fatalf("batch after %d rows begins with %s", *n, rowOf(r.Header(), b, 0))
			}
			*n += b.Len
		}
		if got[0] != rows || got[1] != rows {
			t.Errorf("%v rows, want %d each", got, rows)
		}
	}
}

// TestDeterministic reads a trace of many parts several times: neither the
// number of processors nor which goroutine read what must show.
func TestDeterministic(t *testing.T) {
	events := cases.Few(40_000, 40_000, 200_000)
	tr := simulate(t, small(func(c *sim.Config) { c.Events, c.Frontend = events, true }))
	path, _ := written(t, tr, sim.Options{})
	want := digest(t, path)
	for procs := 1; procs <= 4; procs++ {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		if got := digest(t, path); got != want {
			t.Errorf("with %d processors: %s, want %s", procs, got, want)
		}
	}
}

// digest is a hash of all rows after the header.
func digest(t *testing.T, path string) string {
	t.Helper()
	r, err := Open([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sum := fnv.New64a()
	for {
		b, err := r.Next()
		if err == io.EOF {
			return asJSON(t, r.Header()) + strconv.FormatUint(sum.Sum64(), 16)
		}
		if err != nil {
			t.Fatal(err)
		}
		for c := range event.ColStep {
			switch col := b.Column(c).(type) {
			case *event.Ints[int32]:
				binary.Write(sum, binary.LittleEndian, col.Values)
				sum.Write(col.Valid)
			case *event.Ints[int64]:
				binary.Write(sum, binary.LittleEndian, col.Values)
				sum.Write(col.Valid)
			case *event.Strings:
				plain := col.Flatten(0, b.Len, new(event.Strings))
				binary.Write(sum, binary.LittleEndian, plain.Offsets[:b.Len+1])
				sum.Write(plain.Data[:plain.Offsets[b.Len]])
			}
		}
	}
}

// With HostClasses the calls and ranges of other classes are left out, and nothing else; the
// header counts them nevertheless.
func TestHostClasses(t *testing.T) {
	left := 0
	for seed := range uint64(10) {
		tr, opt := sim.Random(2000 + seed)
		path, _ := written(t, tr, opt)
		header, all := read(t, path)
		classes := event.ClassesOf(event.Launch, event.StepMarker)
		few := func(*event.Header) (event.ClassSet, bool) { return classes, true }
		var want []row
		for _, r := range all {
			kind, class := r[event.ColKind], event.ClassCode(r[event.ColClass])
			if kind != "api" && kind != "nvtx" || class >= 0 && classes.Has(class) {
				want = append(want, r)
			}
		}
		left += len(all) - len(want)
		h, got := readWith(t, Options{HostClasses: few}, path)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %d rows of %d, want %d", seed, len(got), len(all), len(want))
		}
		if h.Rows(event.API) != header.Rows(event.API) || h.Rows(event.NVTX) != header.Rows(event.NVTX) {
			t.Errorf("seed %d: the header counts %d calls and %d ranges, want %d and %d", seed, h.Rows(event.API), h.Rows(event.NVTX), header.Rows(event.API), header.Rows(event.NVTX))
		}
		none := func(*event.Header) (event.ClassSet, bool) { return 0, false }
		if _, got := readWith(t, Options{HostClasses: none}, path); !slices.Equal(got, all) {
			t.Errorf("seed %d: %d rows where all are wanted, want %d", seed, len(got), len(all))
		}
	}
	if left == 0 {
		t.Error("no row was left out")
	}
}
