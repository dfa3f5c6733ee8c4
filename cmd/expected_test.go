package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// expected is what a file TRACE.METHOD.expected.json says of a trace.
type expected struct {
	Steps map[string]struct {
		Total, Segments, Bench int64
		CommonSize             int64 `json:"common_size"`
	}
	Aggregate expectedPhase
	Phases    map[string]expectedPhase
	Verdict   string
}

type expectedPhase struct {
	Verdict           string
	CrossedCount      int  `json:"crossed_count"`
	ApplicableCount   int  `json:"applicable_count"`
	HostPrepConfirmed bool `json:"host_prep_confirmed"`
	NCCLCaveat        bool `json:"nccl_caveat"`
	IterationCount    int  `json:"iteration_count"`
	Metrics           map[string]*float64
}

// answer is the document of verdict --format json.
type answer struct {
	Verdict           string
	AggregateMetrics  map[string]*float64 `json:"aggregate_metrics"`
	CrossedCount      int                 `json:"crossed_count"`
	ApplicableCount   int                 `json:"applicable_count"`
	HostPrepConfirmed bool                `json:"host_prep_confirmed"`
	NCCLCaveat        bool                `json:"nccl_caveat"`
	CrossedDetails    map[string]bool     `json:"crossed_details"`
	Phases            map[string]expectedPhase
	Steps             struct {
		Method  string
		PerRank []struct {
			Rank, Total, Segments, Benchmark int64
			CommonSize                       int64 `json:"common_size"`
		} `json:"per_rank"`
	}
}

// TestExpectedFigures compares verdict with figures that other code computed, on
// the traces in the folder that HOSTBOUND_TRACES names.
func TestExpectedFigures(t *testing.T) {
	dir := os.Getenv("HOSTBOUND_TRACES")
	if dir == "" {
		t.Skip("HOSTBOUND_TRACES names no folder of exports with *.expected.json beside them")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.expected.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.expected.json under %s: %v", dir, err)
	}
	for _, file := range files {
		name, method, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".expected.json"), ".")
		if i := strings.LastIndex(name+"."+method, "."); i > 0 { // names may hold dots
			name, method = (name + "." + method)[:i], (name + "." + method)[i+1:]
		}
		t.Run(name+"."+method, func(t *testing.T) { checkExpected(t, file, name, method) })
	}
}

func checkExpected(t *testing.T, file, name, method string) {
	var want expected
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	traces := []string{filepath.Join(filepath.Dir(file), name+".sqlite")}
	if name == "rank012" {
		traces = nil
		for rank := range 3 {
			traces = append(traces, filepath.Join(filepath.Dir(file), fmt.Sprintf("rank%d.sqlite", rank)))
		}
	}
	var got answer
	if err := json.Unmarshal(must(t, nil, "verdict", append(traces, "--by", method, "--format", "json")...), &got); err != nil {
		t.Fatal(err)
	}
	if got.Verdict != want.Verdict {
		t.Errorf("verdict %s, want %s", got.Verdict, want.Verdict)
	}
	checkPhase(t, "aggregate", expectedPhase{want.Aggregate.Verdict, got.CrossedCount, got.ApplicableCount, got.HostPrepConfirmed, got.NCCLCaveat, 0, got.AggregateMetrics}, want.Aggregate)
	if got.NCCLCaveat != want.Aggregate.NCCLCaveat {
		t.Errorf("nccl_caveat %v", got.NCCLCaveat)
	}
	for phase, w := range want.Phases {
		g, ok := got.Phases[phase]
		if !ok {
			t.Errorf("no phase %s", phase)
			continue
		}
		checkPhase(t, phase, g, w)
		if g.Verdict != w.Verdict || g.IterationCount != w.IterationCount {
			t.Errorf("%s: verdict %s of %d steps, want %s of %d", phase, g.Verdict, g.IterationCount, w.Verdict, w.IterationCount)
		}
	}
	for phase, g := range got.Phases {
		if _, ok := want.Phases[phase]; !ok && g.IterationCount > 0 {
			t.Errorf("phase %s of %d steps", phase, g.IterationCount)
		}
	}
	if len(want.Steps) > 0 && len(got.Steps.PerRank) != len(want.Steps) {
		t.Errorf("steps of %d ranks, want %d", len(got.Steps.PerRank), len(want.Steps))
	}
	for _, r := range got.Steps.PerRank {
		w, ok := want.Steps[fmt.Sprint(r.Rank)]
		if ok && (r.Total != w.Total || r.Segments != w.Segments || r.Benchmark != w.Bench || r.CommonSize != w.CommonSize) {
			t.Errorf("steps %+v, want %+v", r, w)
		}
	}
}

func checkPhase(t *testing.T, what string, got, want expectedPhase) {
	t.Helper()
	if got.CrossedCount != want.CrossedCount || got.ApplicableCount != want.ApplicableCount || got.HostPrepConfirmed != want.HostPrepConfirmed {
		t.Errorf("%s: %d of %d crossed, host prep %v; want %d of %d, %v", what, got.CrossedCount, got.ApplicableCount, got.HostPrepConfirmed,
			want.CrossedCount, want.ApplicableCount, want.HostPrepConfirmed)
	}
	for name, w := range want.Metrics {
		g, ok := got.Metrics[name]
		switch {
		case !ok && (name == "graph_launch_ratio" || name == "comm_ratio"): // in the rows of metrics
		case !ok:
			t.Errorf("%s: no %s", what, name)
		case (g == nil) != (w == nil):
			t.Errorf("%s: %s is %v, want %v", what, name, g, w)
		case g != nil && math.Abs(*g-*w) > 1e-9*math.Abs(*w):
			t.Errorf("%s: %s is %v, want %v", what, name, *g, *w)
		}
	}
}
