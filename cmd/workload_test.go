package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workloadTrace is a trace of nine steps of three kernels each, replayed by a graph or launched
// eagerly in a step of the profiler's schedule, with a range in each.
func workloadTrace(graph bool, name string) []byte {
	var events []string
	add := func(cat, name string, pid, start, dur, correlation int) {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":7,"ts":%d,"dur":%d,"args":{"correlation":%d}}`,
			cat, name, pid, start, dur, correlation))
	}
	for s := range 9 {
		at, id := 1000*s, 10*s+1
		add("user_annotation", name, 5, at+10, 100, 0)
		if graph {
			add("cuda_runtime", "cudaGraphLaunch", 5, at+20, 5, id)
		} else {
			add("user_annotation", fmt.Sprintf("ProfilerStep#%d", s), 5, at, 990, 0)
		}
		for k := range 3 {
			if !graph {
				id++
				add("cuda_runtime", "cudaLaunchKernel", 5, at+20+200*k, 5, id)
			}
			add("kernel", "gemm", 0, at+30+200*k, 100, id)
		}
	}
	return []byte(`{"traceEvents": [` + strings.Join(events, ",\n") + `]}`)
}

// ofServing matches words about engines that serve tokens.
var ofServing = regexp.MustCompile(`tokens/s|vLLM|TensorRT-LLM|trtllm|prefill|generation step|generates tokens|of the engine|tokens come back|an engine|GRAPH_FALLBACK|"phase": "(generation|context)"`)

// TestWorkload wants training and diffusion to be known whichever way one asks: from a file, a
// stream, a pipe of all stages and checkpoints.
func TestWorkload(t *testing.T) {
	for _, c := range []struct {
		name     string
		graph    bool
		training bool
		workload string
	}{
		{"AddmmBackward0", false, true, "training"},
		{"Optimizer.step#Adam.step", true, true, "training"},
		{"execute_diffusion_1_256x256", true, false, "diffusion"},
		{"forward", true, false, ""},
	} {
		dir := t.TempDir()
		file, kept, stream := filepath.Join(dir, "trace.json"), filepath.Join(dir, "kept"), filepath.Join(dir, "trace.arrows")
		if err := os.WriteFile(file, workloadTrace(c.graph, c.name), 0o644); err != nil {
			t.Fatal(err)
		}
		must(t, nil, "torch2arrow", file, "--checkpoint", kept, "-o", stream)
		metrics := must(t, must(t, must(t, must(t, nil, "torch2arrow", file), "isolate"), "phase"), "metrics")
		for way, out := range map[string][]byte{
			"file": must(t, nil, "verdict", file, "--format", "json"), "stream": must(t, nil, "verdict", stream, "--format", "json"),
			"checkpoint": must(t, nil, "verdict", kept, "--format", "json"), "pipe": must(t, metrics, "verdict", "--format", "json"),
		} {
			var r struct {
				Training bool
				Workload string
				Phases   map[string]any
				Steps    struct{ Method string }
			}
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatal(err)
			}
			if r.Training != c.training || r.Workload != c.workload || (len(r.Phases) == 0) != (c.workload != "") || r.Steps.Method == "none" {
				t.Errorf("%s by %s: training %v, workload %q, %d phases, steps by %s", c.name, way, r.Training, r.Workload, len(r.Phases), r.Steps.Method)
			}
		}
		if c.workload == "" {
			continue
		}
		for _, name := range []string{"verdict", "gaps", "diff"} {
			text := string(must(t, nil, name, file))
			if found := ofServing.FindString(text); found != "" {
				t.Errorf("%s of %s says %q:\n%s", name, c.name, found, text)
			}
			if want := c.workload; !strings.Contains(strings.ToLower(text), want) {
				t.Errorf("%s of %s does not say %s:\n%s", name, c.name, want, text)
			}
		}
		if text := string(must(t, nil, "torch2arrow", file, "--doctor")); ofServing.MatchString(text) {
			t.Errorf("the doctor of %s says %q:\n%s", c.name, ofServing.FindString(text), text)
		}
	}
}

// TestPythonToo wants those whose trace has Python functions, which may say what the host does in
// the largest part of the idle time, to be told how to read them; and no others.
func TestPythonToo(t *testing.T) {
	const hint = "torch2arrow --python"
	with := filepath.Join(t.TempDir(), "with.json")
	function := `{"ph":"X","cat":"python_function","name":"engine.py(5): schedule","pid":5,"tid":7,"ts":1,"dur":8990,"args":{}}, {`
	if err := os.WriteFile(with, bytes.Replace(workloadTrace(true, "forward"), []byte("{\"ph\""), []byte(function+"\"ph\""), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(t.TempDir(), "without.json")
	if err := os.WriteFile(without, workloadTrace(true, "forward"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verdict", "gaps"} {
		if out := string(must(t, nil, name, with)); strings.Count(out, hint) != 1 {
			t.Errorf("%s does not tell of --python once:\n%s", name, out)
		}
		if out := string(must(t, nil, name, without)); strings.Contains(out, hint) {
			t.Errorf("%s tells of --python where there are no functions:\n%s", name, out)
		}
		if out := string(must(t, must(t, nil, "torch2arrow", "--python", with), name)); strings.Contains(out, hint) {
			t.Errorf("%s tells of --python where they were read:\n%s", name, out)
		}
	}
}

// TestAMD wants nobody with AMD's GPUs to be sent to Nsight Systems.
func TestAMD(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(file, bytes.ReplaceAll(workloadTrace(true, "forward"), []byte(`"cudaGraph`), []byte(`"hipGraph`)), 0o644); err != nil {
		t.Fatal(err)
	}
	stream := must(t, nil, "torch2arrow", file)
	for _, args := range [][]string{{"torch2arrow", "--doctor"}, {"gaps"}, {"verdict"}, {"diff"}} {
		for _, stdin := range [][]byte{nil, stream} {
			all := slices.Clone(args[1:])
			if stdin == nil {
				all = append(all, file)
			} else if args[0] == "torch2arrow" {
				continue
			}
			out := string(must(t, stdin, args[0], all...))
			if strings.Contains(out, "nsys profile") || strings.Contains(out, "Nsight") {
				t.Errorf("%v sends to Nsight Systems:\n%s", args, out)
			}
		}
	}
	if out := string(must(t, nil, "torch2arrow", file, "--doctor")); !strings.Contains(out, "rocprof-sys-sample") {
		t.Errorf("the doctor does not name a profiler for AMD:\n%s", out)
	}
}
