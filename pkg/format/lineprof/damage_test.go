package lineprof

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// somePickle is a .lprof file of protocol 4 as line_profiler writes it.
const somePickle = "\x80\x04\x95\x8f\x00\x00\x00\x00\x00\x00\x00" +
	"\x8c\x1cline_profiler._line_profiler\x94\x8c\x09LineStats\x94\x93\x94)\x81\x94}\x94(" +
	"\x8c\x07timings\x94}\x94\x8c\x04x.py\x94K\x0a\x8c\x01f\x94\x87\x94]\x94(" +
	"K\x0bK\x01M\xf4\x01\x87\x94K\x0cK\x02\x8a\x05\x00\xca\x9a\x3b\x00\x87\x94es" +
	"\x8c\x04unit\x94G\x3e\x11\x2e\x0b\xe8\x26\xd6\x95ub."

func TestPickle(t *testing.T) {
	p := mustRead(t, somePickle)
	f := p.Functions[0]
	if p.Format != Pickle || p.Unit != 1e-9 || f.Name != "f" || f.File != "x.py" || f.Line != 10 || f.Ns != 1_000_000_500 {
		t.Fatalf("%+v %+v", p, f)
	}
	if l := f.Lines[1]; l != (Line{Number: 12, Hits: 2, Ns: 1_000_000_000, Time: Exact}) {
		t.Errorf("%+v", l)
	}
	empty := mustRead(t, "\x80\x02c_line_profiler\nLineStats\nq\x00)\x81q\x01}q\x02(U\x07timingsq\x03}q\x04U\x04unitq\x05G\x3e\xb0\xc6\xf7\xa0\xb5\xed\x8dub.")
	if empty.Unit != 1e-6 || len(empty.Functions) != 0 {
		t.Errorf("%+v", empty)
	}
}

// TestOddFiles gives what copies, compressors and editors make of profiles.
func TestOddFiles(t *testing.T) {
	speed := `{"shared":{"frames":[{"name":"main","file":"app.py"}]},"profiles":[{"type":"sampled","unit":"seconds","samples":[[0]],"weights":[0.5]}]}`
	header, _, _ := strings.Cut(oneTable, "===")
	for name, test := range map[string][2]string{
		"two pickles":               {somePickle + somePickle, "something follows the pickle"},
		"gzip":                      {"\x1f\x8b\x08\x00", "compressed by gzip"},
		"speedscope with a mark":    {"\xef\xbb\xbf" + speed, ""},
		"cut before the first line": {"Timer unit: 1e-06 s\n\n" + header + "=====\n    10                                           def f():\n", "1 table cut or edited"},
	} {
		p, err := Read("x", strings.NewReader(test[0]))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = strings.Join(p.Warnings, "; ")
		}
		if test[1] == "" && got != "" || !strings.Contains(got, test[1]) {
			t.Errorf("%s: %q, want %q", name, got, test[1])
		}
	}
}

// TestGaps: lines that never ran are filled in, but not the space between lines that
// are too far from each other to be of one function.
func TestGaps(t *testing.T) {
	f := &Function{Name: "f", path: "/srv/x.py", Line: 3, Lines: []Line{{Number: 5, Hits: 1, Time: Exact}, {Number: 8, Hits: 1, Time: Exact}, {Number: 2_000_000_000, Hits: 1, Time: Exact}}}
	p := &Profile{Functions: []*Function{f}}
	missing, err := p.AddSource(fstest.MapFS{"x.py": {Data: []byte("1\n2\ndef f():\n  4\n  a\n6\n7\n  b\n")}})
	if err != nil || len(missing) > 0 || len(f.Lines) != 7 || f.Lines[0].Source != "def f():" || f.Lines[5].Source != "  b" || f.Lines[6].Source != "" {
		t.Errorf("%v %v %+v", missing, err, f.Lines)
	}
	other := &Profile{Functions: []*Function{{Name: "g", path: "/etc/passwd", Lines: []Line{{Number: 1, Hits: 1}}}}}
	if missing, err := other.AddSource(fstest.MapFS{}); err != nil || len(missing) != 1 {
		t.Errorf("%v %v", missing, err)
	}
}

// TestMoved: a file that changed after it ran says nothing of the lines that ran.
func TestMoved(t *testing.T) {
	for source, want := range map[string]string{"def f(n):\n  return n\n": "  return n", "@cache\ndef f(n): return n\n": "def f(n): return n", "import os\ndef f(n):\n  return n\n": ""} {
		f := &Function{Name: "A.f", path: "/srv/x.py", Line: 1, Lines: []Line{{Number: 2, Hits: 1, Time: Exact}}}
		p := &Profile{Functions: []*Function{f}}
		_, err := p.AddSource(fstest.MapFS{"x.py": {Data: []byte(source)}})
		if got := f.Lines[len(f.Lines)-1].Source; err != nil || got != want || (want == "") != strings.Contains(strings.Join(p.Warnings, ""), "its file changed after it ran") {
			t.Errorf("%q: %q, %q, %v", source, got, p.Warnings, err)
		}
	}
}

// seeds are inputs of every format, real ones where there are any.
func seeds(t testing.TB) [][]byte {
	all := [][]byte{
		[]byte(somePickle),
		[]byte("Timer unit: 1e-06 s\n\n" + oneTable + "\n" + strings.ReplaceAll(oneTable, "at line 10", "at line 11")),
		[]byte("main (app.py:10);step (m.py:20) 30\nmain (app.py:11) 10\n"),
		[]byte(`{"shared":{"frames":[{"name":"main","file":"app.py"}]},"profiles":[{"type":"sampled","unit":"seconds","samples":[[0],[0]],"weights":[0.5,1.5]}]}`),
		[]byte("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x07echo hi\x85R."),
		[]byte("\x80\x02cos\nsystem\nU\x07echo hi\x85R."),
	}
	if os.Getenv("HOSTBOUND_PROFILES") != "" {
		for _, name := range profiles(t) {
			if in, err := os.ReadFile(name); err == nil {
				all = append(all, in)
			}
		}
	}
	return all
}

// mutate returns an input that was cut, flipped, doubled or stuffed.
func mutate(r *rand.Rand, in []byte) []byte {
	out := bytes.Clone(in)
	for range 1 + r.IntN(4) {
		if len(out) == 0 {
			return out
		}
		at := r.IntN(len(out))
		switch r.IntN(6) {
		case 0:
			out = out[:at]
		case 1:
			out[at] ^= 1 << r.IntN(8)
		case 2:
			out[at] = byte(r.IntN(256))
		case 3:
			out = append(out[:at:at], out[min(len(out), at+r.IntN(50)):]...)
		case 4:
			out = append(out[:at:at], append(bytes.Repeat(out[at:min(len(out), at+8)], 1+r.IntN(200)), out[at:]...)...)
		case 5:
			stuff := []string{"R", "cos\nsystem\n", "\x93", "\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", "(((((", "\x85\x85\x85", "1e+300", "-5", "\n\n", "99999999999999999999"}
			out = append(out[:at:at], append([]byte(stuff[r.IntN(len(stuff))]), out[at:]...)...)
		}
	}
	return out
}

// TestDamage reads 5,000 damaged inputs: each ends with an error that has a hint, or
// with a profile whose figures are possible.
func TestDamage(t *testing.T) {
	all := seeds(t)
	r := rand.New(rand.NewPCG(7, 11))
	var before, after runtime.MemStats
	for i := range 5000 {
		in := mutate(r, all[i%len(all)])
		runtime.ReadMemStats(&before)
		check(t, in)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(40<<20+100*len(in)) {
			t.Fatalf("%d bytes took %d MiB", len(in), grown>>20)
		}
	}
}

func check(t *testing.T, in []byte) {
	p, err := Read("x", bytes.NewReader(in))
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Hint == "" {
			t.Fatalf("%v for %q", err, in)
		}
		return
	}
	for _, f := range p.Functions {
		if f.Ns < 0 || f.Line < 0 || f.Run < 0 || f.Run >= p.Runs || f.Entries() < 0 {
			t.Fatalf("%+v of %q", f, in)
		}
		last := -1
		for _, l := range f.Lines {
			if l.Number < last || l.Ns < 0 || l.Hits < 0 || l.Time == NoTime && l.Ns != 0 {
				t.Fatalf("%+v of %q", l, in)
			}
			last = l.Number
		}
	}
}

// endless is a device that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestEndless wants what never ends, and what waits for ever, to be refused.
func TestEndless(t *testing.T) {
	var e *Error
	if _, err := Read("zero", endless{}); !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("%v for an endless line", err)
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "x.py"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Profile{Functions: []*Function{{path: "/srv/x.py", Lines: []Line{{Number: 1, Hits: 1}}}}}
	if missing, err := p.AddSource(os.DirFS(dir)); err != nil || len(missing) != 1 {
		t.Errorf("%d without source, %v, of a pipe", len(missing), err)
	}
}

func FuzzRead(f *testing.F) {
	for _, in := range seeds(f) {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in) })
}

// BenchmarkText reads 100 MB of tables.
func BenchmarkText(b *testing.B) {
	fn := truth{name: "forward", path: "/srv/app/model.py", line: 100}
	for i := range 60 {
		fn.rows = append(fn.rows, truthRow{hits: int64(i % 3 * 4100), time: int64(i%3) * 59_200_000, source: "        x = self.layers[i](x, attn_metadata=attn_metadata)  # one layer"})
	}
	var text bytes.Buffer
	text.WriteString("Timer unit: 1e-09 s\n\n")
	for text.Len() < 100<<20 {
		var one strings.Builder
		fn.write(&one, 1e-9, from5)
		text.WriteString(one.String())
		fn.line += 60
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read("x", bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
