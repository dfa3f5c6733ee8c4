package hotspot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
)

// sample is a profile with most of what the analysis looks at.
const sample = `Timer unit: 1e-09 s

Total time: 2.6 s
File: /home/me/tensorrt_llm/_torch/pyexecutor/py_executor.py
Function: PyExecutor._forward_step at line 10

Line #      Hits         Time  Per Hit   % Time  Line Contents
==============================================================
    10                                           def _forward_step(self, batch, requests):
    11       100     90000000.0 900000.0      3.5      with self.lock:
    12     10100      9000000.0    891.1      0.3          for request in requests:
    13     10000      6000000.0    600.0      0.2              ids.append(request.id)
    14       100     10000000.0 100000.0      0.4      x = torch.zeros(
    15       100      5000000.0  50000.0      0.2          8, device=f"cuda:{self.rank}")
    16       100     30000000.0 300000.0      1.2      n = x[x > 0].max().item()
    17       100     50000000.0 500000.0      1.9      names = {r.id: r for r in requests if r.done}
    18       100   2400000000.0    2e+07     92.3      return self.model_engine.forward(x, n)

Total time: 2.3 s
File: /home/me/tensorrt_llm/_torch/pyexecutor/model_engine.py
Function: PyTorchModelEngine.forward at line 50

Line #      Hits         Time  Per Hit   % Time  Line Contents
==============================================================
    50                                           def forward(self, x, n):
    51       100   2300000000.0    2e+07    100.0      y = self._prepare_tp_inputs(x)
    52                                               return y
`

func analyzeText(t *testing.T, in []byte) {
	t.Helper()
	p, err := lineprof.Read("x", bytes.NewReader(in))
	if err != nil {
		return
	}
	checkReport(t, Analyze([]*lineprof.Profile{p, p}, Options{}), in)
	checkReport(t, Analyze([]*lineprof.Profile{p, p}, Options{Sum: true}), in)
	for _, f := range p.Functions {
		for i := range f.Lines {
			Classify(f, i, Options{Steps: 100, Layers: 3})
		}
	}
}

// checkReport wants figures that can be.
func checkReport(t *testing.T, r *Report, in []byte) {
	t.Helper()
	if _, err := json.Marshal(r); err != nil { // what is not a number cannot be written
		t.Fatalf("%v for %q", err, in)
	}
	for _, f := range r.Functions {
		if f.TotalUs < 0 || f.Hits < 0 || r.TotalUs < f.TotalUs && f.Root {
			t.Fatalf("%+v of %g us for %q", f, r.TotalUs, in)
		}
	}
	for _, h := range r.Hotspots {
		if h.TimeUs < 0 || h.Hits < 0 || len(h.Types) == 0 || len(h.Options) < 2 || h.LastLine < 0 {
			t.Fatalf("%+v for %q", h, in)
		}
	}
}

// TestHuge adds up times and hits that are the largest there are.
func TestHuge(t *testing.T) {
	in := []byte("Timer unit: 1e-06 s\n")
	for _, name := range []string{"f", "g", "h"} {
		in = fmt.Appendf(in, "\nTotal time: 1e+300 s\nFile: x.py\nFunction: %s at line 1\n\nLine #      Hits         Time  Per Hit   %% Time  Line Contents\n=====\n"+
			"     1                                           def %s(x):\n     2     1e+30       1e+300    1e+270     50.0      for y in x:\n     3     1e+30       1e+300    1e+270     50.0          y.z()\n", name, name)
	}
	analyzeText(t, in)
}

// TestDamagedSource analyses 3,000 profiles with damaged source and figures.
func TestDamagedSource(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	pieces := []string{"(", ")", "[", "]", "{", "}", "\"", "'''", "f\"{", ":", "for x in ", "def ", " if ", ".item()", "=", ",", "\n", "\\", "lambda", "99999999999999999", "-1", "e+300", "  "}
	damaged := 3000
	if os.Getenv("HOSTBOUND_ALL") == "" {
		damaged = 500
	}
	for range damaged {
		in := []byte(sample)
		for range 1 + r.IntN(6) {
			at := r.IntN(len(in))
			piece := pieces[r.IntN(len(pieces))]
			switch r.IntN(3) {
			case 0:
				in = append(in[:at:at], append([]byte(piece), in[at:]...)...)
			case 1:
				in = append(in[:at:at], in[min(len(in), at+r.IntN(30)):]...)
			default:
				in[at] = byte(r.IntN(256))
			}
		}
		analyzeText(t, in)
	}
}

// TestManyLines analyses functions of as many lines as generated code has, in a time that
// grows with them and not with their square.
func TestManyLines(t *testing.T) {
	const n = 2000
	for name, line := range map[string]func(i int) string{
		"chain":  func(int) string { return "    x = x.view(-1).to(y)" },
		"loops":  func(int) string { return "    for r in requests: f(r)" },
		"nested": func(i int) string { return strings.Repeat(" ", i+1) + "for r in requests:" },
		"body":   func(i int) string { return fmt.Sprintf("%*sy%d = len(self.z%d)", 1+min(i, 4), "", i, i) },
	} {
		f := &lineprof.Function{Name: "forward", File: "x.py", Line: 1, SelfNs: -1, Calls: -1, Ns: n * 50_000_000}
		for i := range n {
			f.Lines = append(f.Lines, lineprof.Line{Number: i + 3, Hits: 1000, Ns: 50_000_000, Time: lineprof.Exact, Source: line(i)})
		}
		f.Lines[0].Source, f.Lines[1].Source = "def forward(self, x):", "    for a in range(10):"
		begin := time.Now()
		Analyze([]*lineprof.Profile{{Runs: 1, Unit: 1e-9, Functions: []*lineprof.Function{f}}}, Options{})
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: %s for %d lines", name, took, n)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	f.Add([]byte(sample))
	f.Add(fmt.Appendf(nil, "a (x.py:1);b (pickle.py:2) %d\n", 1<<62))
	f.Fuzz(analyzeText)
}
