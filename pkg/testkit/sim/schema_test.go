package sim

import (
	"slices"
	"strings"
	"testing"
)

// TestSchemaGenerations wants in each generation what sets it apart.
func TestSchemaGenerations(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Steps, c.Layers, c.Overheads = 2, 2, true })
	cases := []struct {
		schema       Schema
		has, lacks   []string
		beforeStream string // the column before streamId
	}{
		{Schema2020, []string{"TARGET_INFO_GPU.deviceId", "TARGET_INFO_CUDA_GPU", "PROFILER_OVERHEAD.correlationId", "TARGET_INFO_CUDA_NULL_STREAM"},
			[]string{"EXPORT_META_DATA", "META_DATA_EXPORT", "META_DATA_CAPTURE", "PROCESSES", "TARGET_INFO_GPU.id",
				"CUPTI_ACTIVITY_KIND_KERNEL.mangledName", "CUPTI_ACTIVITY_KIND_RUNTIME.callchainId", "NVTX_EVENTS.binaryData"}, "contextId"},
		{Schema2_9_1, []string{"EXPORT_META_DATA", "PROCESSES", "TARGET_INFO_GPU.id", "CUPTI_ACTIVITY_KIND_KERNEL.mangledName", "PROFILER_OVERHEAD.returnValue"},
			[]string{"META_DATA_EXPORT", "META_DATA_CAPTURE", "TARGET_INFO_GPU.deviceId", "PROFILER_OVERHEAD.correlationId"}, "contextId"},
		{Schema3_4_0, []string{"META_DATA_EXPORT", "META_DATA_CAPTURE"}, []string{"EXPORT_META_DATA", "CUPTI_ACTIVITY_KIND_KERNEL.greenContextId"}, "contextId"},
		{Schema3_16_1, []string{"CUPTI_ACTIVITY_KIND_KERNEL.greenContextId", "NVTX_EVENTS.binaryData", "DIAGNOSTIC_EVENT", "TARGET_INFO_CUDA_CONTEXT_INFO"},
			[]string{"TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_CUDA_NULL_STREAM"}, "greenContextId"},
		{Schema3_20_3, []string{"TARGET_INFO_CUDA_DEVICE"}, []string{"CUPTI_ACTIVITY_KIND_KERNEL.graphId", "CUPTI_ACTIVITY_KIND_OVERHEAD"}, "greenContextId"},
		{Schema3_24_14, []string{"CUPTI_ACTIVITY_KIND_KERNEL.graphId", "CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD.overheadType", "TARGET_INFO_SESSION_START_TIME.systemClockNs"},
			[]string{"PROFILER_OVERHEAD.returnValue", "CUPTI_ACTIVITY_KIND_KERNEL.tensorSizeMinusOneElements"}, "greenContextId"},
		{Schema3_25_0, []string{"CUPTI_ACTIVITY_KIND_KERNEL.tensorSizeMinusOneElements"}, []string{"NVTX_EVENTS.eventId"}, "greenContextId"},
		{Schema3_28_1, []string{"NVTX_EVENTS.eventId", "TARGET_INFO_SESSION_START_TIME.sessionStartCntVctNs"}, []string{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}, "greenContextId"},
	}
	if len(cases) != len(Schemas()) {
		t.Errorf("%d of %d generations are tested", len(cases), len(Schemas()))
	}
	for _, c := range cases {
		t.Run(c.schema.String(), func(t *testing.T) {
			w := write(t, tr, Options{Schema: c.schema})
			for _, name := range c.has {
				if !w.has(name) {
					t.Errorf("%s is missing", name)
				}
			}
			for _, name := range c.lacks {
				if w.has(name) {
					t.Errorf("%s is there", name)
				}
			}
			columns := w.tables["CUPTI_ACTIVITY_KIND_KERNEL"]
			if i := slices.Index(columns, "streamId"); columns[i-1] != c.beforeStream {
				t.Errorf("before streamId comes %s, want %s", columns[i-1], c.beforeStream)
			}
			if n := len(w.ints("CUPTI_ACTIVITY_KIND_KERNEL", "start")); n != tr.Kernels.Len() {
				t.Errorf("%d kernels, want %d", n, tr.Kernels.Len())
			}
			if n := len(w.ints("NVTX_EVENTS", "start")); n != tr.NVTX.Len() {
				t.Errorf("%d NVTX rows, want %d", n, tr.NVTX.Len())
			}
		})
	}
}

func TestParseSchema(t *testing.T) {
	for _, s := range Schemas() {
		if got, err := ParseSchema(s.String()); err != nil || got != s {
			t.Errorf("ParseSchema(%s) = %v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "3", "3.25", "3.25.0.1", "x.y.z", "3.25.0 ", "3.-1.0", "03.25.0", "2021"} {
		if got, err := ParseSchema(bad); err == nil {
			t.Errorf("ParseSchema(%q) = %v, want an error", bad, got)
		}
	}
}

// TestMetadata wants the version under the name that the generation uses, and
// the graph mode under its key.
func TestMetadata(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Steps, c.Layers = 1, 1 })
	for _, s := range Schemas() {
		w := write(t, tr, Options{Schema: s})
		for _, table := range []string{"EXPORT_META_DATA", "META_DATA_EXPORT"} {
			if !w.has(table) {
				continue
			}
			i := slices.Index(w.texts(table, "name"), "EXPORT_SCHEMA_VERSION")
			if i < 0 || w.texts(table, "value")[i] != s.String() {
				t.Errorf("%s: %s does not say so", s, table)
			}
		}
		if !w.has("META_DATA_CAPTURE") {
			continue
		}
		key := "CUDA_GRAPH_TRACE_OPTIONS:MODE"
		if s.before(Schema3_24_14) {
			key = "PROCESS_0:" + key
		}
		i := slices.Index(w.texts("META_DATA_CAPTURE", "name"), key)
		if i < 0 || w.texts("META_DATA_CAPTURE", "value")[i] != "Node" {
			t.Errorf("%s: no %s", s, key)
		}
	}
}

func TestEmptyTables(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Steps, c.Layers = 1, 1 })
	lazy := write(t, tr, Options{})
	full := write(t, tr, Options{EmptyTables: true})
	if lazy.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") || lazy.has("OSRT_API") {
		t.Error("a lazy export has empty tables")
	}
	empty := 0
	for name, columns := range full.tables {
		if len(full.ints(name, columns[0])) == 0 {
			empty++
		}
	}
	if empty < 20 || !full.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE.graphExecId") {
		t.Errorf("%d empty tables", empty)
	}
}

func TestReducedAndDrop(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Steps, c.Layers = 1, 1 })
	w := write(t, tr, Options{Reduced: true, Drop: []string{"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_MEMCPY.bytes"}})
	if got := strings.Join(w.tables["CUPTI_ACTIVITY_KIND_KERNEL"], " "); got != "start end deviceId streamId correlationId demangledName shortName gridX gridY gridZ blockX blockY blockZ" {
		t.Errorf("reduced kernels: %s", got)
	}
	if got := strings.Join(w.tables["CUPTI_ACTIVITY_KIND_RUNTIME"], " "); got != "start end globalTid correlationId nameId" {
		t.Errorf("reduced calls: %s", got)
	}
	for _, name := range []string{"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_MEMCPY.bytes", "META_DATA_EXPORT", "PROCESSES"} {
		if w.has(name) {
			t.Errorf("%s is there", name)
		}
	}
	if !w.has("CUPTI_ACTIVITY_KIND_MEMCPY.copyKind") {
		t.Error("a column was dropped that should not be")
	}
}

// TestSecretIsPlanted wants the canary in every place where captures keep
// secrets, or a test that looks for it afterwards proves nothing.
func TestSecretIsPlanted(t *testing.T) {
	tr := mustSimulate(t, func(c *Config) { c.Steps, c.Layers, c.Secret = 1, 1, "CANARY-test" })
	w := write(t, tr, Options{})
	places := []struct {
		table, column string
		times         int
	}{
		{"META_DATA_CAPTURE", "value", 5}, {"META_DATA_EXPORT", "value", 3}, {"TARGET_INFO_SYSTEM_ENV", "value", 2},
		{"PROCESSES", "name", 2}, {"DIAGNOSTIC_EVENT", "text", 1}, {"StringIds", "value", 3},
	}
	for _, p := range places {
		if n := strings.Count(strings.Join(w.texts(p.table, p.column), "\n"), "CANARY-test"); n != p.times {
			t.Errorf("%d times the canary in %s.%s, want %d", n, p.table, p.column, p.times)
		}
	}
	// Strings that hold it name neither a kernel nor a range nor a call.
	texts := w.strings()
	for _, c := range []struct{ table, column string }{
		{"CUPTI_ACTIVITY_KIND_KERNEL", "shortName"}, {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"},
		{"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"}, {"NVTX_EVENTS", "textId"},
	} {
		for _, id := range w.ints(c.table, c.column) {
			if strings.Contains(texts[id], "CANARY") {
				t.Fatalf("%s.%s refers to %q", c.table, c.column, texts[id])
			}
		}
	}
}

// TestIDs wants process and thread ids packed as nsys does, negative from
// hardware id 128 on.
func TestIDs(t *testing.T) {
	p := Process{PID: 4000, VM: 1}
	if got := p.globalTid(4001); got != 281542085578656+1 {
		t.Errorf("globalTid = %d", got)
	}
	p.HW = 200
	if got := uint64(p.globalTid(4001)); int64(got) >= 0 || got>>56 != 200 || got>>24&0xffffff != 4000 || got&0xffffff != 4001 {
		t.Errorf("globalTid = %x", got)
	}
}

// TestClock wants shift and normalisation applied to every time but the mark
// for a time that was not collected.
func TestClock(t *testing.T) {
	tr, opt, err := ParseText(strings.NewReader(`schema 3.25.0
session utc=1000000000000 shift=3us normalize
process 9
kernel 1us 2us k
graph 0us 0us
range 5us 6us r
api 7us 8us cudaLaunchKernel_v7000
`))
	if err != nil {
		t.Fatal(err)
	}
	w := write(t, tr, opt)
	const moved = 1000000000000 + 3000
	for _, c := range []struct {
		table string
		want  int64
	}{
		{"CUPTI_ACTIVITY_KIND_KERNEL", moved + 1000}, {"NVTX_EVENTS", moved + 5000},
		{"CUPTI_ACTIVITY_KIND_RUNTIME", moved + 7000}, {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 0},
	} {
		if got := w.ints(c.table, "start"); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s.start = %v, want %d", c.table, got, c.want)
		}
	}
	names, values := w.texts("META_DATA_EXPORT", "name"), w.texts("META_DATA_EXPORT", "value")
	if i := slices.Index(names, "EXPORT_PARAM_TIME_SHIFT"); values[i] != "3000" {
		t.Errorf("shift %s", values[i])
	}
	if i := slices.Index(names, "EXPORT_PARAM_TIME_NORMALIZE"); values[i] != "true" {
		t.Errorf("normalize %s", values[i])
	}
}

// TestCallsGroupedByThread wants the calls of one thread together, which are
// not in order of time over all.
func TestCallsGroupedByThread(t *testing.T) {
	w := write(t, mustSimulate(t, nil), Options{})
	starts, tids := w.ints("CUPTI_ACTIVITY_KIND_RUNTIME", "start"), w.ints("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid")
	seen := map[int64]bool{}
	back := false
	for i, tid := range tids {
		if i > 0 && starts[i] < starts[i-1] {
			back = true
		}
		if i > 0 && tid == tids[i-1] {
			if starts[i] < starts[i-1] {
				t.Fatalf("row %d: thread %x goes back in time", i, tid)
			}
			continue
		}
		if seen[tid] {
			t.Fatalf("row %d: thread %x comes twice", i, tid)
		}
		seen[tid] = true
	}
	if len(seen) != 4 || !back {
		t.Errorf("%d threads, back in time: %v", len(seen), back)
	}
}
