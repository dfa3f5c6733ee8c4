package nsys

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// hostLines reads an export with its host rows and describes these, and checks that the
// other rows are those of the reader without them, in the order of all.
func hostLines(t *testing.T, opts Options, paths ...string) []string {
	t.Helper()
	_, plain := read(t, paths...)
	h, err := Open(paths, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	type time struct {
		rank       int32
		start, end int64
	}
	var lines []string
	var times []time
	var counts, ofRanks [2]int64
	others := 0
	for {
		b, err := h.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Len == 0 || b.Len > event.MaxBatchRows {
			t.Errorf("a batch of %d rows", b.Len)
		}
		for i := range b.Len {
			rank, ok := b.Rank.Get(i)
			if !ok {
				rank = 1 << 20
			}
			times = append(times, time{rank, b.Start.Values[i], b.End.Values[i]})
			switch b.Kind.Values[i] {
			case event.OS, event.Run:
			default:
				others++
				continue
			}
			counts[b.Kind.Values[i]-event.OS]++
			if ok {
				ofRanks[b.Kind.Values[i]-event.OS]++
			}
			cpu, class := "", ""
			if b.Columns.Has(event.ColCPU) {
				if v, ok := b.CPU.Get(i); ok {
					cpu = fmt.Sprint(" cpu ", v)
				}
			}
			if v, ok := b.Class.Get(i); ok {
				class = " " + v.String()
			}
			lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %d-%d rank %d thread %d %s", b.Kind.Values[i], b.Start.Values[i], b.End.Values[i],
				rank, b.Thread.Values[i], b.Name.Get(i)), " ")+class+cpu)
		}
	}
	if !slices.IsSortedFunc(times, func(a, b time) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	}) {
		t.Error("the rows are not in order")
	}
	if others != len(plain) {
		t.Errorf("%d other rows, want %d", others, len(plain))
	}
	var facts [2]int64
	for _, rep := range h.Header().Reports {
		for _, f := range rep.RankFacts {
			facts[0], facts[1] = facts[0]+f.OSCalls, facts[1]+f.Runs
		}
	}
	if ofRanks != facts || h.Header().Rows(event.OS) != counts[0] || h.Header().Rows(event.Run) != counts[1] {
		t.Errorf("the header counts %v, there are %v", facts, counts)
	}
	return lines
}

// Process 1 has a GPU, process 2 has none; thread 5 of 1 is 0x1000005.
const hostExport = kernels + `(100,200,0,7,1,16777216,NULL,NULL,NULL), (900,1000,0,7,2,16777216,NULL,NULL,NULL);
	CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL); INSERT INTO StringIds VALUES (1, 'pthread_mutex_lock'), (2, '/home/somebody'), (3, 'read');
	CREATE TABLE OSRT_API (start, "end", eventClass, globalTid, nameId);
	INSERT INTO OSRT_API VALUES (300,400,27,16777221,1), (310,310,31,16777221,1), (300,350,27,16777221,3), (50,60,NULL,16777221,2), (500,400,27,16777221,1),
		(500,600,27,33554437,1), (700,800,27,NULL,1), (700,800,27,16777221,NULL);
	CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid);
	INSERT INTO SCHED_EVENTS VALUES (250,3,0,16777221), (450,4,1,16777221), (460,4,1,16777221), (470,4,0,16777221), (480,4,0,16777221), (600,2,1,16777221),
		(300,1,1,16777222), (300,1,0,16777222), (350,1,1,16777222), (400,1,0,16777222), (300,1,1,33554437);`

// The profiler's own threads have no runs, by the names of theirs; nobody else is left out.
func TestOwnThreads(t *testing.T) {
	for name, left := range map[string]bool{"[NSys]": true, "[NSys Comms]": true, "*2CommsProcesso": true, "CUPTI worker th": true, "NSys": false, "worker [NSys]": false, "* 2": false} {
		path := database(t, hostExport+`CREATE TABLE ThreadNames (nameId, priority, globalTid); INSERT INTO StringIds VALUES (9, '`+name+`'); INSERT INTO ThreadNames VALUES (9, 20, 16777222);`)
		lines := hostLines(t, Options{Host: []event.Kind{event.Run}}, path)
		if there := slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "thread 6") }); there == left || len(lines) < 3 {
			t.Errorf("%s: %q", name, lines)
		}
	}
}

func TestHostRows(t *testing.T) {
	both := []event.Kind{event.OS, event.Run}
	want := []string{
		"os 50-60 rank 0 thread 5 other", // what is no name of a call is none
		"run 100-300 rank 0 thread 6",    // before a first arrival nobody knows
		"run 100-250 rank 0 thread 5 cpu 3",
		"os 300-400 rank 0 thread 5 pthread_mutex_lock lock",
		"os 300-350 rank 0 thread 5 read file",
		"run 350-400 rank 0 thread 6 cpu 1",
		"run 450-460 rank 0 thread 5", // two arrivals
		"run 460-470 rank 0 thread 5 cpu 4",
		"run 470-480 rank 0 thread 5",        // left twice
		"run 600-1000 rank 0 thread 5 cpu 2", // until the last row
		"os 700-800 rank 0 thread 5 other",
		"run 100-300 rank 1048576 thread 5", // of process 2, which is no rank: runs alone
		"run 300-1000 rank 1048576 thread 5 cpu 1",
	}
	path := database(t, hostExport)
	for _, opts := range append(budgets, Options{}) {
		opts.Host = both
		if got := hostLines(t, opts, path); !slices.Equal(got, want) {
			t.Errorf("%+v: got\n%s\nwant\n%s", opts.limits, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	calls := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.HasPrefix(s, "os") })
	if got := hostLines(t, Options{Host: []event.Kind{event.OS}}, path); !slices.Equal(got, calls) {
		t.Errorf("calls alone: %q", got)
	}
	if got := hostLines(t, Options{Host: both}, database(t, kernels+`(1,2,0,7,1,16777216,NULL,NULL,NULL);
		CREATE TABLE OSRT_API (start, "end"); CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn)`)); len(got) > 0 {
		t.Errorf("without threads: %q", got)
	}
}

// Where CPUs have no numbers it is known when threads ran all the same, and nobody ran on CPU 0;
// calls without names are told.
func TestNameless(t *testing.T) {
	path := database(t, hostExport+"UPDATE SCHED_EVENTS SET cpu = NULL")
	lines := hostLines(t, Options{Host: []event.Kind{event.Run}}, path)
	if want := fmt.Sprint("run 100-250 rank 0 thread 5 cpu ", event.SomeCPU); !slices.Contains(lines, want) {
		t.Errorf("%q, want %q among them", lines, want)
	}
	if h, _ := readWith(t, Options{Host: []event.Kind{event.OS}}, path); !slices.Contains(h.Warnings(), "1 row of OSRT_API or SYSCALL without a name: why threads wait in them is unknown") {
		t.Errorf("warnings %q", h.Warnings())
	}
}

// With Callers the rows of threads that call no CUDA are left out, but for their runs, and
// but for threads that the interpreter lock was recorded of. Where none calls CUDA all are kept.
func TestCallers(t *testing.T) {
	const caller = `CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", eventClass, globalTid, correlationId, nameId); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90,95,0,16777222,1,NULL);`
	const other = caller + `INSERT INTO OSRT_API VALUES (500,600,27,16777222,3);`
	const lock = `CREATE TABLE NVTX_EVENTS (start, "end", eventType, globalTid, text); INSERT INTO NVTX_EVENTS VALUES (1,2,59,16777221,'Holding GIL')`
	for sql, want := range map[string]int64{hostExport: 4, hostExport + other: 1, hostExport + other + lock: 5} {
		h, rows := readWith(t, Options{Host: []event.Kind{event.OS, event.Run}, Callers: true}, database(t, sql))
		calls, runs := int64(0), int64(0)
		for _, r := range rows {
			switch r[event.ColKind] {
			case "os":
				calls++
			case "run":
				runs++
			}
		}
		if recorded := h.Rows(event.OS); calls != want || recorded < 4 || runs != h.Rows(event.Run) {
			t.Errorf("%d of %d calls and %d of %d runs, want %d calls and all runs", calls, recorded, runs, h.Rows(event.Run), want)
		}
	}
}

// A thread that left its CPU before the first row of any rank is off it afterwards: what
// says so is a run of some length before.
func TestThreadOffFromTheBeginning(t *testing.T) {
	path := database(t, kernels+`(100,200,0,7,1,16777216,NULL,NULL,NULL);
		CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid); INSERT INTO SCHED_EVENTS VALUES (40,3,0,16777221), (150,4,1,16777221), (100,1,0,16777222)`)
	want := []string{"run 39-40 rank 0 thread 5 cpu 3", "run 99-100 rank 0 thread 6 cpu 1", "run 150-200 rank 0 thread 5 cpu 4"}
	if got := hostLines(t, Options{Host: []event.Kind{event.Run}}, path); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Host rows are merged at and around the borders of batches, and after the last row.
func TestHostRowsOfBatches(t *testing.T) {
	for i, n := range []int{1, event.BatchRows - 1, event.BatchRows, event.BatchRows + 1, 3*event.BatchRows + 5} {
		for k, m := range []int{0, 1, event.BatchRows - 1, event.BatchRows, event.BatchRows + 1} {
			if !cases.Turn(i+k, 3) { // each n and each m once at least
				continue
			}
			sql := fmt.Sprintf(`CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, globalPid);
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10*i, 10*i+5, i%%2, (1+i%%2)*16777216 FROM n;
				CREATE TABLE OSRT_API (start, "end", globalTid);
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) INSERT INTO OSRT_API SELECT 20*i, 20*i+5+i%%3, (1+i%%2)*16777216+9 FROM n WHERE %[2]d > 0;`, n, m)
			ranks := min(n, 2)
			want := m
			if ranks == 1 { // threads of one process only
				want = (m + 1) / 2
			}
			if got := hostLines(t, Options{Host: []event.Kind{event.OS}}, database(t, sql)); len(got) != want {
				t.Errorf("%d kernels, %d calls: %d came out, want %d", n, m, len(got), want)
			}
		}
	}
}

// Samples and stacks of calls, on the threads of hostExport: without the directories of modules, and without what nobody resolved.
func TestSamples(t *testing.T) {
	const tables = hostExport + `
		INSERT INTO StringIds VALUES (10, 'main'), (11, '0x7f00'), (12, '/home/CANARY/lib/libtorch_cpu.so'), (13, 'visit_decref'), (14, '/usr/bin/python3.11'),
			(15, 'free'), (16, '/lib/libc.so.6'), (17, 'cudaLaunchKernel'), (18, '/opt/CANARY/libcupti.so.12'), (19, 'py::step:/home/CANARY/model.py'), (20, 'a;b');
		CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, cpu, threadState, globalTid, cpuCycles);
		INSERT INTO COMPOSITE_EVENTS VALUES (1,310,0,1,16777221,1), (2,320,0,1,16777221,1), (3,330,0,1,33554437,1), (4,340,0,2,16777221,1), (5,350,0,1,16777221,0),
			(6,360,0,1,16777222,1), (7,NULL,0,1,16777221,1), (8,380,0,NULL,16777221,1);
		CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, unresolved, stackDepth);
		CREATE TABLE OSRT_CALLCHAINS (id, symbol, module, unresolved, stackDepth); INSERT INTO OSRT_CALLCHAINS VALUES (5,15,16,0,0), (5,10,12,0,1);
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", eventClass, globalTid, correlationId, nameId, callchainId);
		INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1002,1010,0,16777221,9,17,NULL), (1001,1011,67,16777221,9,17,1), (1001,1011,67,16777221,9,17,7);
		CREATE TABLE CUDA_CALLCHAINS (id, symbol, module, unresolved, stackDepth); INSERT INTO CUDA_CALLCHAINS VALUES (1,11,18,1,0), (1,17,12,0,1), (1,10,14,0,2);
		ALTER TABLE OSRT_API ADD COLUMN callchainId; UPDATE OSRT_API SET callchainId = 5 WHERE start = 300 AND nameId = 3; UPDATE OSRT_API SET callchainId = 0 WHERE callchainId IS NULL;
		INSERT INTO SAMPLING_CALLCHAINS SELECT * FROM (VALUES (1,15,16,0,0), (1,13,14,0,1), (1,10,14,0,2), (2,11,12,1,0), (2,19,NULL,0,1), (3,10,14,0,0), (4,10,14,0,0), (6,20,NULL,NULL,0))`
	want := []string{
		"backtrace 300-350 rank 0 thread 5 alloc main;free",
		"sample 310-310 rank 0 thread 5 gc main;visit_decref;free",
		"sample 320-320 rank 0 thread 5 torch step (model.py);[libtorch_cpu.so]",
		"sample 360-360 rank 0 thread 6 other a,b",
		"sample 380-380 rank 0 thread 5",
		"backtrace 1001-1011 rank 0 thread 5 cuda main;cudaLaunchKernel", // without the profiler's own frames
	}
	for _, order := range []string{";", " ORDER BY column1, column5;"} {
		path := database(t, tables+order)
		for _, opts := range append(budgets, Options{}) {
			if got := stackLines(t, opts, path); !slices.Equal(got, want) {
				t.Errorf("%s got\n%s\nwant\n%s", order, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		// Thread 6 calls no CUDA, and its stacks are not looked for either.
		calling := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return strings.Contains(line, "thread 6") })
		if got := stackLines(t, Options{Callers: true}, path); !slices.Equal(got, calling) {
			t.Errorf("%s of callers: got\n%s\nwant\n%s", order, strings.Join(got, "\n"), strings.Join(calling, "\n"))
		}
	}
}

// Stacks that come again and again, some of which differ by little, are the same whether they are
// put together again (as beside rows without an id) or not, and where they end at the end of a block.
// Where their frames stand apart there are none.
func TestStacksAgain(t *testing.T) {
	tables := hostExport + `
		INSERT INTO StringIds SELECT 10 + column1, 'f' || column1 FROM (VALUES (0), (1), (2), (3), (4));
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", globalTid, correlationId, nameId); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1002,1010,16777221,9,10);
		CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 4000) INSERT INTO COMPOSITE_EVENTS SELECT i, 300+i, 16777221+i%7/5 FROM n;
		CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, unresolved, stackDepth);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 4000), d(k) AS (SELECT 0 UNION ALL SELECT k+1 FROM d WHERE k < 7)
			INSERT INTO SAMPLING_CALLCHAINS SELECT i, 10+(i%3*k+i/16%2*(k=6))%5, iif(i>3000 AND i%5=k, NULL, 10+i%2), i%13=k, k FROM n, d WHERE k < 1+i%8`
	first := strings.Replace(tables, "SELECT i, 10+(", "SELECT nullif(i, 1), 10+(", 1) // without an id
	for _, callers := range []bool{false, true} {
		for _, tables := range []string{tables, first} {
			read := func(order string) []string {
				return stackLines(t, Options{Callers: callers}, database(t, tables+order))
			}
			got, all := read(" ORDER BY i, k"), tables
			for _, id := range []string{"SELECT i, 10", "SELECT nullif(i, 1), 10"} {
				all = strings.Replace(all, id, strings.Replace(id, "i,", "iif(k < 1+i%8, i, NULL),", 1), 1)
			}
			want := stackLines(t, Options{Callers: callers}, database(t, all+" OR k = 7 AND i%50 = 0 ORDER BY i, k"))
			if len(got) < 1000 || !slices.Equal(got, want) {
				t.Errorf("callers %t: %d stacks, %d beside rows without an id, or others", callers, len(got), len(want))
			}
			if apart := read(" ORDER BY k, i"); slices.ContainsFunc(apart, func(line string) bool { return strings.Contains(line, "f1") }) {
				t.Errorf("callers %t: stacks of frames that stand apart: %q", callers, apart[:1])
			}
		}
	}
}

// Functions of one name in several modules are of the family of their own module, whichever
// comes first.
func TestStacksOfOneName(t *testing.T) {
	path := database(t, hostExport+`
		INSERT INTO StringIds VALUES (10, 'copy'), (11, '/lib/libtorch_cpu.so'), (12, '/lib/libc.so.6');
		CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid); INSERT INTO COMPOSITE_EVENTS VALUES (1,310,16777221), (2,320,16777221);
		CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, unresolved, stackDepth); INSERT INTO SAMPLING_CALLCHAINS VALUES (1,10,11,0,0), (2,10,12,0,0)`)
	want := []string{"sample 310-310 rank 0 thread 5 torch copy", "sample 320-320 rank 0 thread 5 libc copy"}
	if got := stackLines(t, Options{}, path); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A function without a name is the collector's where another stack has it call, or enter, what
// only the collector calls; who enters the collector is not, nor is what another thread shows.
func TestStacksOfTheCollector(t *testing.T) {
	path := database(t, hostExport+`
		INSERT INTO StringIds VALUES (9, 'cudaLaunchKernel'), (10, '0x1'), (11, '0x2'), (12, '0x3'), (13, '0x4'), (14, '/usr/bin/python3.12'), (15, '_PyDict_MaybeUntrack'), (16, '0x5');
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", globalTid, correlationId, nameId); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1002,1010,16777221,9,9);
		CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, globalTid);
		INSERT INTO COMPOSITE_EVENTS VALUES (1,310,16777221), (2,320,16777221), (3,330,16777221), (4,340,16777222), (5,350,16777221);
		CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, unresolved, stackDepth);
		INSERT INTO SAMPLING_CALLCHAINS VALUES (1,10,14,1,0), (1,11,14,1,1), (1,12,14,1,2), (2,15,14,0,0), (2,13,14,1,1), (2,11,14,1,2), (2,12,14,1,3),
			(3,10,14,1,0), (3,12,14,1,1), (4,15,14,0,0), (4,16,14,1,1), (5,10,14,1,0), (5,16,14,1,1)`)
	want := []string{
		"sample 310-310 rank 0 thread 5 gc [python3.12];[python3.12];[python3.12]",
		"sample 320-320 rank 0 thread 5 gc [python3.12];[python3.12];[python3.12];_PyDict_MaybeUntrack",
		"sample 330-330 rank 0 thread 5 interpreter [python3.12];[python3.12]",
		"sample 340-340 rank 0 thread 6 gc [python3.12];_PyDict_MaybeUntrack",
		"sample 350-350 rank 0 thread 5 interpreter [python3.12];[python3.12]",
	}
	if got := stackLines(t, Options{}, path); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := stackLines(t, Options{Callers: true}, path); !slices.Equal(got, slices.Delete(slices.Clone(want), 3, 4)) {
		t.Errorf("of callers: got\n%s", strings.Join(got, "\n"))
	}
}

// stackLines describes the rows with stacks of an export.
func stackLines(t *testing.T, opts Options, path string) (lines []string) {
	t.Helper()
	opts.Host = []event.Kind{event.Sample, event.Backtrace}
	h, err := Open([]string{path}, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if !slices.IsSorted(h.Header().Stacks) {
		t.Errorf("stacks out of order: %q", h.Header().Stacks)
	}
	counts := map[event.Kind]int64{}
	if err := event.Each(h, func(b *event.Batch) error {
		for i := range b.Len {
			kind := b.Kind.Values[i]
			if kind != event.Sample && kind != event.Backtrace {
				continue
			}
			line := fmt.Sprintf("%s %d-%d rank %d thread %d", kind, b.Start.Values[i], b.End.Values[i], b.Rank.Values[i], b.Thread.Values[i])
			if class, ok := b.Class.Get(i); ok {
				line += " " + class.String()
			}
			if stack, ok := b.Stack.Get(i); ok {
				line += " " + h.Header().Stacks[stack]
			}
			counts[kind]++
			lines = append(lines, line)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if f := h.Header().RankFacts(0); !opts.Callers && (f.Samples != counts[event.Sample] || f.Backtraces != counts[event.Backtrace]) { // those that are left out count, too
		t.Errorf("the header counts %d and %d, there are %v", f.Samples, f.Backtraces, counts)
	}
	return lines
}

// Where the stacks of CUDA calls are those of the calls before, each gets its own; where
// they are anyone's, none.
func TestStacksOfOtherCalls(t *testing.T) {
	const tables = kernels + `(100,200,0,7,1,16777216,NULL,NULL,NULL);
		CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
		INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'cudaMemcpy_v3020'), (3, 'cudaFree'), (11, 'cudaMalloc'), (12, 'cudaMemcpy'), (13, 'cudaFree'), (14, 'main');
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", eventClass, globalTid, correlationId, nameId, callchainId);
		INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10,20,67,16777221,1,1,0), (30,40,67,16777221,2,2,1), (50,60,67,16777221,3,3,2);
		CREATE TABLE CUDA_CALLCHAINS (id, symbol, module, unresolved, stackDepth);
		INSERT INTO CUDA_CALLCHAINS VALUES `
	right := []string{
		"backtrace 10-20 rank 0 thread 5 cuda main;cudaMalloc", "backtrace 30-40 rank 0 thread 5 cuda main;cudaMemcpy", "backtrace 50-60 rank 0 thread 5 cuda main;cudaFree",
	}
	for rows, want := range map[string][]string{
		"(0,11,NULL,0,0), (0,14,NULL,0,1), (1,12,NULL,0,0), (1,14,NULL,0,1), (2,13,NULL,0,0), (2,14,NULL,0,1)": right,
		"(1,11,NULL,0,0), (1,14,NULL,0,1), (2,12,NULL,0,0), (2,14,NULL,0,1), (3,13,NULL,0,0), (3,14,NULL,0,1)": right,
		"(0,13,NULL,0,0), (1,13,NULL,0,0), (2,12,NULL,0,0)":                                                    nil,
		"(2,14,NULL,0,0)": {"backtrace 50-60 rank 0 thread 5 other main"}, // nothing speaks against it
	} {
		if got := stackLines(t, Options{}, database(t, tables+rows)); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s", rows, strings.Join(got, "\n"))
		}
	}
}

// Samples of Python functions are read where all of them are laid out as they should be.
func TestPythonSamples(t *testing.T) {
	hex := func(numbers ...uint64) (text string) {
		for _, n := range numbers {
			b := make([]byte, 8)
			binary.LittleEndian.PutUint64(b, n)
			text += fmt.Sprintf("%x", b)
		}
		return text
	}
	two := hex(7, 2<<32|1, 11, 12, 815<<32|30, 10, 12, 7) // state 1, two frames
	const tables = kernels + `(100,200,0,7,1,16777216,NULL,NULL,NULL), (900,1000,0,7,2,16777216,NULL,NULL,NULL);
		CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
		INSERT INTO StringIds VALUES (10, 'main'), (11, 'step'), (12, '/home/CANARY/serve.py');
		CREATE TABLE NVTX_EVENTS (start, "end", eventType, globalTid, text, textId, domainId, binaryData);
		INSERT INTO NVTX_EVENTS VALUES (1,NULL,75,16777221,'Python Periodic Sampling',NULL,3,NULL), (10,20,59,16777221,'range',NULL,0,NULL), `
	row := func(at int, thread int64, payload string) string {
		return fmt.Sprintf("(%d,NULL,34,%d,NULL,NULL,3,x'%s')", at, 16777216+thread, payload)
	}
	good := row(300, 5, two) + ", " + row(310, 5, hex(1, 1<<32|2, 64, 32)+two) + ", " + row(320, 6, two) // nobody knows thread 6
	deep := hex(append([]uint64{7, 300<<32 | 1, 11, 12, 30}, slices.Repeat([]uint64{10, 12, 7}, 299)...)...)
	want := []string{"sample 300-300 rank 0 thread 5 interpreter main (serve.py:7);step (serve.py:30)", "sample 310-310 rank 0 thread 5 interpreter main (serve.py:7);step (serve.py:30)"}
	for rows, want := range map[string][]string{
		good:                                want,
		good + ", " + row(330, 5, two+"00"): nil,
		row(300, 5, deep):                   {"sample 300-300 rank 0 thread 5 interpreter " + cutFrame + strings.Repeat(";main (serve.py:7)", maxStackDepth-1) + ";step (serve.py:30)"},
		good + ", " + row(330, 5, two[:48]): nil,
		good + ", " + row(330, 5, hex(7, 2<<32|1, 99, 12, 30, 10, 12, 7)):                            nil, // no such string
		good + ", " + row(330, 5, hex(7, 1<<32|1, 11, 12, 1<<30)):                                    nil,
		good + ", (330,NULL,34,16777221,NULL,NULL,3,NULL), (330,NULL,34,16777221,NULL,NULL,0,x'00')": want, // without blobs; another domain
	} {
		path := database(t, tables+rows)
		if got := stackLines(t, Options{}, path); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s", rows, strings.Join(got, "\n"))
		}
		h, _ := readWith(t, Options{Host: []event.Kind{event.Sample}}, path)
		warned := slices.ContainsFunc(h.Warnings(), func(w string) bool { return strings.Contains(w, "1 of 4 samples of Python functions") })
		if warned != (want == nil) {
			t.Errorf("%s: warnings %q", rows, h.Warnings())
		}
		all := h.Reports[0].Rows["sample"]
		if h, _ = readWith(t, Options{Host: []event.Kind{event.Sample}, Callers: true}, path); h.Reports[0].Rows["sample"] != all {
			t.Errorf("%s: the header counts %d samples, and %d where those of callers are wanted", rows, all, h.Reports[0].Rows["sample"])
		}
	}
}

// Stacks stay with their samples where reports are parts of one rank, in whatever order
// they are given.
func TestStacksOfParts(t *testing.T) {
	var paths []string
	for k, name := range []string{"second", "first"} {
		tr, opt := parse(t, "schema 3.25.0\n"+ranged(10_000*(2-k), 5, 100))
		at := int64(120_000)
		tr.Samples.Add(sim.CPUSample{At: at, TID: 100, Stack: []sim.Frame{{Symbol: tr.String(name), Module: tr.String("a.out")}}})
		path, _ := written(t, tr, opt)
		paths = append(paths, path)
	}
	for range 2 {
		h, err := Open(paths, Options{Host: []event.Kind{event.Sample}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := event.Each(h, func(b *event.Batch) error {
			for i := range b.Len {
				if stack, ok := b.Stack.Get(i); ok && b.Kind.Values[i] == event.Sample {
					got = append(got, h.Header().Stacks[stack])
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		h.Close()
		if !slices.Equal(got, []string{"first", "second"}) {
			t.Errorf("%v: stacks %q", paths, got)
		}
		slices.Reverse(paths)
	}
}

// Samples of a folder of Parquet files have the stacks that they have in a database.
func TestSamplesOfParquet(t *testing.T) {
	tr := simulate(t, small(func(c *sim.Config) { c.Ranks, c.Steps, c.Layers, c.Why = 1, 2, 1, sim.HostCause{Kind: "gc", US: 100} }))
	file, _ := written(t, tr, sim.Options{})
	dir := filepath.Join(t.TempDir(), "x_pqtdir")
	if err := tr.WriteParquetDir(dir, sim.Options{}); err != nil {
		t.Fatal(err)
	}
	want := stackLines(t, Options{}, file)
	if got := stackLines(t, Options{}, dir); len(want) < 10 || !strings.Contains(want[0], ";") && !strings.Contains(want[0], "cuda") || !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d: %q, %q", len(got), len(want), got[:min(3, len(got))], want[:min(3, len(want))])
	}
}

// TestTopology reads where CPUs and GPUs are, of exports that say it in part, wrongly, or
// among secrets; and nothing of it where nobody asks for runs.
func TestTopology(t *testing.T) {
	const system = `CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid, devStateName, name, nameEnum, value);
		INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1,'x','EnvironmentVariables',2,'HF_TOKEN=CANARY'), (1,'x','CpuInfo',1,'%s');`
	const gpus = `CREATE TABLE TARGET_INFO_GPU (id, numaNodeId); INSERT INTO TARGET_INFO_GPU VALUES (4,1), (5,0);
		CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid); INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4,0,1), (5,1,1), (5,0,2);`
	for _, test := range []struct {
		info, gpus               string
		sockets, nodes, gpuNodes []int32
	}{
		{`{"items":[{"cpuid":0,"socket":0,"maxfreqhz":1},{"cpuid":2,"socket":1}]}`, "", []int32{0, -1, 1}, nil, nil},
		{`{"items":[{"cpuid":1,"socket":0,"NumaNodeId":1},{"cpuid":0,"socket":0,"NumaNodeId":0}]}`, gpus, []int32{0, 0}, []int32{0, 1}, []int32{1}},
		{`{"items":[{"cpuid":-1,"socket":0},{"cpuid":99999999999,"socket":0},{"socket":3},{"cpuid":1,"socket":-7}]}`, "", nil, nil, nil},
		{`{"items":"CANARY"}`, gpus, nil, nil, []int32{1}},
		{`CANARY`, "", nil, nil, nil},
	} {
		path := database(t, hostExport+fmt.Sprintf(system, test.info)+test.gpus)
		h, _ := readWith(t, Options{Host: []event.Kind{event.Run}}, path)
		rep := &h.Reports[0]
		if !slices.Equal(rep.Sockets, test.sockets) || !slices.Equal(rep.Nodes, test.nodes) || !slices.Equal(rep.RankFacts[0].GPUNodes, test.gpuNodes) {
			t.Errorf("%s: %v %v %v", test.info, rep.Sockets, rep.Nodes, rep.RankFacts[0].GPUNodes)
		}
		noSecret(t, path, "CANARY")
		if h, _ := readWith(t, Options{}, path); h.Reports[0].Sockets != nil || h.Reports[0].RankFacts[0].GPUNodes != nil {
			t.Errorf("%s: it was read for nobody: %+v", test.info, h.Reports[0])
		}
	}
}
