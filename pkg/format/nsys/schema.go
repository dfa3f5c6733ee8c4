package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The tables of an export that are read, by name. FORMAT.md says what is taken
// from which; whatever else an export holds is ignored.
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

// table declares a table of events: the columns that are read of it, and how
// its rows become events. A table is read as soon as it stands in eventTables.
type table struct {
	name string
	kind event.Kind // of the events
	gpu  bool       // rows are of a device and stream; else of a thread
	host bool       // read only for those who want rows of the kind, of threads of ranks
	// stacks is the table of the stacks that the rows have, "" where they have none.
	stacks string

	// required are columns of whole numbers without which the table is not
	// read; those of optional read as null where the export lacks them, as do
	// those of strings.
	required, optional, textColumns []string

	// pick returns the rows of a block that become events, valid until its next
	// call. add appends rows of one process that were picked to its chunk.
	pick func(l *loader, t *task, b *block) []int32
	add  func(l *loader, p *chunk, b *block, rows []int32)
}

// The columns that say when a row began and ended, which device, stream, process
// and launch a GPU row is of, and what a call was.
var (
	spanColumns = []string{"start", "end"}
	gpuColumns  = []string{"globalPid", "deviceId", "streamId", "correlationId", "graphNodeId"}
	callColumns = []string{"globalTid", "correlationId", "nameId"}

	threadColumns = []string{"start", "end", "globalTid"}
	stackColumns  = []string{"start", "end", "globalTid", "callchainId"}
)

// eventTables declares the tables of events, in the order in which rows of equal
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

// infoTables are the other tables that are read: names, and what the export says
// of itself. Those who read them name their columns.
var infoTables = []string{stringsTable, exportTable, oldExportTable, captureTable, sessionTable, diagnosticTable, gpuTable, deviceTable, systemTable}

// known reports whether a table is one of those that are read.
func known(name string) bool {
	return slices.Contains(infoTables, name) || slices.ContainsFunc(eventTables, func(t table) bool { return t.name == name || t.stacks == name })
}

// in reports whether an export with these columns has the table, with all that
// reading it requires.
func (t *table) in(columns map[string][]string) bool {
	return !slices.ContainsFunc(t.required, func(c string) bool { return !slices.Contains(columns[t.name], c) })
}

// isWork reports whether the rows are what makes a process a rank.
func (t *table) isWork() bool { return t.kind == event.Kernel || t.kind == event.Graph }

// tagOf returns the first place of a table in eventTables.
func tagOf(name string) int {
	return slices.IndexFunc(eventTables, func(t table) bool { return t.name == name })
}

// columns are all columns of the table that are read.
func (t *table) columns() []sqlite.Column {
	return slices.Concat(ints(t.required...), ints(t.optional...), textColumns(t.textColumns...))
}

// ints names columns of whole numbers.
func ints(names ...string) []sqlite.Column { return typed(sqlite.Int, names) }

// textColumns names columns of strings.
func textColumns(names ...string) []sqlite.Column { return typed(sqlite.Text, names) }

// typed names columns of one type.
func typed(t sqlite.Type, names []string) []sqlite.Column {
	columns := make([]sqlite.Column, len(names))
	for i, name := range names {
		columns[i] = sqlite.Column{Name: name, Type: t}
	}
	return columns
}

// isExport reports whether any of an export's tables is there. One that is not
// lazy has them all, and a lazy one of a recording that caught nothing has none
// of events.
func isExport(columns map[string][]string) bool {
	for name := range columns {
		if known(name) {
			return true
		}
	}
	return false
}

// nvprofTables are tables that databases of nvprof have, with or without rows, and exports
// have not.
var nvprofTables = []string{"StringTable", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"}

// isNvprof reports whether a database is one of nvprof: it has both of nvprof's tables, or one
// of them and not that of the strings which every export has. Tables of calls, copies and
// kernels say nothing, as nvprof makes those of the same names, too, most of them empty.
func isNvprof(columns map[string][]string) bool {
	has := func(name string) bool { _, ok := columns[name]; return ok }
	both := has(nvprofTables[0]) && has(nvprofTables[1])
	return both || (has(nvprofTables[0]) || has(nvprofTables[1])) && !has(stringsTable)
}
