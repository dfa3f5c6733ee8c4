package nsys

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// seeds are small exports, a few KiB each in pages of 512 bytes, from which the
// corpus in testdata/fuzz is made: go test -run TestCorpus -update.
var seeds = map[string]string{
	"kernels": `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
		INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'allreduce_fusion_kernel_oneshot_lamport'), (3, 'cudaGraphLaunch_v10000');
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER, demangledName INTEGER, graphNodeId INTEGER);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 16777216, 2, 2, NULL), (30, 45, 1, 7, 2, 16777216, 2, 1, 9), (45, 50, 0, 7, NULL, -33554432, 2, 2, 10);
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, "end" INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
		INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 8, 0, 16777217, 1, 1), (21, 29, 0, 16777218, 2, 3);`,
	"ranges": `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
		INSERT INTO StringIds VALUES (0, '[Unknown]'), (7, '_prepare_inputs'), (-4, CAST(x'ff61' AS TEXT));
		CREATE TABLE NVTX_EVENTS (eventId INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT, jsonTextId INTEGER);
		INSERT INTO NVTX_EVENTS VALUES (1, -5, NULL, 75, 'TensorRT-LLM', 16777217, NULL, 1, NULL, NULL), (2, 0, 90, 59, '[Executor] _forward_step 1: 0 ctx reqs, 0 ctx tokens, 4 gen reqs', 16777217, NULL, 1, NULL, NULL),
			(3, 10, 20, 60, NULL, 16777218, 7, 1, NULL, NULL), (9000, 30, 40, 59, NULL, NULL, -4, NULL, NULL, NULL), (9001, 50, NULL, 34, 'mark', 16777217, NULL, 0, NULL, NULL),
			(9002, 60, 70, 59, NULL, 16777217, NULL, 0, '{"message":"json"}', NULL), (100000, 80, 81, 59, printf('%.*c', 700, 'x'), 16777217, NULL, 0, NULL, NULL);`,
	"others": `CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
		INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0'), ('EXPORT_PARAM_TIME_SHIFT', '5');
		CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1780000000000000000);
		CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER NOT NULL, text TEXT NOT NULL); INSERT INTO DIAGNOSTIC_EVENT VALUES (3, 'x');
		CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);
		INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5, 50, 2147483647, 7, 1, 16777216), (0, 0, 0, 7, 2, 16777216);
		CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER, bytes INTEGER, copyKind INTEGER);
		INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 3, 0, 4096, 1), (4, 4, 0, 1, 200);
		CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, "end" INTEGER NOT NULL, streamId INTEGER, syncType INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 3, 4294967295, 1);
		CREATE TABLE PROFILER_OVERHEAD (start INTEGER NOT NULL, "end" INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER); INSERT INTO PROFILER_OVERHEAD VALUES (1, 3, 16777217, 1);`,
}

// TestCorpus checks that the committed seeds are exports with rows, so that the
// fuzzer starts beyond the first check. With -update it makes them anew.
func TestCorpus(t *testing.T) {
	const head, tail = "go test fuzz v1\n[]byte(", ")\n"
	for name, sql := range seeds {
		path := filepath.Join("testdata/fuzz/FuzzOpen", name)
		if *update {
			export, err := os.ReadFile(database(t, sql+"; COMMIT; PRAGMA page_size=512; VACUUM; BEGIN"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(head+strconv.Quote(string(export))+tail), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		export, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(string(text), head), tail))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		file := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(file, []byte(export), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, rows := read(t, file); len(rows) < 2 || len(export) > 16<<10 {
			t.Errorf("%s: %d rows in %d bytes", name, len(rows), len(export))
		}
	}
}

// FuzzOpen reads anything as an export. It may be refused, but nothing panics,
// rows come in their order, and memory stays within bounds.
func FuzzOpen(f *testing.F) {
	f.Fuzz(func(t *testing.T, export []byte) {
		if len(export) > 256<<10 {
			return
		}
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, export, 0o644); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readInOrder(t, path)
		if err != nil {
			complain(t, "fuzz", path, err)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 4<<30 {
			t.Errorf("allocated %d MiB for a file of %d bytes", (after.TotalAlloc-before.TotalAlloc)>>20, len(export))
		}
	})
}

// readInOrder reads an export and checks the order of its rows.
func readInOrder(t *testing.T, path string) error {
	r, err := Open([]string{path}, Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	rank, start, end := int32(-1), int64(0), int64(0)
	total := int64(0)
	for {
		b, err := r.Next()
		if err == io.EOF {
			for _, n := range r.Header().Reports[0].Rows {
				total -= n
			}
			if total != 0 {
				t.Errorf("%d rows more than in the header", total)
			}
			return nil
		}
		if err != nil {
			return err
		}
		total += int64(b.Len)
		for i := range b.Len {
			k, ok := b.Rank.Get(i)
			if !ok {
				k = 1 << 30 // those of no rank come last
			}
			s, e := b.Start.Values[i], b.End.Values[i]
			if k < rank || k == rank && (s < start || s == start && e > end) || e < s {
				t.Fatalf("row out of order: %s", rowOf(r.Header(), b, i))
			}
			rank, start, end = k, s, e
		}
	}
}
