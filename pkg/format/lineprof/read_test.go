package lineprof

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustRead(t testing.TB, text string) *Profile {
	t.Helper()
	p, err := Read("dir/profile.txt", strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

var units3 = rapid.SampledFrom([]float64{1e-9, 1e-6, 1e-7, 3.64672e-07})

var functions = rapid.Custom(func(t *rapid.T) truth {
	f := truth{
		name: rapid.SampledFrom([]string{"forward", "A.forward", "f.<locals>.g", "<lambda>", "__call__", "größe"}).Draw(t, "name"),
		path: rapid.SampledFrom([]string{"/home/a b/x.py", `C:\Users\me\y.py`, "z.py", "<string>"}).Draw(t, "path"),
		line: rapid.IntRange(1, 2_000_000).Draw(t, "line"),
	}
	source := rapid.SampledFrom([]string{"", "    x = 1", "\t\ty", "0.5 * x", "12 34.5 6.7 8.9 z", "    # é", "Total time: 3 s", "for x in y:"})
	largest := rapid.SampledFrom([]int64{0, 10, 1e4, 1e9, 1e13, 1e18}).Draw(t, "largest")
	f.rows = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) truthRow {
		r := truthRow{source: source.Draw(t, "source")}
		if rapid.Bool().Draw(t, "ran") {
			r.hits = rapid.SampledFrom([]int64{1, 3, 4100, 123_456_789, 12_345_678_901}).Draw(t, "hits")
			r.time = rapid.Int64Range(0, largest).Draw(t, "time")
		}
		return r
	}), 1, 12).Draw(t, "rows")
	return f
})

// TestRoundTrip writes tables of all generations and reads them back: hits exactly
// where they are printed in full, times within what the text holds.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fns := rapid.SliceOfNDistinct(functions, 1, 4, func(f truth) identity { return identity{f.path, f.line, f.name} }).Draw(t, "functions")
		unit := units3.Draw(t, "unit")
		l := rapid.SampledFrom([]layout{upTo40, from41, from5}).Draw(t, "layout")
		text := write(fns, unit, l)
		change := rapid.SampledFrom([]func(string) string{same, crlf, commented, indented, stripped, padded}).Draw(t, "change")
		p, err := Read("p.txt", strings.NewReader(change(text)))
		if err != nil {
			t.Fatal(err, "\n", text)
		}
		if p.Runs != 1 || len(p.Functions) != len(fns) {
			t.Fatalf("%d functions in %d runs, want %d\n%s", len(p.Functions), p.Runs, len(fns), text)
		}
		for i, f := range p.Functions {
			checkFunction(t, f, &fns[i], unit, text)
		}
	})
}

func same(s string) string      { return s }
func crlf(s string) string      { return strings.ReplaceAll(s, "\n", "\r\n") }
func commented(s string) string { return "#  " + strings.ReplaceAll(s, "\n", "\n#  ") + "\n" }
func indented(s string) string  { return "    " + strings.ReplaceAll(s, "\n", "\n    ") + "\n" }

func stripped(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func padded(s string) string {
	return "\x1b[1m" + strings.ReplaceAll(s, "\n", "\x1b[0m      \n\x1b[38;5;4m")
}

func checkFunction(t *rapid.T, f *Function, want *truth, unit float64, text string) {
	if f.Name != want.name || f.Line != want.line || f.File != Reduce(want.path) || len(f.Lines) != len(want.rows) {
		t.Fatalf("read %q %q:%d with %d lines, want %+v\n%s", f.Name, f.File, f.Line, len(f.Lines), want, text)
	}
	total := want.total() * unit * 1e9
	near(t, float64(f.Ns), total, 6e-6*total+1, text)
	for i, l := range f.Lines {
		r := want.rows[i]
		if l.Number != want.line+i || l.Source != strings.TrimRight(r.source, " ") {
			t.Fatalf("line %d %q, want %d %q\n%s", l.Number, l.Source, want.line+i, r.source, text)
		}
		near(t, float64(l.Hits), float64(r.hits), 1e-5*float64(r.hits), text) // many are printed with an exponent
		ns := float64(r.time) * unit * 1e9
		switch {
		case (l.Time == NoTime) != (r.hits == 0):
			t.Fatalf("line %d: exactness %d of %d hits\n%s", l.Number, l.Time, r.hits, text)
		case l.Ns == most:
			near(t, most, max(ns, most), 1, text+"saturates\n")
		case l.Time == FromShare:
			near(t, float64(l.Ns), ns, 0.000501*total+1, text)
		case l.Time == Exact:
			near(t, float64(l.Ns), ns, 0.5+1e-15*ns, text)
		case strings.Contains(text, "e+"): // a share of 0: the printed digit is all there is
			near(t, float64(l.Ns), ns, 0.55*unit*1e9+0.5*ns, text)
		default:
			near(t, float64(l.Ns), ns, 0.55*unit*1e9+1e-14*ns+1, text)
		}
	}
}

func near(t *rapid.T, got, want, room float64, text string) {
	want = min(want, most)
	if math.Abs(got-want) > room {
		t.Fatalf("%g, want %g within %g\n%s", got, want, room, text)
	}
}

func TestRows(t *testing.T) {
	const header = "Line #      Hits         Time  Per Hit   % Time  Line Contents"
	c, ok := parseHeader([]byte(header))
	if !ok {
		t.Fatal("no header")
	}
	for _, test := range []struct {
		row    string
		hits   float64
		time   float64
		share  float64
		source string
		ok     bool
	}{
		{"  2848      4100 59200000000.0 14439024.4     98.7          self.forward()", 4100, 59200000000, 98.7, "        self.forward()", true},
		{"    35        32   41511385.0    1e+06     58.3          x", 32, 41511385, 58.3, "        x", true},
		{"    35     1e+10        6e+10      5.9     58.3  x", 1e10, 6e10, 58.3, "x", true},
		{"    35        32          0.0      0.0             x = 1", 32, 0, -1, "  x = 1", true},
		{"    35        32          0.0      0.0", 32, 0, -1, "", true},
		{"    35        32            7      0.2      0.0  x", 32, 7, 0, "x", true},
		{"   115", 0, 0, 0, "", true},
		{"   115                                           0.5 * x", 0, 0, 0, "0.5 * x", true},
		{"2848 4100 59200000000.0 14439024.4 98.7 self.forward()", 4100, 59200000000, 98.7, "self.forward()", true},
		{"   115  files were written", 0, 0, 0, "", false},
		{"   115        32   4151", 0, 0, 0, "", false},
		{"Wrote profile results to x", 0, 0, 0, "", false},
	} {
		r, ok := c.parse([]byte(test.row))
		if ok != test.ok {
			t.Errorf("%q: %v", test.row, ok)
		}
		if ok && (r.hits.value != test.hits || r.time.value != test.time || r.ran && r.share != test.share || string(r.source) != test.source) {
			t.Errorf("%q: %+v %q", test.row, r, r.source)
		}
	}
}

// TestCoarseUnit: of a function that took half of the unit (kernprof -u 1) the shares say
// when, and of one that took a thousand the times.
func TestCoarseUnit(t *testing.T) {
	table := func(total, first, second string) string {
		return "Timer unit: 1 s\n\n" + strings.NewReplacer("2 s", total, "1500000.0 1500000.0     75.0", first, "500000.0 500000.0     25.0", second).Replace(oneTable)
	}
	for _, test := range []struct {
		text          string
		first, second int64
	}{
		{table("0.403796 s", "0.2 0.0     59.5", "0.2 0.0     38.1"), 240_258_620, 153_846_276},
		{table("1000.23 s", "750.2 750.2     75.0", "250.1 250.1     25.0"), 750_200_000_000, 250_100_000_000},
	} {
		if l := mustRead(t, test.text).Functions[0].Lines; l[1].Ns != test.first || l[2].Ns != test.second {
			t.Errorf("%d and %d ns, want %d and %d\n%s", l[1].Ns, l[2].Ns, test.first, test.second, test.text)
		}
	}
}

const oneTable = `Total time: 2 s
File: /home/someone/app/x.py
Function: f at line 10

Line #      Hits         Time  Per Hit   % Time  Line Contents
==============================================================
    10                                           def f():
    11         1    1500000.0 1500000.0     75.0      a()
    12         1     500000.0 500000.0     25.0      b()
`

func TestAround(t *testing.T) {
	unit := "Timer unit: 1e-06 s\n\n"
	missing := strings.Replace(oneTable, "File: /home/someone/app/x.py\nFunction: f at line 10\n", `
Could not find file /tmp/ipykernel_7/1.py
Are you sure you are running this program from the same directory
that you ran the profiler from?
Continuing without the function's contents.
`, 1)
	docs := "File: x.py\nFunction: f at line 10\nTotal time: 2 s\n" + oneTable[strings.Index(oneTable, "\nLine #"):]
	for _, test := range []struct {
		name, text string
		functions  int
		runs       int
		unit       float64
		warning    string // part of the first
	}{
		{"plain", unit + oneTable, 1, 1, 1e-6, ""},
		{"no unit", oneTable, 1, 1, 1e-6, "no Timer unit"},
		{"no unit, cut", strings.Replace(oneTable, "    11         1    1500000.0 1500000.0     75.0      a()\n", "", 1), 1, 1, 1e-6, "25 % of its time"},
		{"two runs", unit + oneTable + "\nagain\n" + unit + oneTable, 2, 2, 1e-6, "2 runs"},
		{"prose", "Wrote profile results to x\n" + unit + oneTable + "Inspect results with:\npython x\n", 1, 1, 1e-6, ""},
		{"missing file", unit + missing, 1, 1, 1e-6, ""},
		{"three lines in another order", unit + docs, 1, 1, 1e-6, ""},
		{"empty profile", unit, 0, 1, 1e-6, ""},
		{"no time", unit + "Total time: 0 s\nFile: x.py\nFunction: f at line 1\n\nLine #      Hits         Time  Per Hit   % Time  Line Contents\n=====\n     1                                           def f():\n", 1, 1, 1e-6, ""},
		{"cut within a number", unit + oneTable[:len(oneTable)-len(" 500000.0     25.0      b()\n")], 1, 1, 1e-6, "75 %"},
		{"cut ahead of the table", unit + oneTable + "\nTotal time: 3.1", 1, 1, 1e-6, "in the middle"},
		{"summary", unit + oneTable + "\n  2.00 seconds - /home/someone/app/x.py:10 - f\n  0.50 seconds - /home/someone/app/x.py:30 - g\n", 2, 1, 1e-6, ""},
		{"contradiction", unit + strings.Replace(oneTable, "1500000.0 1500000.0", "7500000.0 1500000.0", 1), 1, 1, 1e-6, "contradict"},
		{"hits beyond int64", unit + strings.Replace(oneTable, "        1    1500000.0 1500000.0", strings.Repeat("9", 20)+"    1500000.0       0.0", 1), 1, 1, 1e-6, "more than 2.3e+18 hits in 1 line,"},
		{"dashed rule", unit + strings.Replace(oneTable, "==============================================================", "=====  =====  ----", 1), 1, 1, 1e-6, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := mustRead(t, test.text)
			if p.Name != "profile.txt" || len(p.Functions) != test.functions || p.Runs != test.runs || p.Unit != test.unit {
				t.Fatalf("%+v", p)
			}
			got := strings.Join(p.Warnings, "; ")
			if (test.warning == "") != (got == "") || !strings.Contains(got, test.warning) {
				t.Errorf("warnings %q, want %q", got, test.warning)
			}
			if strings.Contains(got, "someone") {
				t.Errorf("a path in %q", got)
			}
			if test.functions > 0 && test.name != "no time" && p.Functions[0].Ns != 2e9 {
				t.Errorf("total %d", p.Functions[0].Ns)
			}
		})
	}
	flipped := mustRead(t, unit+strings.Replace(oneTable, "1500000.0 1500000.0", "7500000.0 1500000.0", 1)).Functions[0].Lines[1]
	if flipped.Ns != 1.5e9 || flipped.Time != FromShare {
		t.Errorf("a time that hits and share outvote: %+v", flipped)
	}
	p := mustRead(t, unit+missing+"  2.00 seconds - /tmp/ipykernel_7/1.py:10 - cell\n")
	if f := p.Functions[0]; len(p.Functions) != 1 || f.Name != "cell" || f.File != "1.py" || f.Line != 10 || len(f.Lines) != 3 {
		t.Errorf("%+v", f)
	}
}

// TestLongLines: lines around the sizes of the buffer and of what is kept.
func TestLongLines(t *testing.T) {
	for _, n := range []int{0, 1, buffer - 1, buffer, buffer + 1, maxLine - 1, maxLine, maxLine + 1, 3 * maxLine} {
		text := "Timer unit: 1e-06 s\n\n" + strings.Replace(oneTable, "      a()", "      "+strings.Repeat("a", n), 1)
		p := mustRead(t, text)
		if got := len(p.Functions[0].Lines); got != 3 {
			t.Errorf("%d: %d lines", n, got)
		}
		if got := len(p.Functions[0].Lines[1].Source); n < maxLine-100 && n > 0 && got != n+4 || got > maxLine {
			t.Errorf("%d bytes of source, want %d", got, n+4)
		}
	}
}

func TestTimerTable(t *testing.T) {
	text := `=== Function Timer Results (mypyc-compatible) ===
Timer unit: 1 ns

Total calls  Total (ms)  Avg (us)  Min (us)  Max (us)  Exceptions  Function
---------------------------------------------------------------------------
       4100       59.20     14.44      9.00     80.00           0  tensorrt_llm._torch.pyexecutor.scheduler.Simple.schedule
         10        1.00    100.00     90.00    110.00           0  tensorrt_llm._torch.pyexecutor.sampler::_group
`
	p := mustRead(t, text)
	if p.Format != Timer || len(p.Functions) != 2 || len(p.Warnings) > 0 {
		t.Fatalf("%+v", p)
	}
	if f := p.Functions[0]; f.Name != "Simple.schedule" || f.File != "tensorrt_llm/_torch/pyexecutor/scheduler.py" || f.Calls != 4100 || f.Ns != 59_200_000 {
		t.Errorf("%+v", f)
	}
	if f := p.Functions[1]; f.Name != "_group" || f.File != "tensorrt_llm/_torch/pyexecutor/sampler.py" || f.Entries() != 10 {
		t.Errorf("%+v", f)
	}
	p = mustRead(t, strings.Replace(text, "      4100", strings.Repeat("9", 20), 1))
	if len(p.Functions) != 2 || p.Functions[0].Calls != most || len(p.Warnings) != 1 {
		t.Errorf("calls beyond int64: %+v", p)
	}
	if p := mustRead(t, "Timer unit: 1e-06 s\n\n"+oneTable+"\n"+text); p.Format != Text || len(p.Functions) != 3 || p.Unit != 1e-6 {
		t.Errorf("%+v", p)
	}
}

func TestStacks(t *testing.T) {
	p := mustRead(t, "main (app.py:10);step (/home/me/m.py:20) 30\nmain (app.py:11);step (/home/me/m.py:25);step (/home/me/m.py:20) 10\nmain (app.py:12) 60\n")
	if p.Format != Collapsed || len(p.Functions) != 2 || len(p.Warnings) != 1 {
		t.Fatalf("%+v", p)
	}
	f, g := p.Functions[0], p.Functions[1]
	if f.Ns != 100*sampleNs || f.SelfNs != 60*sampleNs || g.Ns != 40*sampleNs || g.SelfNs != 40*sampleNs || g.File != "m.py" || len(g.Callers) != 1 || g.Callers[0] != f {
		t.Errorf("%+v %+v", f, g)
	}
	p = mustRead(t, "process 7:\"python /home/me/serve.py --token=abc\";thread (0x7f): \"MainThread\";/home/me/lib/libx.so 5\n")
	for _, f := range p.Functions {
		if strings.Contains(f.Name, "me") || strings.Contains(f.Name, "abc") {
			t.Errorf("a frame says %q", f.Name)
		}
	}
	sampled := `{"$schema":"x","shared":{"frames":[{"name":"main","file":"app.py","line":1},{"name":"step","file":"/a/m.py"}]},
	"profiles":[{"type":"sampled","unit":"seconds","samples":[[0],[0,1]],"weights":[0.5,1.5]}]}`
	p = mustRead(t, sampled)
	f, g = p.Functions[0], p.Functions[1]
	if p.Format != Speed || f.Ns != 2_000_000_000 || f.SelfNs != 500_000_000 || g.Ns != 1_500_000_000 {
		t.Errorf("%+v %+v", f, g)
	}
	p = mustRead(t, `{"shared":{"frames":[{"name":"step (/home/me/m.py:20)"},{"name":"load(/home/me/a.bin) at C:\\Users\\me\\b.dll"},{"name":"operator/ (int)"}]},
	"profiles":[{"type":"sampled","unit":"seconds","samples":[[0,1,2]],"weights":[1]}]}`)
	for i, want := range []string{"step m.py", "load(a.bin) at b.dll ", "operator/ (int) "} {
		if f := p.Functions[i]; f.Name+" "+f.File != want {
			t.Errorf("%q of %q, want %q", f.Name, f.File, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for name, text := range map[string]string{
		"empty":      "",
		"prose":      "Took 12\nhello\n",
		"numbers":    "Took 12\n",
		"json":       `{"a": 1}`,
		"cut json":   `{"shared": {"frames": [{"na`,
		"utf-16":     "\xff\xfeT\x00i\x00",
		"cProfile":   "{(\x03\x00\x00\x00",
		"pickle":     "\x80\x04\x95",
		"other":      "\x80\x04K\x01.",
		"os.system":  "\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x07echo hi\x85R.",
		"global":     "\x80\x02cos\nsystem\nU\x07echo hi\x85R.",
		"reduce":     "\x80\x04\x8c\x1bline_profiler.line_profiler\x8c\x09LineStats\x93)R.",
		"huge":       "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fab",
		"deep stack": strings.Repeat("a;", maxDepth) + "b 1\n",
		"calls":      `{"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented","unit":"seconds","events":[{"type":"O","frame":0,"at":0}]}]}`,
		"huge frame": "\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fab",
	} {
		p, err := Read("x", strings.NewReader(text))
		var e *Error
		if err == nil || !errors.As(err, &e) || e.Hint == "" || !strings.HasPrefix(err.Error(), "x: ") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// TestHostilePickles are deep, cyclic and full of values, and end soon.
func TestHostilePickles(t *testing.T) {
	if os.Getenv("HOSTBOUND_ALL") == "" {
		t.Skip("it fills memory: HOSTBOUND_ALL=1 takes it")
	}
	for name, body := range map[string]string{
		"deep marks":    strings.Repeat("(", 1<<20),
		"deep tuples":   ")" + strings.Repeat("\x85", 4<<20) + ".",
		"many lists":    strings.Repeat("]", 8<<20),
		"many memos":    "N" + strings.Repeat("\x94", 8<<20),
		"own item":      "]\x94h\x00a.",
		"own value":     "}\x94K\x01h\x00s.",
		"stack of none": "t.",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read("x", strings.NewReader("\x80\x04"+body))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1500<<20 {
			t.Errorf("%s: allocated %d MiB", name, grown>>20)
		}
	}
}

func TestReduce(t *testing.T) {
	for path, want := range map[string]string{
		"/home/u/env/lib/python3.11/site-packages/torch/nn/modules/module.py": "torch/nn/modules/module.py",
		"/home/u/vllm/vllm/engine/x.py":                                       "vllm/engine/x.py",
		"/home/vllm/secret/app.py":                                            "app.py",
		"/work/TensorRT-LLM/tensorrt_llm/_torch/pyexecutor/py_executor.py":    "tensorrt_llm/_torch/pyexecutor/py_executor.py",
		`C:\Users\me\thing\run.py`:                                            "run.py",
		"<ipython-input-3-abc>":                                               "<ipython-input-3-abc>",
		"":                                                                    "",
		"/":                                                                   "",
		"x.py":                                                                "x.py",
	} {
		if got := Reduce(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// profiles are the files of HOSTBOUND_PROFILES.
func profiles(t testing.TB) []string {
	dir := os.Getenv("HOSTBOUND_PROFILES")
	if dir == "" {
		t.Skip("HOSTBOUND_PROFILES does not name a folder with profiles")
	}
	var names []string
	for _, pattern := range []string{"*.txt", "*.lprof"} {
		more, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, more...)
	}
	return names
}

// TestReal reads real files: functions and times are there, lines add up to their
// function, and nothing needs a warning.
func TestReal(t *testing.T) {
	for _, name := range profiles(t) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Read(name, f)
		f.Close()
		if err != nil {
			t.Error(err)
			continue
		}
		if len(p.Functions) == 0 || p.Total() == 0 || p.Unit == 0 {
			t.Errorf("%s: %+v", name, p)
		}
		for _, f := range p.Functions {
			sum := int64(0)
			for _, l := range f.Lines {
				sum += l.Ns
			}
			if off := math.Abs(float64(sum - f.Ns)); len(f.Lines) > 0 && off > 0.02*float64(f.Ns)+1000 {
				t.Errorf("%s: lines of %s add up to %d of %d", name, f.Name, sum, f.Ns)
			}
		}
	}
}
