package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The tables of an export that are read. FORMAT.md says what is taken from each;
// anything else in an export is ignored.
const (
	nvtxTable     = "NVTX_EVENTS"
	runtimeTable  = "CUPTI_ACTIVITY_KIND_RUNTIME"
	graphTable    = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	kernelTable   = "CUPTI_ACTIVITY_KIND_KERNEL"
	memcpyTable   = "CUPTI_ACTIVITY_KIND_MEMCPY"
	memsetTable   = "CUPTI_ACTIVITY_KIND_MEMSET"
	syncTable     = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	profilerTable = "PROFILER_OVERHEAD"
	overheadTable = "CUPTI_ACTIVITY_KIND_OVERHEAD"

	osTable         = "OSRT_API"
	syscallTable    = "SYSCALL"
	schedTable      = "SCHED_EVENTS"
	sampleTable     = "COMPOSITE_EVENTS"
	cudaStacksTable = "CUDA_CALLCHAINS"

	stringsTable    = "StringIds"
	exportTable     = "META_DATA_EXPORT"
	oldExportTable  = "EXPORT_META_DATA" // before schema 3.4.0
	captureTable    = "META_DATA_CAPTURE"
	sessionTable    = "TARGET_INFO_SESSION_START_TIME"
	diagnosticTable = "DIAGNOSTIC_EVENT"
	gpuTable        = "TARGET_INFO_GPU"
	deviceTable     = "TARGET_INFO_CUDA_DEVICE"
)

// table declares a table of events: the columns to read, and how rows become events.
// All tables in eventTables are read.
type table struct {
	name string
	kind event.Kind // of the events
	gpu  bool       // rows are of a device and stream, else of a thread
	host bool       // read only if rows of the kind are wanted, for threads of ranks
	// stacks is the table of the rows' stacks, "" if they have none.
	stacks string

	// required are integer columns without which the table is not read. Those of
	// optional, also integers, and of textColumns read as null if the export lacks
	// them.
	required, optional, textColumns []string

	// pick returns the rows of a block that become events, valid until its next call.
	// add appends picked rows of one process to their chunk.
	pick func(l *loader, t *task, b *block) []int32
	add  func(l *loader, p *chunk, b *block, rows []int32)
}

// Columns that several tables have: when a row began and ended, what a GPU row belongs
// to, and what a call was.
var (
	spanColumns = []string{"start", "end"}
	gpuColumns  = []string{"globalPid", "deviceId", "streamId", "correlationId", "graphNodeId"}
	callColumns = []string{"globalTid", "correlationId", "nameId"}

	threadColumns = []string{"start", "end", "globalTid"}
	stackColumns  = []string{"start", "end", "globalTid", "callchainId"}
)

// eventTables declares the tables of events, in the order in which rows with equal
// times are written.
var eventTables = []table{
	{
		name: nvtxTable, kind: event.NVTX, required: spanColumns,
		optional: []string{"eventType", "globalTid", "textId", "domainId", "jsonTextId"}, textColumns: []string{"text", "jsonText"},
		pick: (*loader).pickRanges, add: (*loader).addRanges,
	},
	{
		name: runtimeTable, kind: event.API, required: spanColumns, optional: slices.Concat(callColumns, []string{"eventClass"}),
		pick: (*loader).pickCalls, add: (*loader).addCalls,
	},
	{
		name: graphTable, kind: event.Graph, gpu: true, required: spanColumns, optional: gpuColumns,
		pick: (*loader).pickReplays, add: (*loader).addReplays,
	},
	{
		name: kernelTable, kind: event.Kernel, gpu: true, required: spanColumns,
		optional: slices.Concat(gpuColumns, []string{"shortName", "demangledName", "mangledName"}),
		pick:     (*loader).pickTimed, add: (*loader).addKernels,
	},
	{
		name: memcpyTable, kind: event.Memcpy, gpu: true, required: spanColumns, optional: slices.Concat(gpuColumns, []string{"bytes", "copyKind", "srcKind", "dstKind"}),
		pick: (*loader).pickTimed, add: (*loader).addCopies,
	},
	{
		name: memsetTable, kind: event.Memset, gpu: true, required: spanColumns, optional: slices.Concat(gpuColumns, []string{"bytes"}),
		pick: (*loader).pickTimed, add: (*loader).addFills,
	},
	{
		name: syncTable, kind: event.Sync, gpu: true, required: spanColumns, optional: slices.Concat(gpuColumns, []string{"syncType"}),
		pick: (*loader).pickTimed, add: (*loader).addSyncs,
	},
	{
		name: profilerTable, kind: event.Overhead, required: spanColumns, optional: callColumns,
		pick: (*loader).pickTimed, add: (*loader).addOverheads,
	},
	{
		name: overheadTable, kind: event.Overhead, required: spanColumns, optional: slices.Concat(callColumns, []string{"overheadType"}),
		pick: (*loader).pickTimed, add: (*loader).addCUPTIOverheads,
	},
	{
		name: osTable, kind: event.OS, host: true, required: threadColumns, optional: []string{"nameId", "eventClass"},
		pick: (*loader).pickOSCalls, add: (*loader).addOSCalls,
	},
	{
		name: syscallTable, kind: event.OS, host: true, required: threadColumns, optional: []string{"nameId", "eventClass"},
		pick: (*loader).pickOSCalls, add: (*loader).addOSCalls,
	},
	{
		name: schedTable, kind: event.Run, host: true, required: []string{"start", "isSchedIn", "globalTid"}, optional: []string{"cpu"},
		pick: (*loader).pickSwitches, add: (*loader).addSwitches,
	},
	{
		name: sampleTable, kind: event.Sample, host: true, stacks: "SAMPLING_CALLCHAINS", required: []string{"start", "globalTid"},
		optional: []string{"id", "threadState", "cpuCycles"}, pick: (*loader).pickSamples, add: (*loader).addSamples,
	},
	{
		name: osTable, kind: event.Backtrace, host: true, stacks: "OSRT_CALLCHAINS", required: stackColumns, optional: []string{"eventClass"},
		pick: (*loader).pickBacktraces, add: (*loader).addBacktraces,
	},
	{
		name: syscallTable, kind: event.Backtrace, host: true, stacks: "SYSCALL_CALLCHAINS", required: stackColumns, optional: []string{"eventClass"},
		pick: (*loader).pickBacktraces, add: (*loader).addBacktraces,
	},
	{
		name: runtimeTable, kind: event.Backtrace, host: true, stacks: cudaStacksTable, required: stackColumns, optional: []string{"eventClass"},
		pick: (*loader).pickBacktraces, add: (*loader).addBacktraces,
	},
}

// infoTables are the other tables that are read: names, and what the export says about
// itself. Their readers name the columns.
var infoTables = []string{stringsTable, exportTable, oldExportTable, captureTable, sessionTable, diagnosticTable, gpuTable, deviceTable, systemTable}

// known reports whether a table is read.
func known(name string) bool {
	return slices.Contains(infoTables, name) || slices.ContainsFunc(eventTables, func(t table) bool { return t.name == name || t.stacks == name })
}

// in reports whether an export with these columns has the table with all required
// columns.
func (t *table) in(columns map[string][]string) bool {
	return !slices.ContainsFunc(t.required, func(c string) bool { return !slices.Contains(columns[t.name], c) })
}

// isWork reports whether rows of the table make their process a rank.
func (t *table) isWork() bool { return t.kind == event.Kernel || t.kind == event.Graph }

// tagOf returns the first index of a table in eventTables.
func tagOf(name string) int {
	return slices.IndexFunc(eventTables, func(t table) bool { return t.name == name })
}

// columns returns all columns of the table that are read.
func (t *table) columns() []sqlite.Column {
	return slices.Concat(ints(t.required...), ints(t.optional...), textColumns(t.textColumns...))
}

// ints returns integer columns with these names.
func ints(names ...string) []sqlite.Column { return typed(sqlite.Int, names) }

// textColumns returns text columns with these names.
func textColumns(names ...string) []sqlite.Column { return typed(sqlite.Text, names) }

// typed returns columns of one type with these names.
func typed(t sqlite.Type, names []string) []sqlite.Column {
	columns := make([]sqlite.Column, len(names))
	for i, name := range names {
		columns[i] = sqlite.Column{Name: name, Type: t}
	}
	return columns
}

// isExport reports whether any table of an export exists. A non-lazy export has them
// all. A lazy one of a recording that caught nothing has no tables of events.
func isExport(columns map[string][]string) bool {
	for name := range columns {
		if known(name) {
			return true
		}
	}
	return false
}

// nvprofTables are tables that nvprof databases have, with or without rows, and exports
// do not.
var nvprofTables = []string{"StringTable", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"}

// isNvprof reports whether a database is nvprof's: it has both of nvprofTables, or one
// of them and no table of strings, which every export has. Tables of calls, copies and
// kernels prove nothing: nvprof makes them under the same names, most of them empty.
func isNvprof(columns map[string][]string) bool {
	has := func(name string) bool { _, ok := columns[name]; return ok }
	both := has(nvprofTables[0]) && has(nvprofTables[1])
	return both || (has(nvprofTables[0]) || has(nvprofTables[1])) && !has(stringsTable)
}
