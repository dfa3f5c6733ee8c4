package kineto

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// expected are the figures of a trace that other code computed: its rows by kind,
// Python functions, GPUs, the window of all GPU rows, the time in which they were
// busy or idle, GPU rows without a launching call and those of graph launches.
type expected struct {
	Rows      map[string]int64 `json:"rows"`
	Functions int64            `json:"python_functions"`
	GPUs      int64            `json:"lanes_all"`
	Window    int64            `json:"window_ns"`
	Busy      int64            `json:"busy_ns"`
	Idle      int64            `json:"idle_ns"`
	Untraced  int64            `json:"untraced"`
	Replayed  int64            `json:"replayed"`
	Ranks     []expected       `json:"ranks"`
}

// TestExpected compares real traces with their figures: NAME.expected.json beside
// NAME.json, NAME.json.gz or NAME.tar.gz with a trace of each rank, in the folder
// that HOSTBOUND_KINETO names.
func TestExpected(t *testing.T) {
	dir := os.Getenv("HOSTBOUND_KINETO")
	if dir == "" {
		t.Skip("HOSTBOUND_KINETO names no folder of traces with *.expected.json beside them")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.expected.json"))
	if len(files) == 0 {
		t.Fatalf("no *.expected.json in %s", dir)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".expected.json")
		t.Run(filepath.Base(base), func(t *testing.T) {
			var want expected
			text, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(want.Ranks) > 0 {
				checkFigures(t, untar(t, base+".tar.gz"), want.Ranks)
				return
			}
			path := base + ".json"
			if _, err := os.Stat(path); err != nil {
				path += ".gz"
			}
			checkFigures(t, []string{path}, []expected{want})
		})
	}
}

// checkFigures compares the rows of traces, one a rank, with their figures.
func checkFigures(t *testing.T, paths []string, want []expected) {
	t.Helper()
	r, err := Open(paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]*tally, len(r.Header().Reports))
	for i := range got {
		got[i] = &tally{rows: map[string]int64{}, gpus: map[int32]*gpu{}}
	}
	last := int64(-1 << 62)
	report := -1
	err = event.Each(r, func(b *event.Batch) error {
		if report != r.Report() {
			report, last = r.Report(), -1<<62
		}
		for i := range b.Len {
			if b.Start.Values[i] < last {
				t.Fatalf("a row starts at %d after one at %d", b.Start.Values[i], last)
			}
			last = b.Start.Values[i]
			got[report].add(b, i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		g := got[i].figures()
		rep := &r.Header().Reports[i]
		if !maps.Equal(rep.Rows, w.Rows) {
			t.Errorf("rank %d: the header says %v, want %v", i, rep.Rows, w.Rows)
		}
		for _, said := range rep.Warnings { // the only place that says it
			fmt.Sscanf(said, "recorded with Python stacks (%d functions", &g.Functions)
		}
		if g.Functions != w.Functions || !maps.Equal(g.Rows, w.Rows) || g.Window != w.Window || g.Busy != w.Busy || g.Idle != w.Idle ||
			g.Untraced != w.Untraced || g.Replayed != w.Replayed || g.GPUs != w.GPUs {
			t.Errorf("rank %d: got %+v\nwant %+v", i, g, w)
		}
		t.Log(rep.Warnings)
	}
}

// gpu is the GPU rows of one device.
type gpu struct{ start, end, busy int64 }

// tally adds up rows, by the obvious means.
type tally struct {
	rows               map[string]int64
	gpus               map[int32]*gpu
	untraced, replayed int64
}

func (y *tally) add(b *event.Batch, i int) {
	kind := b.Kind.Values[i]
	y.rows[kind.String()]++
	if !kind.IsGPU() {
		return
	}
	if !b.LaunchStart.Valid.Get(i) {
		y.untraced++
	}
	if b.GraphNode.Valid.Get(i) {
		y.replayed++
	}
	start, end := b.Start.Values[i], b.End.Values[i]
	d := y.gpus[b.Device.Values[i]]
	if d == nil {
		d = &gpu{start: start, end: start}
		y.gpus[b.Device.Values[i]] = d
	}
	if from := max(start, d.end); end > from {
		d.busy += end - from
		d.end = end
	}
}

func (y *tally) figures() expected {
	e := expected{Rows: y.rows, Untraced: y.untraced, Replayed: y.replayed, GPUs: int64(len(y.gpus))}
	for _, d := range y.gpus {
		e.Window += d.end - d.start
		e.Busy += d.busy
	}
	e.Idle = e.Window - e.Busy
	return e
}

// untar unpacks the traces of an archive, in the order of their names.
func untar(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var paths []string
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err == io.EOF {
			slices.Sort(paths)
			return paths
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, ".json") {
			continue
		}
		to := filepath.Join(dir, filepath.Base(h.Name))
		out, err := os.Create(to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		out.Close()
		paths = append(paths, to)
	}
}
