package nsys

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestExpected compares ranks, GPUs, kernels and graph replays with those that
// other code counted in real and simulated exports: TRACE.METHOD.expected.json
// beside TRACE.sqlite, in the folders under the one that HOSTBOUND_TRACES names.
// Nor is their canary to be in any row.
func TestExpected(t *testing.T) {
	dir := os.Getenv("HOSTBOUND_TRACES")
	if dir == "" {
		t.Skip("HOSTBOUND_TRACES names no folder of exports with *.expected.json beside them")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.expected.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.expected.json under %s: %v", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".expected.json")
		t.Run(name, func(t *testing.T) {
			name = name[:strings.LastIndexByte(name, '.')]
			traces := []string{filepath.Join(filepath.Dir(file), name+".sqlite")}
			if name == "rank012" {
				traces = nil
				for rank := range 3 {
					traces = append(traces, filepath.Join(filepath.Dir(file), fmt.Sprintf("rank%d.sqlite", rank)))
				}
			}
			checkCounts(t, file, traces)
		})
	}
}

// counts are the figures of an expected.json that are this package's business.
type counts struct {
	Ranks           int
	GPUs            int `json:"lanes"`
	Kernels, Graphs int
}

func checkCounts(t *testing.T, file string, traces []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want counts
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	h, rows := read(t, traces...)
	gpus := map[[2]string]bool{}
	got := counts{Ranks: h.NumRanks()}
	for _, r := range rows {
		switch r[event.ColKind] {
		case "kernel":
			got.Kernels++
		case "graph":
			got.Graphs++
		}
		if k := r[event.ColKind]; k == "kernel" || k == "graph" {
			gpus[[2]string{r[event.ColRank], r[event.ColDevice]}] = true
		}
		if strings.Contains(r.String(), "CANARY") {
			t.Fatalf("a secret in a row: %s", r)
		}
	}
	if got.GPUs = len(gpus); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if int64(got.Kernels) != h.Rows(event.Kernel) || int64(got.Graphs) != h.Rows(event.Graph) {
		t.Errorf("the header counts %d kernels and %d graph replays, not %+v", h.Rows(event.Kernel), h.Rows(event.Graph), got)
	}
	if text := asJSON(t, h); strings.Contains(text, "CANARY") {
		t.Errorf("a secret in the header: %s", text)
	}
	for _, w := range h.Warnings() {
		t.Logf("warning: %s", w)
	}
}
