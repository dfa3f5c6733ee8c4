package sim

// Comments in CREATE TABLE. Commas and brackets in them challenge readers that parse it.
const (
	nvtxStart  = "Event start timestamp (ns)."
	nvtxString = "REFERENCES StringIds(id) -- a name, or other text"
	nvtxID     = "Serialized GlobalId."
	nvtxCorr   = "REFERENCES CUPTI_ACTIVITY_KIND_RUNTIME(correlationId), if the call was recorded"
)

// startEnd returns the columns that begin every table of events, in ns.
func startEnd() columns {
	return join(must("start", i64).says(nvtxStart), must("end", i64).says("Event end timestamp (ns)."))
}

// gpuColumns returns the columns that begin every table of GPU work.
func gpuColumns() columns {
	return join(startEnd(),
		must("deviceId", u32).says("Device ID."),
		must("contextId", u32).extra(),
		maybe("greenContextId", u32).from(Schema3_16_1).extra(),
		must("streamId", u32).says("Stream ID."),
		maybe("correlationId", u32).says(nvtxCorr),
		maybe("globalPid", u64).says(nvtxID).extra(),
	)
}

var tableStrings = table{name: "StringIds", columns: join(
	must("id", u32).primary().says("ID reference value."),
	must("value", str).says("String value."),
)}

var tableKernel = table{name: "CUPTI_ACTIVITY_KIND_KERNEL", columns: join(gpuColumns(),
	must("demangledName shortName", u32).says(nvtxString),
	maybe("mangledName", u32).from(Schema2_9_1).extra(),
	maybe("launchType cacheConfig", u8).extra(),
	must("registersPerThread", u16).extra(),
	must("gridX gridY gridZ blockX blockY blockZ", u32),
	must("staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal", u32).extra(),
	must("gridId", i64).extra(),
	maybe("sharedMemoryExecuted", u32).extra(),
	maybe("graphNodeId", u64).says("REFERENCES CUDA_GRAPH_NODE_EVENTS(graphNodeId)").extra(),
	maybe("sharedMemoryLimitConfig", u8).from(Schema2_9_1).extra(),
	maybe("qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone", i64).from(Schema3_24_14).extra(),
	maybe("graphId clusterX clusterY clusterZ clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters", u32).from(Schema3_24_14).extra(),
	maybe("sharedMemoryRequestedPercentage", u8).from(Schema3_24_14).extra(),
	must("tensorSizeMinusOneElements", str).from(Schema3_25_0).extra(),
)}

var tableReplay = table{name: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns: join(gpuColumns(),
	must("graphId", u32).says("REFERENCES CUDA_GRAPH_EVENTS(graphId)"),
	must("graphExecId", u32).says("REFERENCES CUDA_GRAPH_EVENTS(graphExecId)"),
)}

var tableCopy = table{name: "CUPTI_ACTIVITY_KIND_MEMCPY", columns: join(gpuColumns(),
	must("bytes", u64).says("Number of bytes transferred (B)."),
	must("copyKind", u8).says("REFERENCES ENUM_CUDA_MEMCPY_OPER(id)"),
	maybe("deprecatedSrcId", u32).extra(),
	maybe("srcKind dstKind", u8).extra(),
	maybe("srcDeviceId srcContextId dstDeviceId dstContextId", u32).extra(),
	maybe("migrationCause", u8).from(Schema2_9_1).extra(),
	maybe("graphNodeId", u64).extra(),
	maybe("virtualAddress", u64).from(Schema2_9_1).extra(),
	maybe("copyCount", u64).from(Schema3_24_14).extra(),
)}

var tableFill = table{name: "CUPTI_ACTIVITY_KIND_MEMSET", columns: join(gpuColumns(),
	must("value", u32),
	must("bytes", u64),
	maybe("graphNodeId", u64).extra(),
	maybe("memKind", u8).extra(),
)}

var tableSync = table{name: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns: join(gpuColumns(),
	maybe("deprecatedSyncType", u8).from(Schema3_24_14).extra(),
	must("syncType", u8).says("REFERENCES ENUM_CUPTI_SYNC_TYPE(id)"),
	must("eventId", u32),
	maybe("eventSyncId", u64).from(Schema3_24_14).extra(),
)}

var tableCall = table{name: "CUPTI_ACTIVITY_KIND_RUNTIME", columns: join(startEnd(),
	must("eventClass", u8).says("REFERENCES ENUM_NSYS_EVENT_CLASS(id)").extra(),
	maybe("globalTid", u64).says(nvtxID),
	maybe("correlationId", u32).says("ID used to identify events that this function call has triggered."),
	must("nameId", u32).says("REFERENCES StringIds(id) -- Function's name"),
	must("returnValue", i32).extra(),
	maybe("callchainId", u32).from(Schema2_9_1).extra(),
)}

var tableNVTX = table{name: "NVTX_EVENTS", columns: join(
	must("eventId", i64).primary().from(Schema3_28_1),
	must("start", i64).says(nvtxStart),
	maybe("end", i64).says("Event end timestamp (ns)."),
	must("eventType", u8).says("REFERENCES ENUM_NSYS_EVENT_TYPE(id)"),
	maybe("rangeId", u64).says("Correlation ID returned from a nvtxRangeStart call."),
	maybe("category", u32),
	maybe("color", u32).says("Encoded ARGB color value."),
	maybe("text", str).says("Explicit name/text (non-registered string)"),
	maybe("globalTid endGlobalTid", u64).says(nvtxID),
	maybe("textId", u32).says(nvtxString),
	maybe("domainId uint64Value", u64),
	maybe("int64Value", i64), maybe("doubleValue", f64), maybe("uint32Value", u32), maybe("int32Value", i32), maybe("floatValue", f64),
	maybe("jsonTextId", u32), maybe("jsonText", str),
	maybe("binaryData", str).from(Schema3_16_1),
)}

var tableProfilerOverhead = table{name: "PROFILER_OVERHEAD", columns: join(startEnd(),
	maybe("globalTid", u64),
	maybe("correlationId", u32).until(Schema2_9_1),
	must("nameId", u32).says(nvtxString),
	must("returnValue", i32).until(Schema3_24_14),
	must("overheadType", u8).from(Schema3_24_14).says("REFERENCES ENUM_CUPTI_OVERHEAD_TYPE(id)"),
)}

var tableCuptiOverhead = table{name: "CUPTI_ACTIVITY_KIND_OVERHEAD", since: Schema3_24_14, columns: join(startEnd(),
	must("eventClass", u8),
	maybe("globalTid", u64),
	maybe("correlationId", u32),
	maybe("nameId", u32).says(nvtxString),
	must("overheadType", u8),
)}

var tableProcess = table{name: "PROCESSES", since: Schema2_9_1, columns: join(maybe("globalPid", u64), maybe("pid", u32), maybe("name", str))}

var tableThread = table{name: "ThreadNames", columns: join(must("nameId", u32), maybe("priority", u32), maybe("globalTid", u64))}

var tableOutput = table{name: "ProcessStreams", columns: join(must("globalPid", u64), must("filenameId contentId", u32))}

var tableSession = table{name: "TARGET_INFO_SESSION_START_TIME", columns: join(
	maybe("utcEpochNs", i64), maybe("utcTime localTime", str), maybe("systemClockNs", i64).from(Schema3_24_14),
	maybe("sessionStartCntVctNs", i64).from(Schema3_28_1),
)}

var tableDetails = table{name: "ANALYSIS_DETAILS", columns: join(must("globalVid", u64), must("duration startTime stopTime", i64))}

var tableGPU = table{name: "TARGET_INFO_GPU", columns: join(
	must("vmId", u64), must("deviceId", u32).until(Schema2_9_1), must("id", u32).from(Schema2_9_1), maybe("name busLocation", str),
	maybe("isDiscrete", u8), maybe("l2CacheSize totalMemory", u64).from(Schema2_9_1), maybe("smCount", u32).from(Schema2_9_1),
	maybe("uuid", str).from(Schema2_9_1), maybe("cuDevice", u32).from(Schema2_9_1), maybe("numaNodeId", i32).from(Schema3_28_1),
)}

var tableOldGPU = table{name: "TARGET_INFO_CUDA_GPU", till: Schema2_9_1, columns: join(must("deviceId pid", u32), maybe("name", str))}

var tableDevice = table{name: "TARGET_INFO_CUDA_DEVICE", since: Schema3_20_3, columns: join(
	maybe("gpuId", u32), must("cudaId pid", u32), maybe("uuid", str).from(Schema3_24_14),
	maybe("numMultiprocessors", u32).from(Schema3_24_14),
)}

var tableContext = table{name: "TARGET_INFO_CUDA_CONTEXT_INFO", since: Schema3_16_1, columns: join(
	must("nullStreamId hwId vmId processId deviceId contextId", u32), maybe("parentContextId", u32), maybe("isGreenContext", u8),
	maybe("numMultiprocessors", u32).from(Schema3_24_14),
)}

var tableNullStream = table{name: "TARGET_INFO_CUDA_NULL_STREAM", till: Schema3_16_1, columns: join(
	must("streamId hwId vmId processId deviceId contextId", u32),
)}

var tableSystem = table{name: "TARGET_INFO_SYSTEM_ENV", columns: join(
	maybe("globalVid", u64), must("devStateName name", str), must("nameEnum", u32), must("value", str),
)}

var tableDiagnostic = table{name: "DIAGNOSTIC_EVENT", since: Schema3_16_1, columns: join(
	must("timestamp", i64),
	must("timestampType source severity", u8),
	must("text", str).says("Diagnostic message text"), maybe("globalPid", u64),
)}

var (
	tableExportOld = metaTable("EXPORT_META_DATA", Schema2_9_1, Schema3_4_0)
	tableExport    = metaTable("META_DATA_EXPORT", Schema3_4_0, Schema{})
	tableCapture   = metaTable("META_DATA_CAPTURE", Schema3_4_0, Schema{})
)

// metaTable returns a table of names and values.
func metaTable(name string, since, till Schema) table {
	return table{name: name, since: since, till: till, columns: join(
		must("name", str).says("Name of meta-data record"), maybe("value", str).says("Value of meta-data record"),
	)}
}

var (
	tableEventClass = enumTable("ENUM_NSYS_EVENT_CLASS")
	tableSyncKind   = enumTable("ENUM_CUPTI_SYNC_TYPE")
)

// enumTable returns a table that names the numbers in columns of other tables.
func enumTable(name string) table {
	return table{name: name, since: Schema2_9_1, columns: join(
		must("id", u32).primary(), maybe("name", str), maybe("label", str),
	)}
}

// idleTables are tables of other kinds of tracing, which are empty in an export that is
// not lazy.
var idleTables = []string{
	"CUDNN_EVENTS", "CUBLAS_EVENTS", "CUDA_GRAPH_EVENTS", "CUDA_GRAPH_NODE_EVENTS",
	"CUDA_UM_CPU_PAGE_FAULT_EVENTS", "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
	"CUDA_GPU_MEMORY_USAGE_EVENTS", "CUDA_CALLCHAINS", "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
	"OPENGL_API", "OPENGL_WORKLOAD", "OSRT_CALLCHAINS", "SLI_QUERIES", "DX12_API", "VULKAN_API",
	"VULKAN_WORKLOAD", "FECS_EVENTS", "GPU_METRICS", "MPI_RANKS", "GENERIC_EVENTS",
}
