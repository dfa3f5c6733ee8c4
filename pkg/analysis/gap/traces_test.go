package gap_test

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// expected is what separate code found.
type expected struct {
	IdleUs float64            `json:"idle_us"`
	Causes map[string]float64 `json:"idle_causes_us"`
	Gaps   struct {
		Count   []int64   `json:"count"`
		TotalUs []float64 `json:"total_us"`
		Top     [][3]any  `json:"top"`
	} `json:"gaps"`
	Coverage *float64 `json:"graph_coverage"`
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

func TestExpected(t *testing.T) {
	n := 0
	err := filepath.WalkDir(testrun.Folder(t, "TRACES"), func(path string, d fs.DirEntry, err error) error {
		name, ok := strings.CutSuffix(path, ".expected.json")
		if err != nil || !ok {
			return err
		}
		n++
		by := strings.TrimPrefix(filepath.Ext(name), ".")
		base := strings.TrimSuffix(name, "."+by)
		t.Run(filepath.Base(name), func(t *testing.T) { testExpected(t, path, base, by) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Error("no *.expected.json")
	}
}

func testExpected(t *testing.T, path, base, by string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want expected
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	paths := []string{base + ".sqlite"}
	if dir, ok := strings.CutSuffix(base, "rank012"); ok {
		paths = []string{dir + "rank0.sqlite", dir + "rank1.sqlite", dir + "rank2.sqlite"}
	}
	got, err := gap.Compute(testrun.Open(t, by, paths...), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.Idle.TotalUs, want.IdleUs) {
		t.Errorf("idle %v us, want %v", got.Idle.TotalUs, want.IdleUs)
	}
	causes := map[string]float64{}
	for _, c := range got.Idle.Causes {
		switch c.Cause {
		case "memop", "alloc":
			c.Cause = "api"
		}
		causes[c.Cause] += c.Us
	}
	for name, us := range want.Causes {
		if !near(causes[name], us) {
			t.Errorf("%s: %v us, want %v", name, causes[name], us)
		}
		delete(causes, name)
	}
	for name, us := range causes {
		if us != 0 {
			t.Errorf("%s: %v us, want none", name, us)
		}
	}
	for i, b := range got.Gaps.Buckets {
		if b.Count != want.Gaps.Count[i] || !near(b.TotalUs, want.Gaps.TotalUs[i]) {
			t.Errorf("gaps from %v us: %d, %v us, want %d, %v us", b.LowerUs, b.Count, b.TotalUs, want.Gaps.Count[i], want.Gaps.TotalUs[i])
		}
	}
	for i, g := range want.Gaps.Top {
		if i >= len(got.Gaps.Top) {
			t.Fatalf("%d top gaps, want %d", len(got.Gaps.Top), len(want.Gaps.Top))
		}
		if h := got.Gaps.Top[i]; !near(h.GapUs, g[0].(float64)) || h.Previous != g[1] || h.Next != g[2] {
			t.Errorf("top gap %d: %v %s %s, want %v", i, h.GapUs, h.Previous, h.Next, g)
		}
	}
	switch c := got.Graph.Coverage; {
	case c == nil || want.Coverage == nil:
		if (c == nil) != (want.Coverage == nil) {
			t.Errorf("coverage %v, want %v", c, want.Coverage)
		}
	case !near(*c, *want.Coverage):
		t.Errorf("coverage %v, want %v", *c, *want.Coverage)
	}
}
