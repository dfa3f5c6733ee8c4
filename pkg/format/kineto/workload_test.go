package kineto

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestWorkload wants what a run does and on what to be in the header.
func TestWorkload(t *testing.T) {
	const kernel = `{"ph":"X","cat":"kernel","ts":5,"dur":1,"name":"k","pid":0,"tid":7},`
	of := func(cat, name string) string {
		return `{"ph":"X","cat":"` + cat + `","ts":1,"dur":2,"name":"` + name + `","pid":1,"tid":1}`
	}
	for _, c := range []struct{ events, workload, platform string }{
		{of("cpu_op", "aten::add"), "", ""},
		{of("cpu_op", "AddmmBackward0"), event.Training, ""},
		{of("user_annotation", "Optimizer.step#Adam.step"), event.Training, ""},
		{of("kernel", "softmax_warp_backward"), event.Training, ""},
		{of("python_function", "torch/_tensor.py(525): backward"), "", ""},
		{of("cuda_runtime", "hipLaunchKernel"), "", event.AMD},
		{of("user_annotation", "execute_diffusion_1_256x256"), event.Diffusion, ""},
		{of("user_annotation", "execute_diffusion_1_256x256") + "," + of("user_annotation", "AddmmBackward0"), event.Training, ""},
		{of("user_annotation", "execute_diffusion_1_256x256") + "," + of("user_annotation", "execute_new_0_cached_4"), "", ""},
	} {
		h := headerOf(t, `{"traceEvents":[`+kernel+c.events+`]}`)
		if h.Workload() != c.workload || h.Platform() != c.platform {
			t.Errorf("%s: workload %q, platform %q", c.events, h.Workload(), h.Platform())
		}
	}
	if h := headerOf(t, `{"deviceProperties":[{"name":"AMD Instinct MI300X"}],"traceEvents":[`+kernel+of("cpu_op", "a")+`]}`); h.Platform() != event.AMD {
		t.Error("AMD's device is not recognised")
	}
}

// headerOf returns the header of a trace.
func headerOf(t *testing.T, text string) *event.Header {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Header()
}

// TestRealWorkloads wants the real traces that train to be known by name, and no others.
func TestRealWorkloads(t *testing.T) {
	dir := os.Getenv("HOSTBOUND_KINETO")
	if dir == "" {
		t.Skip("HOSTBOUND_KINETO names no folder of traces")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.json*"))
	trains := []string{"hta_gp100", "hta_mi250", "hta_sampled", "hta_v100", "kineto_tb_torch18"}
	n := 0
	for _, path := range files {
		if strings.HasSuffix(path, ".expected.json") {
			continue
		}
		r, err := Open([]string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, platform := "", ""
		for _, name := range trains {
			if strings.HasPrefix(filepath.Base(path), name) {
				want = event.Training
			}
		}
		if strings.Contains(path, "mi300") || strings.Contains(path, "mi250") {
			platform = event.AMD
		}
		if h := r.Header(); h.Workload() != want || h.Platform() != platform {
			t.Errorf("%s: workload %q, platform %q", path, h.Workload(), h.Platform())
		}
		n += cmp.Compare(len(want), 0)
		r.Close()
	}
	if n != 6 {
		t.Errorf("%d traces of training, want 6", n)
	}
}
