package lineprof

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lineProfiler finds a Python that has line_profiler.
func lineProfiler(t *testing.T) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import line_profiler, kernprof").Run() == nil {
			return python
		}
	}
	t.Skip("no Python with line_profiler: install python3-line-profiler")
	return ""
}

// TestLineProfiler profiles a program with the real line_profiler, and compares the text with the
// .lprof file of the same run.
func TestLineProfiler(t *testing.T) {
	python := lineProfiler(t)
	dir := t.TempDir()
	src, err := os.ReadFile("testdata/prog.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prog.py"), src, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []byte {
		cmd := exec.Command(python, append([]string{"-m"}, args...)...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr.Bytes())
		}
		return out
	}
	run("kernprof", "-l", "-o", "prog.lprof", "prog.py")
	pickled, err := os.ReadFile(filepath.Join(dir, "prog.lprof"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Read("prog.lprof", bytes.NewReader(pickled))
	if err != nil {
		t.Fatal(err)
	}
	if missing, err := want.AddSource(os.DirFS(dir)); err != nil || len(missing) > 0 {
		t.Fatal(missing, err)
	}
	for _, unit := range []string{"1e-6", "1e-9"} {
		text := run("line_profiler", "--unit", unit, "prog.lprof")
		got, err := Read("prog.txt", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, got, want)
		if t.Failed() {
			t.Logf("%s", text)
		}
	}
}

// compare compares a text with the pickle of its run, which has no lines after the last that ran.
func compare(t *testing.T, got, want *Profile) {
	t.Helper()
	if len(got.Functions) != 3 || len(want.Functions) != 3 {
		t.Fatalf("%d and %d functions, want 3", len(got.Functions), len(want.Functions))
	}
	for i, w := range want.Functions {
		g := got.Functions[i]
		if g.Name != w.Name || g.File != w.File || g.Line != w.Line {
			t.Fatalf("%s %s:%d, want %s %s:%d", g.Name, g.File, g.Line, w.Name, w.File, w.Line)
		}
		if math.Abs(float64(g.Ns-w.Ns)) > 1e-5*float64(w.Ns)+1 {
			t.Errorf("%s: %d ns, want %d", g.Name, g.Ns, w.Ns)
		}
		for j, wl := range w.Lines {
			gl := g.Lines[j]
			room := 0.051 * got.Unit * 1e9
			if gl.Time == FromShare {
				room = 0.00051 * float64(w.Ns)
			}
			if gl.Number != wl.Number || gl.Hits != wl.Hits || gl.Source != wl.Source || math.Abs(float64(gl.Ns-wl.Ns)) > room+1 {
				t.Errorf("%s: %+v, want %+v", g.Name, gl, wl)
			}
		}
	}
}
