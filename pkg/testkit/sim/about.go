package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// about writes what an export says about the session, the target and itself. These are
// all the places where a real export may contain secrets.
func (e *exporter) about() {
	if e.opt.Reduced {
		return
	}
	e.process()
	e.session()
	e.gpus()
	e.contexts()
	e.system()
	e.diagnostics()
	e.output()
	e.enums()
	e.capture()
	e.metadata()
}

// secret returns the planted text, or "x" without one.
func (e *exporter) secret() string {
	return cmp.Or(e.trace.Capture.Secret, "x")
}

// process writes the names of processes and their main threads, with the secret in both.
func (e *exporter) process() {
	var processes, threads [][]any
	for _, p := range e.trace.Processes {
		name := e.withSecret(p.Name)
		processes = append(processes, []any{p.globalPid(), int64(p.PID), name})
		threads = append(threads, []any{int64(e.trace.String(name)), int64(20), p.globalTid(p.PID)})
	}
	e.small(tableProcess, "globalPid pid name", processes...)
	e.small(tableThread, "nameId priority globalTid", threads...)
}

// withSecret returns a process's name with the secret as an argument, as on a command
// line.
func (e *exporter) withSecret(name string) string {
	if e.trace.Capture.Secret == "" {
		return name
	}
	return name + " --user=" + e.trace.Capture.Secret
}

// session writes when the recording began, if that is known, and how long it took.
func (e *exporter) session() {
	s := e.trace.Session
	if s.UTC != 0 {
		e.small(tableSession, "utcEpochNs utcTime localTime systemClockNs", []any{s.UTC, clockText(s.UTC), clockText(s.UTC), s.SystemClock})
	}
	// From 2026 on, start and stop are on another clock: readers must not use them to cut
	// events.
	start, end := e.trace.span()
	if !e.opt.Schema.before(Schema3_24_14) {
		start, end = start+s.SystemClock, end+s.SystemClock
	}
	e.small(tableDetails, "globalVid duration startTime stopTime", []any{int64(1) << 48, end - start, start, end})
}

// gpus writes the devices, and which process used which. The latter has a table of its
// own before 2022 and since 2025, and none in between.
func (e *exporter) gpus() {
	var gpus, old, now [][]any
	for _, g := range e.trace.GPUs {
		id := int64(g.ID)
		gpus = append(gpus, []any{int64(1) << 48, id, id, id, g.Name, fmt.Sprintf("0000:%02x:00.0", 3+id),
			int64(50 << 20), int64(80 << 30), int64(132), int64(1)})
	}
	e.small(tableGPU, "vmId id deviceId cuDevice name busLocation l2CacheSize totalMemory smCount isDiscrete", gpus...)
	for _, u := range e.deviceUses() {
		id, pid := int64(u.device), int64(u.pid)
		old, now = append(old, []any{id, pid}), append(now, []any{id, id, pid})
	}
	if len(gpus) > 0 || e.opt.EmptyTables {
		e.small(tableOldGPU, "deviceId pid", old...)
		e.small(tableDevice, "gpuId cudaId pid", now...)
	}
}

// deviceUse is one process that ran kernels on one device, in one context.
type deviceUse struct {
	process int32
	pid     uint32
	device  int32
	context uint32
}

// deviceUses returns the uses of devices, in the order of first use.
func (e *exporter) deviceUses() []deviceUse {
	var uses []deviceUse
	var last deviceUse
	add := func(process, device int32, context uint32) {
		u := deviceUse{process, e.trace.Processes[process].PID, device, context}
		if u != last && !slices.Contains(uses, u) {
			uses = append(uses, u)
		}
		last = u
	}
	for k := range e.trace.Kernels.All() {
		add(k.Process, k.Device, k.Context)
	}
	for r := range e.trace.Replays.All() {
		add(r.Process, r.Device, r.Context)
	}
	return uses
}

// contexts writes the CUDA contexts, from which readers learn the default stream. The
// table was renamed in 2024.
func (e *exporter) contexts() {
	var rows [][]any
	for _, u := range e.deviceUses() {
		p := e.trace.Processes[u.process]
		rows = append(rows, []any{int64(7), int64(p.HW), int64(p.VM), int64(p.PID), int64(u.device), int64(u.context)})
	}
	e.small(tableContext, "nullStreamId hwId vmId processId deviceId contextId", rows...)
	e.small(tableNullStream, "streamId hwId vmId processId deviceId contextId", rows...)
}

// system writes the description of the machine. Its name and the environment must not
// appear in any output.
func (e *exporter) system() {
	var rows [][]any
	for _, r := range []struct {
		name  string
		id    int64
		value string
	}{
		{"CpuCores", 1, "96"},
		{"CpuArchitecture", 3, "x86_64"},
		{"Hostname", 120, e.secret()},
		{"EnvironmentVariables", 121, "HF_TOKEN=" + e.secret()},
		{"OsDescription", 605, "Ubuntu 24.04 LTS"},
	} {
		rows = append(rows, []any{int64(1) << 48, "Local (CLI)", r.name, r.id, r.value})
	}
	e.small(tableSystem, "globalVid devStateName name nameEnum value", rows...)
}

// diagnostics writes messages of the profiler; one contains the secret.
func (e *exporter) diagnostics() {
	says := func(text string) []any { return []any{e.offset, int64(2), int64(2), int64(1), text} }
	e.small(tableDiagnostic, "timestamp timestampType source severity text",
		says(fmt.Sprintf("Number of CUPTI events produced: %d, CUPTI buffers: 3.", e.trace.Rows())),
		says("Process was launched by "+e.secret()))
}

// output writes the captured standard output. Its text is among the strings that name
// kernels and ranges.
func (e *exporter) output() {
	if len(e.trace.Processes) == 0 {
		return
	}
	file := int64(e.trace.String("/home/" + e.secret() + "/pid_stdout.log"))
	content := int64(e.trace.String("logged in with token " + e.secret()))
	e.small(tableOutput, "globalPid filenameId contentId", []any{e.trace.Processes[0].globalPid(), file, content})
}

// enums writes the names of numbers. Kinds of waits are written only if there are waits,
// or the export is not lazy.
func (e *exporter) enums() {
	const columns = "id name label"
	e.small(tableEventClass, columns,
		[]any{int64(0), "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
		[]any{int64(1), "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"})
	var kinds [][]any
	for i, s := range []string{"UNKNOWN", "EVENT", "STREAM_WAIT_EVENT", "STREAM", "CONTEXT"} {
		kinds = append(kinds, []any{int64(i), "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" + s, s})
	}
	if e.trace.Syncs.Len() > 0 || e.opt.EmptyTables {
		e.small(tableSyncKind, columns, kinds...)
	}
}

// pair is one row of a table of metadata.
type pair struct{ name, value string }

// pairs writes a table of metadata.
func (e *exporter) pairs(t table, rows []pair) {
	var all [][]any
	for _, r := range rows {
		all = append(all, []any{r.name, r.value})
	}
	e.small(t, "name value", all...)
}

// capture writes META_DATA_CAPTURE: how the run was recorded, with the command line and
// the environment of the process.
func (e *exporter) capture() {
	rows := []pair{
		{"CAPTURE_EVENT_TYPE", "NvtxEvents"},
		{"CAPTURE_EVENT_TYPE", "Cuda"},
		{"CUDA_SKIP_SOME_API_CALLS", "true"},
		{"DEVICE_DISPLAY_NAME", e.secret()},
	}
	if mode := e.trace.Capture.GraphMode; mode != "" {
		key := "CUDA_GRAPH_TRACE_OPTIONS:MODE"
		if e.opt.Schema.before(Schema3_24_14) {
			key = "PROCESS_0:" + key
		}
		rows = append(rows, pair{key, mode})
	}
	rows = append(rows,
		pair{"PROCESS_0:COMMAND", "trtllm-bench"},
		pair{"PROCESS_0:ARGUMENT_0", "--api-key"},
		pair{"PROCESS_0:ARGUMENT_1", e.secret()},
		pair{"PROCESS_0:ENVIRONMENT_VARIABLE", "HF_TOKEN=" + e.secret()},
		pair{"PROCESS_0:ENVIRONMENT_VARIABLE", "USER=" + e.secret()},
		pair{"PROCESS_0:WORKING_DIRECTORY", "/home/" + e.secret()},
	)
	e.pairs(tableCapture, rows)
}

// metadata writes META_DATA_EXPORT, or EXPORT_META_DATA before 3.4.0.
func (e *exporter) metadata() {
	s := e.opt.Schema
	rows := []pair{
		{"EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"},
		{"EXPORT_PRODUCT_VERSION", s.product()},
		{"EXPORT_SCHEMA_VERSION", s.String()},
		{"EXPORT_SCHEMA_VERSION_MAJOR", strconv.Itoa(s.Major)},
		{"EXPORT_SCHEMA_VERSION_MINOR", strconv.Itoa(s.Minor)},
		{"EXPORT_SCHEMA_VERSION_MICRO", strconv.Itoa(s.Micro)},
		{"EXPORT_HOST", e.secret()},
		{"EXPORT_USER", e.secret()},
		{"EXPORT_PARAM_INPUT_FILE", e.secret() + ".nsys-rep"},
	}
	if !s.before(Schema3_4_0) {
		rows = append(rows,
			pair{"EXPORT_PARAM_LAZY", strconv.FormatBool(!e.opt.EmptyTables)},
			pair{"EXPORT_PARAM_TIME_NORMALIZE", strconv.FormatBool(e.trace.Session.Normalize)},
			pair{"EXPORT_PARAM_TIME_SHIFT", strconv.FormatInt(e.trace.Session.Shift, 10)},
		)
	}
	e.pairs(tableExportOld, rows)
	e.pairs(tableExport, rows)
}

// jsonMessage returns the jsonText of a range that has its text only there.
func jsonMessage(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("BUG: a string has no JSON form: " + err.Error())
	}
	return `{"message":` + string(quoted) + `,"payload":null}`
}
