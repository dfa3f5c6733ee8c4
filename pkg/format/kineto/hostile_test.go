package kineto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// simulated returns a small trace of PyTorch's profiler and the run it is of.
func simulated(t testing.TB, opt sim.KinetoOptions, change func(*sim.Config)) ([]byte, *sim.Trace) {
	t.Helper()
	c := sim.Default()
	c.Ranks, c.Layers, c.Warmup, c.Steps, c.Pause, c.Markers = 1, 2, 1, 4, 1, sim.VLLM
	if change != nil {
		change(&c)
	}
	tr, err := sim.Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tr.WriteKineto(&b, opt); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), tr
}

// result is what reading a document came to.
type result struct {
	header *event.Header
	rows   int64
	err    error
}

// readBytes reads a document to its end.
func readBytes(t testing.TB, text []byte, opt Options) (res result) {
	t.Helper()
	return readAs(t, filepath.Join(t.TempDir(), "trace.json"), text, opt)
}

// readAs does so by way of a file of that name.
func readAs(t testing.TB, path string, text []byte, opt Options) (res result) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{path}, opt)
	if err != nil {
		return result{err: err}
	}
	defer r.Close()
	res.header = r.Header()
	res.err = event.Each(r, func(b *event.Batch) error {
		res.rows += int64(b.Len)
		for i := range b.Len {
			if b.End.Values[i] < b.Start.Values[i] {
				t.Fatalf("row %d ends before it starts", i)
			}
		}
		return nil
	})
	return res
}

func (r *result) warned(text string) bool {
	return strings.Contains(strings.Join(r.header.Warnings(), "\n"), text)
}

// TestNumbers writes numbers as other writers do: all rows are read, and find
// their launches.
func TestNumbers(t *testing.T) {
	text, _ := simulated(t, sim.KinetoOptions{}, nil)
	whole := readBytes(t, text, Options{})
	number := regexp.MustCompile(`"(ts|dur|pid|tid|correlation)": ([0-9.]+)`)
	for name, change := range map[string]func(key, value string) string{
		"quoted": func(_, value string) string { return `"` + value + `"` },
		"ids beyond int64": func(key, value string) string {
			if n, err := strconv.ParseUint(value, 10, 64); err == nil && key == "correlation" {
				return strconv.FormatUint(math.MaxUint64-n, 10)
			}
			return value
		},
	} {
		changed := number.ReplaceAllFunc(text, func(m []byte) []byte {
			part := number.FindSubmatch(m)
			return []byte(`"` + string(part[1]) + `": ` + change(string(part[1]), string(part[2])))
		})
		got := readBytes(t, changed, Options{})
		if got.err != nil || got.rows != whole.rows || !slices.Equal(got.header.Warnings(), whole.header.Warnings()) {
			t.Errorf("%s: %d rows of %d, %v, %q", name, got.rows, whole.rows, got.err, got.header.Warnings())
		}
	}
}

// TestBroken breaks events in the ways in which real traces are broken: all others are
// read, and those that are lost are counted.
func TestBroken(t *testing.T) {
	text, _ := simulated(t, sim.KinetoOptions{}, nil)
	whole := readBytes(t, text, Options{})
	if whole.err != nil || whole.rows == 0 || whole.warned("skipped") {
		t.Fatal(whole)
	}
	const notJSON, untimed = "events are not JSON", "events without usable times"
	lost := map[string]string{
		"quote": notJSON, "odd-quote": notJSON, "no-time": notJSON, "deep": notJSON, "missing-brace": notJSON, "other-brace": notJSON,
		"nan-time": untimed, "text-time": untimed, "huge-time": untimed, "negative-duration": untimed,
	}
	for _, way := range sim.KinetoBreakages {
		bad, _ := simulated(t, sim.KinetoOptions{Broken: way}, nil)
		got := readBytes(t, bad, Options{})
		n := int64(0)
		if lost[way] != "" {
			n = whole.rows / 97
		}
		if got.err != nil || whole.rows-got.rows != n || n > 0 && !got.warned(fmt.Sprintf("%d %s", n, lost[way])) || n == 0 && (got.warned(notJSON) || got.warned(untimed)) {
			t.Errorf("%s: %d rows lost, want %d: %v, header %v", way, whole.rows-got.rows, n, got.err, got.header != nil)
		}
	}
	comma := bytes.Replace(text, []byte("  },\n  {"), []byte("  }\n  {"), 5)
	if got := readBytes(t, comma, Options{}); got.err != nil || got.rows != whole.rows {
		t.Errorf("missing commas: %d rows of %d: %v", got.rows, whole.rows, got.err)
	}
}

// TestCut cuts a document: an error, or with Partial what there is.
func TestCut(t *testing.T) {
	text, _ := simulated(t, sim.KinetoOptions{}, nil)
	end := bytes.LastIndexByte(text, '}')
	for n := 0; n <= end; n += 1 + n/cases.Few(10, 10, 40) {
		got := readBytes(t, text[:n], Options{})
		if got.err == nil {
			t.Fatalf("%d of %d bytes were taken for a trace", n, len(text))
		}
		got = readBytes(t, text[:n], Options{Partial: true})
		if got.err == nil && !got.warned("cut short") {
			t.Fatalf("%d of %d bytes: no warning", n, len(text))
		}
	}
}

// TestMutated changes bytes of 2,000 documents: no panic, no hang, no more memory than a
// multiple of the document, and no row that ends before it starts; and where what came
// out is JSON nevertheless, the rows are those that a library's parser finds.
func TestMutated(t *testing.T) {
	n := 500
	if os.Getenv("HOSTBOUND_ALL") == "" {
		n = 50
	}
	rng := rand.New(rand.NewPCG(3, 4))
	path, valid := filepath.Join(t.TempDir(), "trace.json"), 0
	taken := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for _, era := range []sim.KinetoEra{sim.Kineto2020, sim.Kineto1_8, sim.Kineto2_4, sim.Kineto2026} {
		text, _ := simulated(t, sim.KinetoOptions{Era: era, Functions: 1}, func(c *sim.Config) { c.Steps, c.Warmup, c.Layers = 1, 1, 1 })
		for range n {
			bad := mutate(rng, text)
			opt := Options{Partial: rng.IntN(2) == 0, Python: rng.IntN(2) == 0}
			metrics.Read(taken)
			before, began := taken[0].Value.Uint64(), time.Now()
			got := readAs(t, path, bad, opt)
			metrics.Read(taken)
			if bytes := taken[0].Value.Uint64() - before; bytes > 128<<20 {
				t.Fatalf("%d bytes took %d MiB", len(bad), bytes>>20)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Fatalf("%d bytes took %s", len(bad), took)
			}
			if rows, ok := libraryRows(bad, opt.Python); ok && got.err == nil {
				if valid++; got.rows != rows {
					t.Errorf("%d rows, a library finds %d in\n%s", got.rows, rows, bad)
				}
			}
		}
	}
	if valid < n/4 {
		t.Errorf("%d documents were JSON", valid)
	}
}

// pieces are what mutate puts into documents.
var pieces = []string{`"`, `\`, "{", "}", "[", "]", ",", ":", "NaN", "-1e999", "\x00", "\n", `{"ph":`, `"ts":`, "9999999999999999999999", `"a":"b",`, "\xff", "null", `{"ph":"X",`}

// mutate changes a document in one to four places.
func mutate(rng *rand.Rand, text []byte) []byte {
	bad := bytes.Clone(text)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(bad))
		switch rng.IntN(4) {
		case 0:
			bad[at] ^= 1 << rng.IntN(8)
		case 1:
			bad[at] = byte(rng.Uint32())
		case 2:
			piece := pieces[rng.IntN(len(pieces))]
			bad = append(append(bytes.Clone(bad[:at]), piece...), bad[at:]...)
		default:
			bad = append(bytes.Clone(bad[:at]), bad[min(len(bad), at+rng.IntN(300)):]...)
		}
	}
	return bad
}

// libraryRows counts the events that are rows by means of a library's parser, false where
// that refuses the document.
func libraryRows(text []byte, python bool) (rows int64, ok bool) {
	var doc any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&doc) != nil {
		return 0, false
	}
	if object, is := doc.(map[string]any); is {
		doc = object["traceEvents"]
	}
	events, ok := doc.([]any)
	for _, e := range events {
		e, _ := e.(map[string]any)
		cat, _ := e["cat"].(string)
		c, known := categories[strings.ToLower(cat)]
		_, named := e["name"].(string)
		start, ok1 := nanoseconds(fmt.Append(nil, e["ts"]))
		length, ok2 := nanoseconds(fmt.Append(nil, e["dur"]))
		if e["ph"] == "X" && known && (c != pythonCategory || python) && named && ok1 && ok2 && length >= 0 && start <= maxTime {
			rows++
		}
	}
	return rows, ok
}

// TestHuge has values above the limits.
func TestHuge(t *testing.T) {
	long := strings.Repeat("x", 3*maxEvent)
	got := readBytes(t, []byte(`{"traceEvents":[{"ph":"X","name":"`+long+`"},`+"\n"+event1+`]}`), Options{})
	if got.err != nil || got.rows != 1 || !got.warned("1 events are not JSON") {
		t.Error(got.rows, got.err)
	}
	deep := strings.Repeat(`{"ph":`, 1<<20)
	if got := readBytes(t, []byte(`{"traceEvents":[`+deep+event1+`]}`), Options{Partial: true}); got.err != nil || got.rows > 1 {
		t.Error(got.rows, got.err)
	}
	for _, text := range []string{"{}", "[]", "{", "5", `"x"`, `{"a": 1}`, `{"traceEvents": 5}`, `{"traceEvents": {}}`, "\x1f\x8b", "\x1f\x8bxxxxxxxxxxxxx"} {
		if got := readBytes(t, []byte(text), Options{}); got.err == nil {
			t.Errorf("%q is a trace", text)
		}
	}
}

const event1 = `{"ph":"X","cat":"cpu_op","name":"aten::item","pid":1,"tid":1,"ts":10.5,"dur":2.25,"args":{}}`

// TestSecrets plants a text where traces keep names of hosts, users and paths.
func TestSecrets(t *testing.T) {
	text, _ := simulated(t, sim.KinetoOptions{Functions: 2}, nil)
	tr := bytes.ReplaceAll(text, []byte("/home/"), []byte("/home/CANARY-7"))
	tr = bytes.Replace(tr, []byte(`"schemaVersion"`), []byte(`"host_name": "CANARY-7", "username": "CANARY-7", "schemaVersion"`), 1)
	path := filepath.Join(t.TempDir(), "t.json")
	if err := os.WriteFile(path, tr, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{path}, Options{Python: true})
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(r.Header().Metadata())
	functions := 0
	err = event.Each(r, func(b *event.Batch) error {
		for i := range b.Len {
			said += string(b.Name.Get(i))
			if strings.HasPrefix(string(b.Name.Get(i)), "engine/executor.py(") {
				functions++
			}
		}
		return nil
	})
	if err != nil || strings.Contains(said, "CANARY") || functions == 0 {
		t.Error(err, functions, strings.Contains(said, "CANARY"))
	}
}

// TestManyNames reads more names than memory is given for: that ends at once.
func TestManyNames(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"traceEvents":[` + event1)
	for i := range 3000 {
		fmt.Fprintf(&b, ",\n"+`{"ph":"X","cat":"cpu_op","name":"%s %d","pid":1,"tid":1,"ts":10.5,"dur":2.25,"args":{}}`, strings.Repeat("n", 300), i)
	}
	b.WriteString("]}")
	if got := readBytes(t, []byte(b.String()), Options{Memory: 1 << 20}); got.err == nil || !strings.Contains(got.err.Error(), "its names take more than 0 MiB") {
		t.Errorf("%d rows: %v", got.rows, got.err)
	}
	if got := readBytes(t, []byte(b.String()), Options{}); got.err != nil || got.rows != 3001 {
		t.Errorf("%d rows: %v", got.rows, got.err)
	}
}
