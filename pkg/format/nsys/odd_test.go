package nsys

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// database makes an SQLite file of statements.
func database(t testing.TB, sql string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	w, err := sqlitefile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(sql)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	kernels = `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId, correlationId, globalPid, shortName, demangledName, graphNodeId);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES `
	calls = `CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", globalTid, correlationId, nameId);
		INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES `
	stringIDs = `CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL); INSERT INTO StringIds VALUES `
)

// TestOddExports reads exports that no writer here makes: the rows that come
// out, without the columns that are null, and the warnings.
func TestOddExports(t *testing.T) {
	for name, test := range map[string]struct{ sql, want string }{
		"event types are missing": {
			`CREATE TABLE NVTX_EVENTS (start, "end", text, globalTid); INSERT INTO NVTX_EVENTS VALUES (1, 5, 'a', 16777217), (2, NULL, 'mark', 16777217)`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n" +
				"nvtx 1..5 thread=1 name=\"a\" class=range\n"},
		"classes of calls": {
			calls[:strings.Index(calls, ", nameId")] + `, nameId, eventClass); ` +
				`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,3,16777217,1,1,0), (0,4,16777217,1,2,67), (5,6,16777217,2,1,1), (7,8,16777217,3,1,13),
				(9,10,16777217,4,1,NULL), (11,12,16777217,5,1,27), (13,14,16777217,6,1,94);` +
				stringIDs + `(1, 'cudaLaunchKernel_v7000'), (2, 'cudaLaunchKernel')`,
			"warning: no kernel and no graph replay was recorded, but 4 launch calls: the export filtered GPU rows out, or the profiler could not record them\n" +
				"warning: left out 2 rows of CUPTI_ACTIVITY_KIND_RUNTIME: not of a class of calls\n" +
				"api 1..3 thread=1 name=\"cudaLaunchKernel\" class=launch correlation=1\n" +
				"api 5..6 thread=1 name=\"cudaLaunchKernel\" class=launch correlation=2\n" +
				"api 7..8 thread=1 name=\"cudaLaunchKernel\" class=launch correlation=3\n" +
				"api 9..10 thread=1 name=\"cudaLaunchKernel\" class=launch correlation=4\n"},
		"overheads are named by their type": {
			`CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, "end", globalTid, nameId, overheadType);
			INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1,2,16777217,1,8), (3,4,16777217,NULL,7), (5,6,16777217,1,1), (7,8,16777217,9,99), (9,10,16777217,1,NULL);
			CREATE TABLE PROFILER_OVERHEAD (start, "end", globalTid, nameId, overheadType); INSERT INTO PROFILER_OVERHEAD VALUES (2,3,16777217,1,8);` +
				stringIDs + `(1, 'as the export calls it')`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n" +
				"overhead 1..2 thread=1 name=\"Command Buffer Full\" class=queue_full\n" +
				"overhead 2..3 thread=1 name=\"as the export calls it\" class=profiler\n" +
				"overhead 3..4 thread=1 name=\"Lazy Function Loading\" class=load\n" +
				"overhead 5..6 thread=1 name=\"as the export calls it\"\n" +
				"overhead 7..8 thread=1 name=\"\"\n" +
				"overhead 9..10 thread=1 name=\"as the export calls it\"\n"},
		"event types are strings": {
			`CREATE TABLE NVTX_EVENTS (start, "end", eventType, text); INSERT INTO NVTX_EVENTS VALUES (1, 5, '59', 'a'), (2, 5, 59, 'b'), (3, 5, NULL, 'c')`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n" +
				"nvtx 2..5 name=\"b\" class=range\n"},
		"times": {
			kernels + `(NULL,1,0,7,1,0,1,1,NULL), (1,NULL,0,7,1,0,1,1,NULL), ('1',2,0,7,1,0,1,1,NULL), (1.5,2,0,7,1,0,1,1,NULL),
				(-2305843009213693952,-2305843009213693951,0,7,NULL,0,1,1,NULL), (-2305843009213693953,5,0,7,1,0,1,1,NULL),
				(5,2305843009213693952,0,7,NULL,0,1,1,NULL), (5,2305843009213693953,0,7,1,0,1,1,NULL), (9,8,0,7,1,0,1,1,NULL);
			CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, "end");
			INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (NULL,NULL), (NULL,5), (5,NULL), (0,0), (7,7), (7,6), (-9223372036854775808,9223372036854775807);`,
			"warning: left out 2 rows of CUPTI_ACTIVITY_KIND_GRAPH_TRACE: no usable times\n" +
				"warning: left out 7 rows of CUPTI_ACTIVITY_KIND_KERNEL: no usable times\n" +
				"warning: left out 5 graph replays without times\n" +
				"warning: 100 % of the kernels and graph replays have no launching call: the API was not traced, or the recording or a filter left the calls out\n" +
				"kernel -2305843009213693952..-2305843009213693951 rank=0 device=0 stream=7 name=\"\" class=other\n" +
				"kernel 5..2305843009213693952 rank=0 device=0 stream=7 name=\"\" class=other\n"},
		"no times": {
			kernels + `(0,0,0,7,NULL,0,1,1,NULL), (5,9,0,7,NULL,0,1,1,NULL)`,
			"warning: 1 row of the GPU with zero times: the trace seems to begin there, and their durations are missing\n" +
				"warning: 100 % of the kernels and graph replays have no launching call: the API was not traced, or the recording or a filter left the calls out\n" +
				"kernel 0..0 rank=0 device=0 stream=7 name=\"\" class=other\n" +
				"kernel 5..9 rank=0 device=0 stream=7 name=\"\" class=other\n"},
		"columns are missing": {
			`CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ("END" INTEGER, start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 1);
			CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start); INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5);
			CREATE TABLE PROFILER_OVERHEAD (start, "end"); INSERT INTO PROFILER_OVERHEAD VALUES (3, 4);`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\noverhead 3..4 name=\"\" class=profiler\n"},
		"text that is not UTF-8": {
			stringIDs + `(3, CAST(x'61ff62' AS TEXT)), (4, x'ff');
			CREATE TABLE NVTX_EVENTS (start, "end", eventType, text, textId, domainId, globalTid);
			INSERT INTO NVTX_EVENTS VALUES (1, 5, 59, CAST(x'c328' AS TEXT), NULL, 1, 16777217), (2, 5, 59, NULL, 3, 2, 16777217),
				(0, NULL, 75, CAST(x'64fe' AS TEXT), NULL, 1, 16777217);` + calls + `(7, 8, 16777217, NULL, 4)`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n" +
				"nvtx 1..5 thread=1 name=\"\ufffd(\" class=range domain=d\ufffd\n" +
				"nvtx 2..5 thread=1 name=\"a\ufffdb\" class=range\n" +
				"api 7..8 thread=1 name=\"\ufffd\" class=other\n"},
		"row ids and text ids far apart": {
			stringIDs + `(-7, 'minus'), (5, 'five'), (9000000000000000000, 'far');
			CREATE TABLE NVTX_EVENTS (eventId INTEGER PRIMARY KEY, start, "end", eventType, textId);
			INSERT INTO NVTX_EVENTS VALUES (-1000000000000000000, 1, 9, 59, -7), (0, 2, 9, 59, 5), (70000, 3, 9, 59, 6), (2000000000000000000, 4, 9, 59, 9000000000000000000)`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n" +
				"nvtx 1..9 name=\"minus\" class=range\nnvtx 2..9 name=\"five\" class=range\nnvtx 3..9 name=\"\" class=range\nnvtx 4..9 name=\"far\" class=range\n"},
		"places of a text": {
			stringIDs + `(1, 'registered'), (2, '{"message":"json"}'), (3, '');
			CREATE TABLE NVTX_EVENTS (start, "end", eventType, text, textId, jsonText, jsonTextId);
			INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'literal', 1, '{"message":"j"}', 2), (2, 9, 59, '', 1, NULL, NULL), (3, 9, 59, NULL, 77, '{"Message":"j","n":1}', 2),
				(4, 9, 59, NULL, NULL, NULL, 2), (5, 9, 59, NULL, NULL, '{"message":', NULL), (6, 9, 59, NULL, NULL, '["message"]', NULL),
				(7, 9, 59, NULL, NULL, '{"payload":1}', NULL), (8, 9, 59, '', NULL, '{"message":"j"}', NULL), (9, 9, 59, NULL, 3, '{"message":"j"}', NULL)`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n" +
				"nvtx 1..9 name=\"literal\" class=range\nnvtx 2..9 name=\"registered\" class=range\nnvtx 3..9 name=\"j\" class=range\n" +
				"nvtx 4..9 name=\"json\" class=range\nnvtx 5..9 name=\"\" class=range\nnvtx 6..9 name=\"\" class=range\n" +
				"nvtx 7..9 name=\"\" class=range\nnvtx 8..9 name=\"\" class=range\nnvtx 9..9 name=\"\" class=range\n"},
		"numbers at their limits": {
			kernels + `(1,2,4294967295,4294967295,4294967295,-72057594037927936,99,NULL,0), (1,2,2147483647,-1,-1,-72057594037927936,NULL,-5,-1);` +
				calls + `(0,1,-72057594021150721,4294967295,NULL);
			CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, "end", deviceId, bytes, copyKind); INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,3,3,-1,99), (1,2,NULL,NULL,-1)`,
			"warning: 50 % of the kernels and graph replays have no launching call: the API was not traced, or the recording or a filter left the calls out\n" +
				"api 0..1 rank=0 thread=16777215 name=\"\" class=other correlation=4294967295\n" +
				"memcpy 1..3 rank=0 device=3 name=\"memcpy\" bytes=-1\n" +
				"kernel 1..2 rank=0 device=0 name=\"\" class=other correlation=4294967295 launch_start=0 launch_end=1 launch_thread=16777215\n" +
				"kernel 1..2 rank=0 device=0 stream=-1 name=\"\" class=other correlation=-1 graph_node=-1\n" +
				"memcpy 1..2 rank=0 device=0 name=\"memcpy\"\n"},
		"domains of nobody, and large ones": {
			kernels + `(1,2,0,7,NULL,16777216,NULL,NULL,NULL);
			CREATE TABLE NVTX_EVENTS (start, "end", eventType, text, domainId);
			INSERT INTO NVTX_EVENTS VALUES (-5, NULL, 75, 'D', -3), (1, 3, 59, 'a', -3), (1, 2, 59, 'b', 0), (1, 2, 59, 'c', NULL), (0, NULL, 76, 'end', -3);
			INSERT INTO NVTX_EVENTS (rowid, start, eventType, text, domainId) VALUES (900000, 0, 75, 'E', -3)`,
			"warning: 100 % of the kernels and graph replays have no launching call: the API was not traced, or the recording or a filter left the calls out\n" +
				"nvtx 1..3 rank=0 name=\"a\" class=range domain=D\nnvtx 1..2 rank=0 name=\"b\" class=range\nnvtx 1..2 rank=0 name=\"c\" class=range\n" +
				"kernel 1..2 rank=0 device=0 stream=7 name=\"\" class=other\n"},
		"metadata that is something else": {
			`CREATE TABLE META_DATA_EXPORT (name, value); INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', 'secret'), ('EXPORT_PRODUCT_VERSION', 3), (NULL, NULL), ('EXPORT_PARAM_TIME_SHIFT', 'x');
			CREATE TABLE META_DATA_CAPTURE (name, value); INSERT INTO META_DATA_CAPTURE VALUES ('CUDA_GRAPH_TRACE_OPTIONS:MODE', 'secret');
			CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ('x'), (-4), (9000000000000000000);
			CREATE TABLE DIAGNOSTIC_EVENT (severity, text); INSERT INTO DIAGNOSTIC_EVENT VALUES (2, 'Not all NVTX events might have been collected. secret'), (3, 'secret'), (NULL, NULL), ('3', 4);`,
			"warning: nsys may have dropped NVTX ranges, most likely at the end of the recording\n" +
				"warning: nsys reported 1 error while recording: open the report in the Nsight Systems GUI to see them\n" +
				"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n"},
		"a name in another case": {
			`CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (START, "END", deviceID); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0); CREATE TABLE StringIds (id, value)`,
			"warning: no GPU work was recorded: profile with '-t cuda' while the GPU is in use\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h, rows := read(t, database(t, test.sql))
			_, got, _ := strings.Cut(describeRows(h, rows), "\n")
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if rep := &h.Reports[0]; rep.Origin != 0 || rep.Version != "" || rep.Schema != "" {
				t.Errorf("header %s", asJSON(t, rep))
			}
		})
	}
}

// TestCapture checks what the header says of a recording by its rows, and when
// it warns of launches and replays.
func TestCapture(t *testing.T) {
	many := func(table, columns, values string, n int) string {
		return fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (%s);
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) INSERT INTO %[1]s SELECT %[4]s FROM n;`, table, columns, n, values)
	}
	names := stringIDs + `(1, 'cudaLaunchKernel_v7000'), (2, 'cudaGraphLaunch_v10000');`
	launches := func(n int) string {
		return many(runtimeTable, `start, "end", correlationId, nameId`, "i, i+1, i, 1", n)
	}
	kernels := func(n int, node string) string {
		return many(kernelTable, `start, "end", correlationId, graphNodeId`, "i, i+1, i, "+node, n)
	}
	const graphs = `INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1, 1000, 2), (0, 1, 1001, 2);`
	for name, test := range map[string]struct {
		sql, capture, warning string
	}{
		"nothing odd":       {launches(200) + kernels(200, "NULL"), "", ""},
		"node 0 is none":    {launches(200) + kernels(200, "0"), "", ""},
		"two without calls": {launches(198) + kernels(200, "NULL"), "", ""},
		"three without":     {launches(197) + kernels(200, "NULL"), "", "1.5 % of the kernels and graph replays have no launching call"},
		"two lost kernels":  {launches(200) + kernels(198, "NULL"), "", ""},
		"three lost":        {launches(200) + kernels(197, "NULL"), "", "3 of 200 kernel launches without a kernel"},
		"replayed":          {launches(200) + kernels(200, "5") + graphs, "node", "200 of 200 kernel launches without a kernel"},
		"lost replays":      {launches(200) + kernels(200, "NULL") + graphs, "", "2 graph launches without a recorded replay"},
		"whole graphs": {launches(200) + kernels(200, "NULL") + graphs +
			`CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, "end", correlationId); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2, 1000);`,
			"graph", "1 graph replay recorded as a whole"},
		"versions that are none": {launches(2) + kernels(2, "NULL") +
			`CREATE TABLE META_DATA_EXPORT (name, value); INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.x'), ('EXPORT_PRODUCT_VERSION', '2026.1.` + strings.Repeat("1", 40) + `')`, "", ""},
	} {
		h, _ := read(t, database(t, names+test.sql))
		rep := h.Reports[0]
		if rep.Capture != test.capture || rep.Version != "" || rep.Schema != "" {
			t.Errorf("%s: capture %q, nsys %q, schema %q", name, rep.Capture, rep.Version, rep.Schema)
		}
		if got := strings.Join(rep.Warnings, "; "); test.warning == "" && got != "" || !strings.HasPrefix(got, test.warning) || len(rep.Warnings) > 1 {
			t.Errorf("%s: warnings %q, want %q", name, got, test.warning)
		}
	}
}

// TestSampledLaunches looks up a sample of very many rows.
func TestSampledLaunches(t *testing.T) {
	path := database(t, kernels[:strings.Index(kernels, "INSERT")]+`
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 99999)
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, "end", globalPid) SELECT i, i+1, 16777216 FROM n`)
	store := spill.NewStore(1 << 20)
	defer store.Close()
	r, err := load(path, store, limitsOf(spill.DefaultBudget), &Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.findRanks()
	s, err := r.orphans()
	if err != nil || s.orphans != s.rows || s.rows < 14_000 || s.rows > 16_384 {
		t.Errorf("%d orphans of %d rows in the sample: %v", s.orphans, s.rows, err)
	}
	h, _ := read(t, path)
	if said := h.Warnings(); len(said) == 0 || !strings.Contains(said[0], "about 100 % of the kernels") {
		t.Error(said)
	}
}

// TestLongStrings cuts strings that are longer than anything reads.
func TestLongStrings(t *testing.T) {
	path := database(t, stringIDs+`(1, printf('%.*c', 100000, 'x'));
		CREATE TABLE NVTX_EVENTS (start, "end", eventType, text, textId);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 300)
		INSERT INTO NVTX_EVENTS SELECT i, i+1, 59, CASE i%2 WHEN 1 THEN printf('%.*c', 70000, 'y') END, 1 FROM n`)
	_, rows := read(t, path)
	if len(rows) != 300 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		letter := []string{"y", "x"}[i%2]
		if want := `"` + strings.Repeat(letter, maxText) + `"`; r[event.ColName] != want {
			t.Fatalf("row %d has %d bytes of %s", i, len(r[event.ColName]), r[event.ColName][1:2])
		}
	}
}

// TestWideRowIDs reads tables whose row ids have gaps everywhere: memory goes
// by the rows and not by the gaps.
func TestWideRowIDs(t *testing.T) {
	path := database(t, `CREATE TABLE NVTX_EVENTS (eventId INTEGER PRIMARY KEY, start, "end", eventType, text);
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 4999)
		INSERT INTO NVTX_EVENTS SELECT i*100000, i, i+1, 59, 'a' FROM n`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, rows := read(t, path); len(rows) != 5000 {
		t.Errorf("%d rows", len(rows))
	}
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 1000 {
		t.Errorf("allocated %d MiB for 5,000 rows", mib)
	}
}

// TestManyRanks reads a report in which every row is of another process: memory
// and time go by the rows and not by their square.
func TestManyRanks(t *testing.T) {
	if os.Getenv("HOSTBOUND_ALL") == "" {
		t.Skip("30,000 ranks take minutes under the race detector: HOSTBOUND_ALL=1 takes them")
	}
	path := database(t, `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", globalPid, deviceId);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 30000)
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i+1, i<<24, 30001-i FROM n`)
	h, rows := read(t, path)
	if len(rows) != 30000 || len(h.Reports[0].Ranks) != 30000 || rows[0][event.ColDevice] != "1" || rows[29999][event.ColRank] != "29999" {
		t.Errorf("%d rows, first %s", len(rows), rows[0])
	}
}
