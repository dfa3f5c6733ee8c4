package checkpoint

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// trace is a random trace with steps and window rows.
func trace(seed uint64) (*event.Header, []eventtest.Row) {
	h, rows := eventtest.Random(seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	h.Stage, h.Columns = "isolate", event.BaseCols|event.StepCols
	h.Isolation = &event.Isolation{Method: []string{"nvtx", "allreduce"}[seed%2], Gap: 1, SegmentGap: 2, Busy: "kernels"}
	out, windows := steps(rng, rows)
	return h, append(out, windows...)
}

// addStacks gives some rows stacks. Those that no row has are not kept.
func addStacks(h *event.Header, rows []eventtest.Row) {
	h.Columns |= event.StackCols
	h.Stacks = []string{"main", "main;a", "main;b", "main;☃"}
	for i := range rows {
		if i%5 != 4 || i < len(h.Stacks) {
			rows[i].Stack = int32(i % len(h.Stacks))
		}
	}
}

// steps gives every rank steps: step rows at random rows, whose number the rows
// after them have.
func steps(rng *rand.Rand, rows []eventtest.Row) (out, windows []eventtest.Row) {
	n, last := int64(-1), int32(noRank)
	for i, r := range rows {
		if r.Rank != last {
			n, last = -1, r.Rank
		}
		if r.Rank >= 0 && rng.IntN(5) == 0 {
			n++
			s := eventtest.New(event.Step, r.Rank, r.Start, r.End, "step")
			s.Step, s.Segment, s.Size = n, n/7, 1
			out = append(out, s)
		}
		r.Step = n
		out = append(out, r)
		if r.Rank >= 0 && (i+1 == len(rows) || rows[i+1].Rank != r.Rank) {
			w := eventtest.New(event.Window, r.Rank, rows[0].Start, r.End+100, "window")
			w.Step, w.Size = n+1, 1
			windows = append(windows, w)
		}
	}
	return out, windows
}

// write writes rows to a checkpoint.
func write(t testing.TB, path string, h *event.Header, rows []eventtest.Row, opt Options) {
	t.Helper()
	w, err := Create(path, h, opt)
	if err != nil {
		t.Fatal(err)
	}
	copyRows(t, w, h, rows)
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func copyRows(t testing.TB, w *Writer, h *event.Header, rows []eventtest.Row) {
	t.Helper()
	src := eventtest.Source(h, rows, 100)
	for {
		b, err := src.Next()
		if err == io.EOF {
			return
		}
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads all rows of a checkpoint.
func read(path string, opt ReadOptions) (*event.Header, []eventtest.Row, error) {
	r, err := Open(path, opt)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	rows, err := eventtest.Collect(r)
	return r.Header(), rows, err
}

func mustRead(t testing.TB, path string, opt ReadOptions) (*event.Header, []eventtest.Row) {
	t.Helper()
	h, rows, err := read(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return h, rows
}

func same(t testing.TB, got, want []eventtest.Row) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows instead of %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d is\n%+v instead of\n%+v", i, got[i], want[i])
		}
	}
}

// inSetOrder brings rows into the order of a data set: those without a rank
// last, but window rows at the end.
func inSetOrder(rows []eventtest.Row) []eventtest.Row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b eventtest.Row) int {
		if a.Kind == event.Window || b.Kind == event.Window {
			return btoi(a.Kind == event.Window) - btoi(b.Kind == event.Window)
		}
		return int(uint32(a.Rank)>>1) - int(uint32(b.Rank)>>1) + int(a.Rank&1-b.Rank&1)
	})
	return rows
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestFile(t *testing.T) {
	for seed := range uint64(20) {
		h, rows := trace(seed)
		if seed%4 == 1 {
			addStacks(h, rows)
		}
		path := filepath.Join(t.TempDir(), "x.parquet")
		write(t, path, h, rows, Options{GroupRows: 64})
		got, back := mustRead(t, path, ReadOptions{})
		same(t, back, rows)
		if !reflect.DeepEqual(got.Reports, h.Reports) || got.Stage != h.Stage || !reflect.DeepEqual(got.Isolation, h.Isolation) || got.Columns != h.Columns {
			t.Errorf("header\n%+v instead of\n%+v", got, h)
		}
	}
}

// TestSizes reads row groups and batches of sizes around the borders.
func TestSizes(t *testing.T) {
	const group = event.BatchRows + 64
	h := &event.Header{Stage: "nsys2arrow", Columns: event.BaseCols}
	for _, n := range []int{0, 1, event.BatchRows - 1, event.BatchRows, event.BatchRows + 1, group - 1, group, group + 1, 3*group + 5} {
		rows := make([]eventtest.Row, n)
		for i := range rows {
			rows[i] = eventtest.New(event.Kernel, int32(i%2-1), int64(i), int64(i+1), fmt.Sprint("kernel ", i%100))
			if i%3 == 0 {
				rows[i].Correlation = int64(i)
			}
		}
		path := filepath.Join(t.TempDir(), "x.parquet")
		write(t, path, h, rows, Options{GroupRows: group})
		_, back := mustRead(t, path, ReadOptions{})
		same(t, back, rows)
	}
}

func TestDataSet(t *testing.T) {
	for seed := range uint64(20) {
		h, rows := trace(seed)
		dir := filepath.Join(t.TempDir(), "set")
		write(t, dir, h, rows, Options{GroupRows: 64})
		got, back := mustRead(t, dir, ReadOptions{})
		same(t, back, inSetOrder(rows))
		if !reflect.DeepEqual(got.Reports, h.Reports) {
			t.Errorf("reports\n%+v instead of\n%+v", got.Reports, h.Reports)
		}
		if !IsDataSet(dir) {
			t.Error("not a data set")
		}
		files, _ := filepath.Glob(filepath.Join(dir, "rank=*", "*"))
		if _, err := os.Stat(filepath.Join(dir, "rank=0", "events.parquet")); err != nil || len(files) != len(h.Reports[0].Ranks)+otherRanks(h, rows) {
			t.Errorf("files %v", files)
		}
	}
}

// otherRanks counts the ranks of the reports after the first one, and 1 where
// there are rows without a rank.
func otherRanks(h *event.Header, rows []eventtest.Row) int {
	n := 0
	for _, r := range h.Reports[1:] {
		n += len(r.Ranks)
	}
	if slices.ContainsFunc(rows, func(r eventtest.Row) bool { return r.Rank < 0 }) {
		n++
	}
	return n
}

// TestEmpty writes streams without rows, whose headers must come back.
func TestEmpty(t *testing.T) {
	for _, reports := range [][]event.Report{nil, {{File: "a", Ranks: []int32{}}}, {{File: "a", Ranks: []int32{0, 1}}, {File: "b", Ranks: []int32{}}}} {
		h := &event.Header{Stage: "nsys2arrow", Columns: event.BaseCols, Reports: reports}
		for _, name := range []string{"x.parquet", "set"} {
			path := filepath.Join(t.TempDir(), name)
			write(t, path, h, nil, Options{})
			got, rows := mustRead(t, path, ReadOptions{})
			if len(rows) != 0 || len(got.Reports) != len(reports) {
				t.Errorf("%s: %d rows, reports %+v", name, len(rows), got.Reports)
			}
		}
	}
}

// selections are choices that make a difference to traces of trace.
func selections(rng *rand.Rand, rows []eventtest.Row) []Selection {
	at := func() int64 { return rows[rng.IntN(len(rows))].Start }
	from, to := at(), at()
	return []Selection{
		{},
		{Ranks: []int32{0}},
		{Ranks: []int32{1, 2}},
		{Kinds: []event.Kind{event.Kernel}},
		{Kinds: []event.Kind{event.Window, event.Step}},
		{Time: &Range{min(from, to), max(from, to)}},
		{Time: &Range{min(from, to), max(from, to) + 1}, Kinds: []event.Kind{event.API, event.Window}},
		{Steps: &Range{2, 5}},
		{Steps: &Range{0, 1}, Ranks: []int32{0}},
		{Steps: &Range{3, 9}, Kinds: []event.Kind{event.Kernel, event.Window}, Time: &Range{at(), at() + 1e6}},
		{Time: &Range{5, 5}},
	}
}

// TestPushdown reads with a selection what filtering the whole gives.
func TestPushdown(t *testing.T) {
	for seed := range uint64(cases.Few(5, 10, 30)) {
		h, rows := trace(seed)
		if len(rows) == 0 {
			continue
		}
		dir := t.TempDir()
		for _, path := range []string{filepath.Join(dir, "x.parquet"), filepath.Join(dir, "set")} {
			write(t, path, h, rows, Options{GroupRows: 32})
			for i, sel := range selections(rand.New(rand.NewPCG(seed, 2)), rows) {
				all, err := Open(path, ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				filtered, err := sel.Filter(all)
				if err != nil {
					t.Fatal(err)
				}
				want, err := eventtest.Collect(filtered)
				if err != nil {
					t.Fatal(err)
				}
				r, err := Open(path, ReadOptions{Selection: sel})
				if err != nil {
					if len(want) == 0 && len(filtered.Header().Reports) == 0 {
						continue // a data set without the ranks
					}
					t.Fatal(err)
				}
				got, err := eventtest.Collect(r)
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, want)
				same(t, got, choose(h, sel, rows, path))
				if !reflect.DeepEqual(r.Header().Reports, filtered.Header().Reports) {
					t.Errorf("selection %d: reports %+v instead of %+v", i, r.Header().Reports, filtered.Header().Reports)
				}
			}
		}
	}
}

// choose is the obvious reference for Selection.Filter.
func choose(h *event.Header, s Selection, rows []eventtest.Row, path string) []eventtest.Row {
	if !strings.HasSuffix(path, suffix) {
		rows = inSetOrder(rows)
	}
	var out []eventtest.Row
	for i, r := range rows {
		if s.Ranks != nil && !slices.Contains(s.Ranks, r.Rank) || s.Kinds != nil && !slices.Contains(s.Kinds, r.Kind) {
			continue
		}
		if r.Kind == event.Window {
			if r, ok := cutWindow(s, rows, r); ok {
				out = append(out, r)
			}
			continue
		}
		if s.Time != nil && (r.Start < s.Time.From && !reachesOver(r, s.Time.From) || r.Start >= s.Time.To) {
			continue
		}
		if s.Steps != nil && (r.Step < s.Steps.From || r.Step >= s.Steps.To || r.Step < 0) && !reachesInto(s.Steps, rows, i) {
			continue
		}
		if r.Kind == event.Step && s.Time != nil && r.End > s.Time.To {
			if h.Isolation.Method == "nvtx" {
				continue
			}
			r.End = s.Time.To
		}
		out = append(out, r)
	}
	return out
}

func reachesOver(r eventtest.Row, t int64) bool {
	return r.Kind != event.Step && r.Start < t && r.End > t
}

// reachesInto reports whether row i reaches into the first chosen step of its rank.
func reachesInto(steps *Range, rows []eventtest.Row, i int) bool {
	for j, r := range rows {
		if r.Kind == event.Step && r.Rank == rows[i].Rank && r.Step >= steps.From && r.Step < steps.To {
			return i < j && reachesOver(rows[i], r.Start)
		}
	}
	return false
}

func cutWindow(s Selection, rows []eventtest.Row, w eventtest.Row) (eventtest.Row, bool) {
	if s.Time == nil && s.Steps == nil {
		return w, true
	}
	if s.Time != nil {
		w.Start, w.End = max(w.Start, s.Time.From), min(w.End, s.Time.To)
	}
	if s.Steps != nil {
		found := false
		for _, r := range rows {
			if r.Kind != event.Step || r.Rank != w.Rank {
				continue
			}
			if r.Step >= s.Steps.From && r.Step < s.Steps.To && !found {
				found = true
				w.Start = max(w.Start, r.Start)
			}
			if r.Step == s.Steps.To && found {
				w.End = min(w.End, r.Start)
				break
			}
		}
		if !found {
			return w, false
		}
	}
	return w, w.Start < w.End
}

// TestColumns reads some columns.
func TestColumns(t *testing.T) {
	h, rows := trace(3)
	path := filepath.Join(t.TempDir(), "x.parquet")
	write(t, path, h, rows, Options{})
	want := event.Set(1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd | 1<<event.ColName)
	got, back := mustRead(t, path, ReadOptions{Columns: want})
	if got.Columns != want {
		t.Errorf("columns %b", got.Columns)
	}
	for i := range rows {
		if r := eventtest.New(rows[i].Kind, -1, rows[i].Start, rows[i].End, rows[i].Name); back[i] != r {
			t.Fatalf("row %d: %+v", i, back[i])
		}
	}
}

// TestPushdownReadsLess checks that what is not chosen is not read.
func TestPushdownReadsLess(t *testing.T) {
	h := &event.Header{Stage: "nsys2arrow", Columns: event.BaseCols}
	var rows []eventtest.Row
	for i := range 10000 {
		rows = append(rows, eventtest.New(event.Kernel, int32(i/5000), int64(i), int64(i+1), "k"))
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	write(t, path, h, rows, Options{GroupRows: 1000})
	for sel, want := range map[*Selection]int{
		{}:                                  10,
		{Time: &Range{2500, 3500}}:          2,
		{Time: &Range{3000, 4000}}:          1,
		{Ranks: []int32{1}}:                 5,
		{Ranks: []int32{7}}:                 0,
		{Kinds: []event.Kind{event.Memcpy}}: 10, // of one column
	} {
		r, err := Open(path, ReadOptions{Selection: *sel})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.plan()); n != want {
			t.Errorf("%+v: %d row groups instead of %d", sel, n, want)
		}
		r.Close()
	}
}
