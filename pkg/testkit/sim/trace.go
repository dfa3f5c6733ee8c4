package sim

import (
	"cmp"
	"errors"
	"strings"
)

// Trace is one run as the profiler saw it, in neutral rows: what an export of
// any version can be written from. Times are nanoseconds since the session
// began and may be negative. The zero value is an empty trace. A Trace belongs
// to one goroutine.
type Trace struct {
	Session   Session   // its clock
	Capture   Capture   // how it was recorded
	Processes []Process // that rows name by their index
	GPUs      []GPU     // of the machine

	Kernels   List[Kernel]    // CUPTI_ACTIVITY_KIND_KERNEL
	Replays   List[Replay]    // CUPTI_ACTIVITY_KIND_GRAPH_TRACE
	Copies    List[Copy]      // CUPTI_ACTIVITY_KIND_MEMCPY
	Fills     List[Fill]      // CUPTI_ACTIVITY_KIND_MEMSET
	Calls     List[Call]      // CUPTI_ACTIVITY_KIND_RUNTIME
	NVTX      List[NVTXEvent] // NVTX_EVENTS
	Syncs     List[Sync]      // CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
	Overheads List[Overhead]  // PROFILER_OVERHEAD and CUPTI_ACTIVITY_KIND_OVERHEAD

	Switches List[Switch]    // SCHED_EVENTS
	OSCalls  List[OSCall]    // OSRT_API
	Samples  List[CPUSample] // COMPOSITE_EVENTS and SAMPLING_CALLCHAINS

	strings []internedString
	ids     map[string]StringID
	names   []kernelName
	nameIDs map[kernelName]NameID
}

// Session is when the recording began and how the export moved its clock.
type Session struct {
	UTC         int64 // utcEpochNs; 0: the export has no session start
	SystemClock int64 // systemClockNs, written from schema 3.24.14 on
	Shift       int64 // nsys export --ts-shift: added to every time written
	Normalize   bool  // nsys export --ts-normalize: UTC added to every time written
}

// Capture is what an export says about the recording itself.
type Capture struct {
	// GraphMode is "Graph" or "Node" as in CUDA_GRAPH_TRACE_OPTIONS:MODE, or
	// empty: not said.
	GraphMode string
	// Secret is planted wherever real exports keep what must never leave them:
	// environment, command line, host, user and process names, file paths,
	// captured output, strings no event refers to.
	Secret string
}

// Process is one recorded process. Rows name it by its index.
type Process struct {
	PID    uint32 // 24 bits
	HW, VM uint8  // the upper 16 bits of its ids; from HW 128 on the ids are negative in SQLite
	Name   string // of it and its main thread; empty: python3
}

// globalPid is the id that GPU rows carry.
func (p Process) globalPid() int64 {
	return int64(uint64(p.HW)<<56 | uint64(p.VM)<<48 | uint64(p.PID&0xFFFFFF)<<24)
}

// globalTid is the id that host rows carry.
func (p Process) globalTid(tid uint32) int64 { return p.globalPid() | int64(tid&0xFFFFFF) }

// GPU is one device of the machine.
type GPU struct {
	ID   int32  // CUDA device number
	Name string // as the driver gives it
}

// StringID is the id of an interned text; 0 is none.
type StringID uint32

// NameID is the id of a kernel's names; 0 is none.
type NameID uint32

type internedString struct {
	text   string
	stored bool // in StringIds; a literal NVTX text is not
}

type kernelName struct{ short, demangled StringID }

// Work is what all rows of GPU work have.
type Work struct {
	Start, End int64  // ns; of a replay that was not collected both 0
	Node       uint64 // graphNodeId; 0: not from a graph
	Corr       uint32 // correlationId; 0: NULL
	Stream     uint32 // streamId
	Context    uint32 // contextId
	Process    int32  // index in Trace.Processes
	Device     int32  // deviceId
}

// Kernel is one kernel that ran.
type Kernel struct {
	Work
	Name  NameID // short and demangled
	Graph uint32 // graphId, written from schema 3.24.14 on; 0: NULL
}

// Replay is one whole graph that ran, recorded without its kernels.
type Replay struct {
	Work
	Graph, Exec uint32 // graphId, graphExecId
}

// Copy is one memory copy on the GPU.
type Copy struct {
	Work
	Bytes    int64 // copied
	Kind     uint8 // 1 host to device, 2 device to host, 8 device to device
	Pageable bool  // the host's memory is not pinned
}

// Fill is one memset on the GPU.
type Fill struct {
	Work
	Bytes int64 // set
}

// Call is one call of the CUDA runtime or driver.
type Call struct {
	Start, End int64    // ns
	Name       StringID // with its version, as exports write it
	Corr       uint32   // correlationId; 0: NULL
	Process    int32    // index in Trace.Processes
	TID        uint32   // thread id, 24 bits
	Return     int32    // returnValue; 0: success
}

// NVTXKind is the event type of an NVTX row.
type NVTXKind uint8

// The event types that occur.
const (
	NVTXCategory NVTXKind = 33 // names a category
	NVTXMark     NVTXKind = 34 // an instant
	NVTXThread   NVTXKind = 39 // names a thread
	NVTXPushPop  NVTXKind = 59 // a range of one thread
	NVTXStartEnd NVTXKind = 60 // a range that another thread may end
	NVTXDomain   NVTXKind = 75 // names a domain
)

// TextForm is where an NVTX row keeps its text.
type TextForm uint8

// Registered is textId, Literal text, JSON the message inside jsonText.
const (
	Registered TextForm = iota
	Literal
	JSON
)

// NVTXEvent is one NVTX row: a range, a mark, a domain.
type NVTXEvent struct {
	Start   int64    // ns
	End     int64    // ns; of Open notes: ignored
	RangeID uint64   // rangeId of a start/end range; 0: NULL
	Text    StringID // 0: none
	Domain  uint32   // domainId; 0: the default one
	Process int32    // index in Trace.Processes
	TID     uint32   // thread id
	EndTID  uint32   // thread that ended a start/end range; 0: TID
	Kind    NVTXKind // eventType
	Form    TextForm // where the text is kept
	Open    bool     // no end: a mark, a domain, a range that was never closed
}

// Sync is one wait as CUPTI records it, beside the API call with its Corr.
type Sync struct {
	Work
	Kind uint8 // 1 event, 2 stream waits for event, 3 stream, 4 context
}

// Overhead is time the profiler took. It goes to PROFILER_OVERHEAD, or, with
// CUPTI set, from schema 3.24.14 on to CUPTI_ACTIVITY_KIND_OVERHEAD.
type Overhead struct {
	Start, End int64    // ns
	Name       StringID // what it was spent on
	Process    int32    // index in Trace.Processes
	TID        uint32   // thread id
	Kind       uint8    // ENUM_CUPTI_OVERHEAD_TYPE
	CUPTI      bool     // CUPTI says so, not nsys
}

// AddProcess adds a process and returns its index.
func (t *Trace) AddProcess(p Process) int32 {
	p.Name = cmp.Or(p.Name, "python3")
	t.Processes = append(t.Processes, p)
	return int32(len(t.Processes) - 1)
}

// String interns a text that the export keeps in StringIds.
func (t *Trace) String(s string) StringID {
	id := t.intern(s)
	t.strings[id-1].stored = true
	return id
}

// LiteralText interns a text that only NVTX rows of form Literal or JSON use,
// which keep it themselves.
func (t *Trace) LiteralText(s string) StringID { return t.intern(s) }

// intern returns the id of a text. Ids are given in the order of first use, which is that of
// StringIds: so equal runs have equal bytes.
func (t *Trace) intern(s string) StringID {
	if id, ok := t.ids[s]; ok {
		return id
	}
	if t.ids == nil {
		t.ids = make(map[string]StringID)
	}
	t.strings = append(t.strings, internedString{text: s})
	id := StringID(len(t.strings))
	t.ids[s] = id
	return id
}

// Text is the text of an id, empty for 0.
func (t *Trace) Text(id StringID) string {
	if id == 0 {
		return ""
	}
	return t.strings[id-1].text
}

// KernelName interns the names of a kernel. An empty short name is cut out of
// the demangled one, and an empty demangled name made up around the short one.
func (t *Trace) KernelName(short, demangled string) NameID {
	if short == "" {
		short = shortKernelName(demangled)
	}
	demangled = cmp.Or(demangled, "void "+short+"<__nv_bfloat16>(int)")
	key := kernelName{t.String(short), t.String(demangled)}
	if id, ok := t.nameIDs[key]; ok {
		return id
	}
	if t.nameIDs == nil {
		t.nameIDs = make(map[kernelName]NameID)
	}
	t.names = append(t.names, key)
	id := NameID(len(t.names))
	t.nameIDs[key] = id
	return id
}

// KernelText returns the short and the demangled name of an id.
func (t *Trace) KernelText(id NameID) (short, demangled string) {
	if id == 0 {
		return "", ""
	}
	n := t.names[id-1]
	return t.Text(n.short), t.Text(n.demangled)
}

// unnamed are the namespaces without a name, as compilers write them.
var unnamed = strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "")

// shortKernelName drops return type, namespaces, template and call arguments.
func shortKernelName(demangled string) string {
	s := unnamed.Replace(strings.TrimPrefix(demangled, "void "))
	if i := strings.IndexAny(s, "<("); i > 0 {
		s = s[:i]
	}
	return s[strings.LastIndexByte(s, ':')+1:]
}

// Rows is how many kernels, replays, copies, memsets, calls, ranges, waits and
// overheads there are.
func (t *Trace) Rows() int {
	return t.Kernels.Len() + t.Replays.Len() + t.Copies.Len() + t.Fills.Len() +
		t.Calls.Len() + t.NVTX.Len() + t.Syncs.Len() + t.Overheads.Len()
}

// err says why rows could not be kept, if they could not.
func (t *Trace) err() error {
	return errors.Join(t.Kernels.err, t.Replays.err, t.Copies.err, t.Fills.err, t.Calls.err, t.NVTX.err,
		t.Syncs.err, t.Overheads.err, t.Switches.err, t.OSCalls.err, t.Samples.err)
}
