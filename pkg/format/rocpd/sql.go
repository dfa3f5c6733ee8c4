package rocpd

// tables are the tables of a recording that are read, with their columns; ? marks a
// column that older versions lack.
var tables = map[string]string{
	"info_node":          "hash",
	"info_process":       "id pid init",
	"info_thread":        "id tid",
	"info_agent":         "id type type_index product_name model_name",
	"info_kernel_symbol": "id display_name kernel_name",
	"string":             "id string",
	"event":              "id category_id stack_id extdata",
	"region":             "pid tid start end name_id event_id",
	"kernel_dispatch":    "pid start end event_id stream_id queue_id kernel_id agent_id graph_node_id?",
	"memory_copy":        "pid start end event_id stream_id queue_id name_id dst_agent_id src_agent_id size graph_node_id?",
	"metadata":           "tag value",
}

// The columns of rowsQuery.
const (
	colProcess = iota // id in rocpd_info_process
	colStart
	colEnd
	colKind        // aRegion, aCopy or aKernel
	colName        // id in rocpd_string or, of a kernel, in rocpd_info_kernel_symbol
	colCategory    // of a region, id in rocpd_string
	colCorrelation // null if there is none
	colWhere       // thread, or stream of GPU rows
	colDevice
	colBytes
	colNode // graph node, null or 0 for none
	colLaunchStart
	colLaunchEnd
	colLaunchThread
	colLaunchName // id in rocpd_string
	colMessage    // of a range
	numColumns
)

// The values of colKind.
const (
	aRegion = iota
	aKernel
	aCopy
)

// rowsQuery returns the rows of a recording in stream order, GPU rows with the call
// that launched them: the first with the row's correlation. ID stands for the
// recording's ending, CALLS for the categories of calls and NODE for the column of
// graph nodes.
const rowsQuery = `
WITH host AS (
	SELECT r.pid p, r.start s, r.end e, r.name_id n, v.category_id c, v.stack_id k, coalesce(t.tid, r.tid) w,
		CASE WHEN v.category_id NOT IN (CALLS) AND json_valid(v.extdata) THEN json_extract(v.extdata, '$.message') END m
	FROM "rocpd_regionID" r LEFT JOIN "rocpd_eventID" v ON v.id = r.event_id LEFT JOIN "rocpd_info_threadID" t ON t.id = r.tid
), call AS (
	SELECT p, k, min(s) s, e, w, n FROM host WHERE c IN (CALLS) AND k <> 0 GROUP BY p, k
), gpu AS (
	SELECT d.pid p, d.start s, d.end e, 1 y, d.kernel_id n, d.event_id v, coalesce(d.stream_id, d.queue_id) w,
		coalesce(a.type_index, d.agent_id) g, NULL b, NODE x
	FROM "rocpd_kernel_dispatchID" d LEFT JOIN "rocpd_info_agentID" a ON a.id = d.agent_id
	UNION ALL
	SELECT d.pid, d.start, d.end, 2, d.name_id, d.event_id, coalesce(d.stream_id, d.queue_id),
		CASE WHEN a.type = 'GPU' THEN coalesce(a.type_index, a.id) ELSE coalesce(o.type_index, o.id) END, d.size, NODE
	FROM "rocpd_memory_copyID" d LEFT JOIN "rocpd_info_agentID" a ON a.id = d.dst_agent_id LEFT JOIN "rocpd_info_agentID" o ON o.id = d.src_agent_id
)
SELECT p, s, e, 0, n, c, nullif(k, 0), w, NULL, NULL, NULL, NULL, NULL, NULL, NULL, m FROM host
UNION ALL
SELECT gpu.p, gpu.s, gpu.e, gpu.y, gpu.n, NULL, nullif(v.stack_id, 0), gpu.w, gpu.g, gpu.b, gpu.x, call.s, call.e, call.w, call.n, NULL
FROM gpu LEFT JOIN "rocpd_eventID" v ON v.id = gpu.v LEFT JOIN call ON call.k = v.stack_id AND +call.p = gpu.p
ORDER BY 1, 2, 3 DESC, 4, 7`
