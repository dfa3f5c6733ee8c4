package nsys

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// textReport writes a report of a text trace.
func textReport(t *testing.T, text string) string {
	t.Helper()
	tr, opt := parse(t, "schema 3.25.0\n"+text)
	path, _ := written(t, tr, opt)
	return path
}

// ranged is the text of a report whose session starts after so many us, with
// some kernels of each process, one 10 us after the other from 100 us on.
func ranged(after, kernels int, pids ...int) string {
	text := fmt.Sprintf("session utc=%d\n", 1780000000000000000+int64(after)*1000)
	for d, pid := range pids {
		text += fmt.Sprintf("process %d\n", pid)
		for k := range kernels {
			at := 100 + 10*k
			text += fmt.Sprintf("api %dus %dus cudaLaunchKernel_v7000 corr=%d\nkernel %dus %dus k corr=%d dev=%d\n", at-5, at-4, k+1, at, at+8, k+1, d)
		}
	}
	return text
}

// inOrder checks that the rows of each rank are together and in order of start,
// and returns how many each rank has.
func inOrder(t *testing.T, rows []row) map[string]int {
	t.Helper()
	counts := map[string]int{}
	last, lastStart := "", int64(0)
	for i, r := range rows {
		rank := r[event.ColRank]
		var start int64
		fmt.Sscan(r[event.ColStart], &start)
		if rank != last && counts[rank] > 0 && rank != "-" {
			t.Fatalf("row %d: rank %s again", i, rank)
		}
		if rank == last && start < lastStart {
			t.Fatalf("row %d starts at %d, after one at %d", i, start, lastStart)
		}
		counts[rank]++
		last, lastStart = rank, start
	}
	return counts
}

// TestParts reads reports of one run that hold the same processes, one after the
// other: in any order they make the same ranks.
func TestParts(t *testing.T) {
	parts := []string{
		textReport(t, ranged(0, 3, 100, 200)),
		textReport(t, ranged(1000, 4, 100, 200)),
		textReport(t, ranged(2000, 5, 100, 200)),
	}
	for _, opts := range []Options{{}, tiny} {
		_, want := readWith(t, opts, parts...)
		for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
			h, rows := readWith(t, opts, parts[order[0]], parts[order[1]], parts[order[2]])
			if got := inOrder(t, rows); got["0"] != 24 || got["1"] != 24 || len(got) != 2 {
				t.Fatalf("order %v: rows of ranks %v", order, got)
			}
			if order[0] == 0 {
				sameRows(t, rows, want)
			}
			first := int64(order[0]) * -1e6 // the clock is that of the first report given
			for rank := range int32(2) {
				s := h.Span(rank)
				gaps := [][2]int64{{first + 128e3, first + 1100e3}, {first + 1138e3, first + 2100e3}}
				if *s.GPUStart != first+100e3 || *s.GPUEnd != first+2148e3 || !slices.Equal(s.Unrecorded, gaps) {
					t.Errorf("order %v: span %s", order, asJSON(t, s))
				}
			}
			if h.NumRanks() != 2 || len(h.Reports) != 3 || *h.Reports[0].GPUStart > *h.Reports[1].GPUStart {
				t.Errorf("order %v: reports %s", order, asJSON(t, h.Reports))
			}
		}
	}
}

// TestPartsAndOthers numbers ranks where some reports go on with one and others
// do not.
func TestPartsAndOthers(t *testing.T) {
	a, b := textReport(t, ranged(0, 30, 100)), textReport(t, ranged(1000, 30, 100))
	other := textReport(t, ranged(100, 150, 300))
	h, rows := read(t, b, other, a)
	if got := inOrder(t, rows); got["0"] != 120 || got["1"] != 300 || h.NumRanks() != 2 {
		t.Errorf("rows of ranks %v of %d", got, h.NumRanks())
	}
	var of [][]int32
	for _, rep := range h.Reports {
		of = append(of, rep.Ranks)
	}
	if fmt.Sprint(of) != "[[0] [0] [1]]" {
		t.Errorf("ranks of the reports %v", of)
	}
}

// TestNoParts refuses what cannot be parts: at the same time, or apart and of
// another process; and takes it where it is meant.
func TestNoParts(t *testing.T) {
	a := textReport(t, ranged(0, 10, 100))
	other := filepath.Join(t.TempDir(), "copy.sqlite")
	text, err := os.ReadFile(a)
	if err == nil {
		err = os.WriteFile(other, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ with, want string }{
		"a copy":          {other, "hold the same process (pid 100, device 0) at the same time"},
		"a moment later":  {textReport(t, ranged(50, 10, 100)), "hold the same process (pid 100, device 0) at the same time"},
		"another process": {textReport(t, ranged(1000, 10, 101)), "does not overlap in time"},
		"another GPU":     {textReport(t, ranged(1000, 10, 100)+"\ngpu 0 H100\n"), ""},
	} {
		_, err := Open([]string{a, test.with}, Options{})
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), test.with) {
			t.Errorf("%s: %v", name, err)
		}
		if r, err := Open([]string{a, test.with}, Options{Separate: true}); err != nil || r.header.NumRanks() != 2 {
			t.Errorf("%s, meant: %v", name, err)
		}
	}
}

// TestEarlyRows leaves out rows of a later part that start before the last one
// of an earlier: ranges from before the recording, for example.
func TestEarlyRows(t *testing.T) {
	a := textReport(t, ranged(0, 10, 100))
	b := textReport(t, ranged(1000, 10, 100)+"range -2ms 1us early\n")
	h, rows := read(t, a, b)
	if got := inOrder(t, rows); got["0"] != 40 {
		t.Errorf("rows %v", got)
	}
	if w := h.Warnings(); len(w) != 1 || !strings.Contains(w[0], "rows of rank 0 that start before the last one of") {
		t.Errorf("warnings %q", w)
	}
}

// TestPartsApart reads each rank by itself: together they have the rows of all, and one
// that has ended holds no batches any more, as there may be hundreds.
func TestPartsApart(t *testing.T) {
	paths := reports(t, small(func(c *sim.Config) { c.Ranks = 3 }), nil)
	_, want := read(t, paths...)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	r, err := Open(paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parts, _ := r.Parts()
	rows := 0
	for _, src := range parts {
		if err := event.Each(src, func(b *event.Batch) error { rows += b.Len; return nil }); err != nil {
			t.Fatal(err)
		}
		if p := src.(*producer); p.free != nil || p.emitters != nil && p.full != nil {
			t.Errorf("a part that has ended holds %d batches, %d emitters", len(p.free), len(p.emitters))
		}
	}
	if len(parts) != 4 || rows != len(want) {
		t.Errorf("%d parts with %d rows, want 4 with %d", len(parts), rows, len(want))
	}
}
