package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startupTrace writes 12 steps of PyTorch's profiler, of eight times a gemm and an all-reduce
// each, the first of which is slow.
func startupTrace(t *testing.T) string {
	t.Helper()
	var events []string
	span := func(cat, name string, tid int, start, length float64, args string) {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{%s}}`,
			cat, name, map[bool]int{true: 0, false: 100}[cat == "kernel"], tid, start, length, args))
	}
	now, id := 1000.0, 0
	for step := range 12 {
		begin := now
		for range 8 {
			for _, kernel := range []struct {
				name   string
				length float64
			}{{"ampere_gemm", 60}, {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 40}} {
				id++
				span("cuda_runtime", "cudaLaunchKernel", 100, now-8, 4, fmt.Sprintf(`"correlation":%d`, id))
				span("kernel", kernel.name, 7, now, kernel.length, fmt.Sprintf(`"correlation":%d,"device":0,"stream":7`, id))
				now += kernel.length + 20
			}
			if step == 0 {
				now += 3000
			}
		}
		span("user_annotation", fmt.Sprintf("ProfilerStep#%d", 10+step), 100, begin-20, now-begin+20, "")
		now += 150
	}
	path := filepath.Join(t.TempDir(), "trace.json")
	text := `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"H100"}],"distributedInfo":{"backend":"nccl","rank":0,"world_size":2},"traceEvents":[` +
		strings.Join(events, ",\n") + "]}"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStartupStep leaves out the step in which PyTorch's profiler started, by every method.
func TestStartupStep(t *testing.T) {
	path := startupTrace(t)
	var first float64
	for _, by := range []string{"nvtx", "auto", "allreduce"} {
		var out struct {
			Metrics struct {
				Idle float64 `json:"gpu_idle_ratio"`
			} `json:"aggregate_metrics"`
			Steps struct {
				PerRank []struct{ Total int } `json:"per_rank"`
			}
		}
		if err := json.Unmarshal(must(t, nil, "verdict", "--by", by, path, "--format", "json"), &out); err != nil {
			t.Fatal(err)
		}
		if by == "nvtx" {
			first = out.Metrics.Idle
		}
		if n := out.Steps.PerRank[0].Total; n != 11 || out.Metrics.Idle < first-0.02 || out.Metrics.Idle > first+0.02 {
			t.Errorf("by %s: %d steps, %.1f %% idle, by nvtx %.1f %%", by, n, 100*out.Metrics.Idle, 100*first)
		}
	}
}
