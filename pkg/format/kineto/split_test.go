package kineto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// splitAll splits a document and returns its events.
func splitAll(t *testing.T, in io.Reader) (*splitter, []string) {
	t.Helper()
	s := &splitter{in: in}
	var events []string
	err := s.run(func(b *block) error {
		for _, at := range b.events {
			events = append(events, string(b.buf[at[0]:at[1]]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, events
}

// TestSplit gives documents in pieces of all sizes.
func TestSplit(t *testing.T) {
	for _, test := range []struct {
		doc     string
		events  int
		skipped int64
		cut     bool
		base    int64
	}{
		{`{"traceEvents": []}`, 0, 0, false, 0},
		{`[{"ph": "X"}, {"ph":"X","args":{"a":[1,2,{"b":"]}"}]}}]`, 2, 0, false, 0},
		{`{"a": {"b": [1, "}"]}, "baseTimeNanoseconds": 7, "traceEvents": [{"ph": 1},{"ph": 2}], "traceName": "x"}`, 2, 0, false, 7},
		{`{"traceEvents": [{"ph": 1},{"ph": 2},], "baseTimeNanoseconds": 9}`, 2, 0, false, 9},
		{`{"traceEvents": [{"ph": "X", "name": "a "b" c"}, {"ph": 2}]}`, 1, 1, false, 0},
		{`{"traceEvents": [{"ph": "X", "name": "odd "quote"}, {"ph": 2}, {"ph": 3}]}`, 2, 1, false, 0},
		{`{"traceEvents": [{"ph": "X", "name": "last "quote"}], "baseTimeNanoseconds": 11}`, 0, 1, false, 11},
		{`{"traceEvents": [{"ph": 1}, {"ph": 2, {"ph": 3}, {"ph": 4}]}`, 3, 1, false, 0},
		{`{"traceEvents": [{"ph": 1}, {"ph": 2`, 1, 0, true, 0},
		{`{"traceEvents": [{"ph": 1}, {"ph": "2`, 1, 0, true, 0},
		{`{"traceEvents": [{"ph": 1},`, 1, 0, true, 0},
		{`{"traceEvents": [{"ph": 1}]`, 1, 0, true, 0},
		{`{"sche`, 0, 0, true, 0},
		{``, 0, 0, true, 0},
	} {
		for _, in := range []io.Reader{strings.NewReader(test.doc), iotest.OneByteReader(strings.NewReader(test.doc)), iotest.DataErrReader(strings.NewReader(test.doc))} {
			s, events := splitAll(t, in)
			if len(events) != test.events || s.skipped != test.skipped || s.cut != test.cut || s.head.base != test.base {
				t.Errorf("%s: %d events %q, %d skipped, cut %v, base %d", test.doc, len(events), events, s.skipped, s.cut, s.head.base)
			}
		}
	}
}

// TestSplitLarge has events around the sizes of blocks.
func TestSplitLarge(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString(`{"traceEvents":[`)
	var want []string
	for i, n := range []int{10, blockSize - 40, blockSize, blockSize + 1, 3 * blockSize, 5, 1 << 20} {
		e := fmt.Sprintf(`{"ph":"X","n":%d,"s":"%s"}`, i, strings.Repeat("x", n))
		want = append(want, e)
		if i > 0 {
			doc.WriteByte(',')
		}
		doc.WriteString(e)
	}
	for i := range 3 * maxEvents {
		e := fmt.Sprintf(`{"ph":%d}`, i)
		want = append(want, e)
		doc.WriteString("," + e)
	}
	doc.WriteString(`]}`)
	if _, events := splitAll(t, &doc); !slices.Equal(events, want) {
		t.Errorf("%d events of %d, or others", len(events), len(want))
	}
}

// TestFieldsAgree compares the fields of random events with those that the standard
// library reads.
func TestFieldsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	values := []any{1, -7, 3.25, "a", "with \"quotes\" and \\", "{}[],:", nil, true, []any{1, map[string]any{"b": "}"}}, map[string]any{"x": "]"}, "größe \u2028"}
	keys := []string{"ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "other", "a\"b"}
	for range 3000 {
		event := map[string]any{}
		for _, k := range keys {
			if rng.IntN(3) > 0 {
				event[k] = values[rng.IntN(len(values))]
			}
		}
		if rng.IntN(2) == 0 {
			event["args"] = map[string]any{"device": values[rng.IntN(4)], "correlation": 5, "stream": []any{1}, "z": values[rng.IntN(len(values))]}
		}
		text, err := json.Marshal(event)
		if rng.IntN(2) == 0 {
			text, err = json.MarshalIndent(event, "", "  ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if end, st := valueEnd(text, 0); st != whole || end != len(text) {
			t.Fatalf("%s: ends at %d, %v", text, end, st)
		}
		var f fields
		if !f.read(text) {
			t.Fatalf("%s: not read", text)
		}
		for k, got := range map[string][]byte{"ph": f.ph, "cat": f.cat, "name": f.name, "pid": f.pid, "tid": f.tid, "ts": f.ts, "dur": f.dur} {
			same(t, text, event, k, got)
		}
		if args, ok := event["args"].(map[string]any); ok {
			for k, got := range map[string][]byte{"device": f.device, "correlation": f.correlation, "stream": f.stream} {
				same(t, text, args, k, got)
			}
		}
	}
}

func same(t *testing.T, text []byte, object map[string]any, key string, got []byte) {
	t.Helper()
	want, ok := object[key]
	if !ok {
		if got != nil {
			t.Fatalf("%s: %s is %s", text, key, got)
		}
		return
	}
	var v any
	if err := json.Unmarshal(got, &v); err != nil {
		t.Fatalf("%s: %s is %s: %v", text, key, got, err)
	}
	a, _ := json.Marshal(v)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Fatalf("%s: %s is %s", text, key, got)
	}
}

func TestNanoseconds(t *testing.T) {
	for _, test := range []struct {
		text string
		ns   int64
		ok   bool
	}{
		{"0", 0, true}, {"1", 1000, true}, {"4203669604595.407", 4203669604595407, true}, {"1695835542514261", 1695835542514261000, true},
		{"1712195922486123.957", 1712195922486123957, true}, {".5", 500, true}, {"1.", 1000, true}, {"-1.5", -1500, true},
		{"0.0004", 0, true}, {"0.0005", 1, true}, {"-0.0005", -1, true}, {"1.23449999999999999999999", 1234, true}, {"1e3", 1000000, true},
		{"1.5E-3", 2, true}, {"12e-2", 120, true}, {"1e300", 0, false}, {"1e-300", 0, true}, {"0e999", 0, true},
		{"1700000000000000123e-3", 1700000000000000123, true}, {"1700000000000000123499e-6", 1700000000000000123, true}, {"-1700000000000000123500.9E-6", -1700000000000000124, true},
		{"7e-4", 1, true}, {"4e-4", 0, true}, {"99e-6", 0, true}, {".5e-3", 1, true}, {"5.e-4", 1, true}, {"1e-63", 0, true},
		{"1.769000000123456789e+15", 1769000000123456789, true}, {"-1712195922486123957E-3", -1712195922486123957, true}, {"99999999999999999999", 0, false},
		{"", 0, false}, {"-", 0, false}, {".", 0, false}, {"1.2.3", 0, false}, {"NaN", 0, false}, {"inf", 0, false}, {`"5"`, 5000, true}, {`"`, 0, false}, {`"x"`, 0, false}, {"1e", 0, false}, {"1e+", 0, false},
		{"null", 0, false}, {"3155692600000000000", 0, false},
	} {
		if ns, ok := nanoseconds([]byte(test.text)); ns != test.ns || ok != test.ok {
			t.Errorf("%q is %d, %v, want %d, %v", test.text, ns, ok, test.ns, test.ok)
		}
	}
	for text, want := range map[string]int64{"18446744073709551615": none, "9223372036854775807": 1<<63 - 1, `"12"`: 12, "-3": none, "1.0": 1} {
		if got := idOf([]byte(text)); got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"/usr/lib/python3/dist-packages/torch/nn/modules/module.py(1): forward", "torch/nn/modules/module.py(1): forward"},
		{"/home/ann/env/lib/python3.12/site-packages/vllm/worker.py(7): run", "vllm/worker.py(7): run"},
		{"/home/ann/project/model.py(3): step", "project/model.py(3): step"},
		{"~/x/y/z.py(3): step", "y/z.py(3): step"},
		{"torch/utils/_contextlib.py(117): decorate_context", "torch/utils/_contextlib.py(117): decorate_context"},
		{"<built-in method item of Tensor object at 0x7f>", "<built-in method item of Tensor object at 0x7f>"},
		{"nn.Module: Linear_0", "nn.Module: Linear_0"},
	} {
		if got := pythonName(test.name); got != test.want {
			t.Errorf("%q is %q, want %q", test.name, got, test.want)
		}
	}
	for name, want := range map[string]event.Class{
		"Memcpy HtoD (Pinned -> Device)": event.Pinned, "Memcpy DtoH (Device -> Pageable)": event.Pageable,
		"Memcpy DtoD (Device -> Device)": -1, "Memcpy": -1, "Memcpy HtoD (Unknown -> Device)": -1,
	} {
		if _, class := resolve(nameKey{memcpyCategory, `"` + name + `"`}); class != want {
			t.Errorf("%s is of class %d, want %d", name, class, want)
		}
	}
	for name, want := range map[string]int32{
		"rank3.json": 3, "dp0_pp0_tp1_dcp0_ep0_rank5.1712.pt.trace.json.gz": 5, "1763-TP-2-DECODE.trace.json.gz": 2,
		"worker4_step_12.169.pt.trace.json": 4, "rank-0.Apr_03.pt.trace.json": 0, "host_4711.17.pt.trace.json": -1, "frank7.json": -1,
	} {
		got, ok := rankOfName("/some/rank9/" + name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s is of rank %d, want %d", name, got, want)
		}
	}
}
