package kineto

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cycle is a trace of a few kernels that a process launched, from a time in us on.
func cycle(pid string, from, rank int) string {
	var b strings.Builder
	fmt.Fprint(&b, `{"schemaVersion":1,"baseTimeNanoseconds":1770000000000000000,`)
	if rank >= 0 {
		fmt.Fprintf(&b, `"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},`, rank)
	}
	fmt.Fprint(&b, `"traceEvents":[`)
	for i := range 5 {
		at := from + 100*i
		fmt.Fprintf(&b, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%s,"tid":7,"ts":%d,"dur":5,"args":{"correlation":%d}},`, pid, at, i+1)
		fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%d,"dur":50,"args":{"device":0,"stream":7,"correlation":%d}},`, at+10, i+1)
	}
	return strings.TrimSuffix(b.String(), ",") + "]}"
}

// TestAbsent gives some of the ranks of a run, and ranks of two runs.
func TestAbsent(t *testing.T) {
	for want, test := range map[string][]string{
		"":                                    {"0 2", "1 2"},
		"<nil>":                               {"0 4"},
		"the run had 3 ranks, and 2 are here": {"0 3", "2 3"},
		"of different sizes, of 2 ranks and of 3": {"0 3", "1 2"},
	} {
		var paths []string
		for i, of := range test {
			paths = append(paths, filepath.Join(t.TempDir(), "x.json"))
			rank, world, _ := strings.Cut(of, " ")
			text := strings.Replace(cycle(fmt.Sprint(9+i), 1000, 7), `"rank":7,"world_size":2`, `"rank":`+rank+`,"world_size":`+world, 1)
			if err := os.WriteFile(paths[i], []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(paths, Options{})
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(r.Header().Reports[0].Warnings, "\n")
		if told := strings.Contains(said, "the run had") || strings.Contains(said, "different sizes"); told != (len(want) > 6) || told && !strings.Contains(said, want) {
			t.Errorf("%q: %q", want, said)
		}
		r.Close()
	}
}

// TestCycles gives the traces that a schedule writes of one process: parts of one rank, in
// order of time, with nothing recorded between. Other processes are other ranks.
func TestCycles(t *testing.T) {
	for name, test := range map[string]struct {
		traces []string
		want   string // ranks, and what was not recorded of the first
	}{
		"cycles":            {[]string{cycle("9", 5000, -1), cycle("9", 1000, -1), cycle("9", 9000, -1)}, "[0] [[460000 4010000] [4460000 8010000]]"},
		"cycles of a rank":  {[]string{cycle("9", 5000, 3), cycle("9", 1000, 3)}, "[3] [[460000 4010000]]"},
		"two processes":     {[]string{cycle("9", 1000, -1), cycle("8", 5000, -1)}, "[0 1] []"},
		"two of each":       {[]string{cycle("9", 1000, 0), cycle("8", 1000, 1), cycle("8", 5000, 1), cycle("9", 5000, 0)}, "[0 1] [[460000 4010000]]"},
		"two of one number": {[]string{cycle("9", 1000, -1), cycle("9", 5000, -1), cycle("9", 1001, -1), cycle("9", 5001, -1)}, "[0 1] [[460000 4010000]]"},
		"the same twice":    {[]string{cycle("9", 1000, -1), cycle("8", 1000, -1), cycle("9", 1000, -1)}, "x2.json: it holds the same rows as"},
		"one says its rank": {[]string{cycle("9", 1000, 1), cycle("8", 1000, -1)}, "[0 1] []"},
		"at the same time":  {[]string{cycle("9", 1000, -1), cycle("9", 1200, -1)}, "[0 1] []"},
		"same rank at once": {[]string{cycle("9", 1000, 0), cycle("9", 1200, 0)}, "it has rank 0, like"},
		"another's rank":    {[]string{cycle("9", 1000, 0), cycle("8", 5000, 0)}, "it has rank 0, like"},
	} {
		var paths []string
		dir := t.TempDir()
		for i, text := range test.traces {
			paths = append(paths, filepath.Join(dir, fmt.Sprintf("x%d.json", i)))
			if err := os.WriteFile(paths[i], []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(paths, Options{})
		got := fmt.Sprint(err)
		if err == nil {
			h := r.Header()
			got = fmt.Sprint(h.RankNumbers(), " ", h.RankFacts(h.RankNumbers()[0]).Unrecorded)
			for last := int64(-1); ; {
				b, err := r.Next()
				if err != nil {
					break
				}
				if start := b.Start.Values[0]; b.Rank.Values[0] == h.RankNumbers()[0] {
					if start < last {
						t.Errorf("%s: a part that starts at %d comes after %d", name, start, last)
					}
					last = start
				}
			}
			r.Close()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestPlaces numbers processes of one rank that names of files place in several replicas or
// stages, and refuses those that they do not.
func TestPlaces(t *testing.T) {
	for names, want := range map[string]string{
		"dp1_pp0_tp0_rank0.1.json dp0_pp0_tp0_rank0.2.json dp10_pp0_tp0_rank0.3.json": "dp0 dp1 dp10",
		"5-TP-0-PP-1.json 5-TP-0-PP-0.json":                                           "5-TP-0-PP-0 5-TP-0-PP-1",
		"rank0.1.json rank0.2.json":                                                   "it has rank 0, like",
		"rank0.json old.json":                                                         "it has rank 0, like",
		"dp0_rank0.1.json dp1_rank0.2.json dp1_rank0.3.json":                          "it has rank 0, like",
		"dp1_rank0.2.json dp1_rank0.3.json dp0_rank0.1.json":                          "it has rank 0, like",
		"dp0_rank0.1.json dp1_rank0.2.json old.json":                                  "old.json: several traces",
	} {
		var paths []string
		dir := t.TempDir()
		for i, name := range strings.Fields(names) {
			paths = append(paths, filepath.Join(dir, name))
			if err := os.WriteFile(paths[i], []byte(cycle(fmt.Sprint(7+i), 1000, 0)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(paths, Options{})
		got := fmt.Sprint(err)
		if err == nil {
			got = ""
			for i, d := range r.docs {
				if d.info.Ranks[0] != int32(i) {
					t.Errorf("%s is of rank %d", d.path, d.info.Ranks[0])
				}
				name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(d.path), ".json"), "_")
				got += name + " "
			}
			if !strings.Contains(fmt.Sprint(r.docs[0].info.Warnings), "several processes have rank 0") {
				t.Errorf("no warning: %s", r.docs[0].info.Warnings)
			}
			r.Close()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}

// TestMerged refuses a document of several processes, whose launches have the same numbers.
func TestMerged(t *testing.T) {
	const between = `"traceEvents":[`
	own, other := cycle(`"[TP00] 9"`, 1000, 0), cycle(`"[TP01] 9"`, 1000, 1)
	_, events, _ := strings.Cut(other, between)
	got := readBytes(t, []byte(strings.Replace(own, between, between+strings.TrimSuffix(events, "]}")+",", 1)), Options{})
	if got.err == nil || !strings.Contains(got.err.Error(), "merges several processes") {
		t.Errorf("%v", got.err)
	}
	if got := readBytes(t, []byte(own), Options{}); got.err != nil || got.rows != 10 {
		t.Errorf("%d rows, %v", got.rows, got.err)
	}
}

// TestOtherAccelerators reads calls of other APIs than CUDA's and HIP's, and says where
// none are there; a beginning without its end has no time.
func TestOtherAccelerators(t *testing.T) {
	text := cycle("9", 1000, -1)
	xpu := strings.NewReplacer("cuda_runtime", "xpu_runtime", "cudaLaunchKernel", "urEnqueueKernelLaunch").Replace(text)
	if got := readBytes(t, []byte(xpu), Options{}); got.err != nil || got.rows != 10 || got.warned("launching call") {
		t.Errorf("%d rows, %v", got.rows, got.err)
	}
	if got := readBytes(t, []byte(strings.ReplaceAll(text, "cuda_runtime", "unknown")), Options{}); !got.warned("no GPU row has a launching call") {
		t.Error("no warning of kernels alone")
	}
	begun := strings.ReplaceAll(text, `"ph":"X","cat":"kernel"`, `"ph":"B","cat":"kernel"`)
	begun = strings.ReplaceAll(begun, `"dur":50,`, "")
	if got := readBytes(t, []byte(begun), Options{}); got.err != nil || !got.warned("5 events without usable times") {
		t.Errorf("%v", got.err)
	}
}

// TestClocksOfCycles has clocks compared by the collectives of cycles at one time, also where
// a rank lacks the trace of one: those of another are as far apart as the cycles are.
func TestClocksOfCycles(t *testing.T) {
	for name, starts := range map[string][2][]int{
		"the first is not there": {{1000, 5000, 9000}, {5000, 9000}},
		"one more":               {{5000, 9000}, {1000, 5000, 9000}},
		"others":                 {{1000, 9000}, {5000, 9000}},
	} {
		var paths []string
		dir := t.TempDir()
		for rank, starts := range starts {
			for _, from := range starts {
				text := strings.ReplaceAll(cycle(fmt.Sprint(7+rank), from, rank), "gemm", "ncclDevKernel_AllReduce_Sum_f16_RING_LL")
				paths = append(paths, filepath.Join(dir, fmt.Sprintf("rank%d_%d.json", rank, from)))
				if err := os.WriteFile(paths[len(paths)-1], []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		r, err := Open(paths, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		if said := fmt.Sprint(r.docs[0].info.Notes); !strings.Contains(said, "ranks agree within 0.0 us") {
			t.Errorf("%s: %s", name, said)
		}
		r.Close()
	}
}

// TestClockOfOne says nothing of clocks where one trace alone has GPU work.
func TestClockOfOne(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}
	for i, text := range []string{cycle("9", 1000, -1), strings.ReplaceAll(cycle("9", 5000, -1), `"cat":"kernel"`, `"cat":"other"`)} {
		if err := os.WriteFile(paths[i], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if said := fmt.Sprint(r.docs[0].info.Warnings); len(r.docs) != 2 || strings.Contains(said, "clocks") {
		t.Errorf("%d traces: %s", len(r.docs), said)
	}
}
