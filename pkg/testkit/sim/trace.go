package sim

import (
	"cmp"
	"errors"
	"strings"
)

// Trace is one run as the profiler saw it, in neutral rows from which an export of any
// version can be written. Times are nanoseconds since the session began, and may be
// negative. The zero value is an empty trace. A Trace must be used by one goroutine.
type Trace struct {
	Session   Session   // its clock
	Capture   Capture   // how it was recorded
	Processes []Process // rows refer to them by index
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

// Session is when the recording began, and how the export shifted its clock.
type Session struct {
	UTC         int64 // utcEpochNs, since 1970; 0: the export has no session start
	SystemClock int64 // systemClockNs, written from schema 3.24.14 on
	Shift       int64 // nsys export --ts-shift: added to every time written
	Normalize   bool  // nsys export --ts-normalize: UTC added to every time written
}

// Capture is what an export says about the recording itself.
type Capture struct {
	// GraphMode is "Graph" or "Node" as in CUDA_GRAPH_TRACE_OPTIONS:MODE, or "" if the
	// export does not say.
	GraphMode string
	// Secret is planted wherever real exports contain what must never leave them:
	// environment, command line, host, user and process names, file paths, captured
	// output, and strings that no event refers to.
	Secret string
}

// Process is one recorded process. Rows refer to it by its index.
type Process struct {
	PID    uint32 // 24 bits
	HW, VM uint8  // upper 16 bits of its ids; from HW 128 on, ids are negative in SQLite
	Name   string // name of the process and its main thread; "": python3
}

// globalPid returns the id that GPU rows carry.
func (p Process) globalPid() int64 {
	return int64(uint64(p.HW)<<56 | uint64(p.VM)<<48 | uint64(p.PID&0xFFFFFF)<<24)
}

// globalTid returns the id that host rows of a thread carry.
func (p Process) globalTid(tid uint32) int64 { return p.globalPid() | int64(tid&0xFFFFFF) }

// GPU is one device of the machine.
type GPU struct {
	ID   int32  // CUDA device number
	Name string // as the driver reports it
}

// StringID is the id of an interned string; 0 is none.
type StringID uint32

// NameID is the id of a kernel's names; 0 is none.
type NameID uint32

type internedString struct {
	text   string
	stored bool // in StringIds; a literal NVTX text is not
}

type kernelName struct{ short, demangled StringID }

// Work is what all rows of GPU work have in common.
type Work struct {
	Start, End int64  // ns; both 0 for a replay that was not collected
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

// Replay is one graph that ran, recorded as a whole without its kernels.
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

// TextForm is the column in which an NVTX row has its text.
type TextForm uint8

// The columns.
const (
	Registered TextForm = iota // textId
	Literal                    // text
	JSON                       // jsonText, as its message
)

// NVTXEvent is one NVTX row: a range, a mark, a domain.
type NVTXEvent struct {
	Start   int64    // ns
	End     int64    // ns; ignored if Open
	RangeID uint64   // rangeId of a start/end range; 0: NULL
	Text    StringID // 0: none
	Domain  uint32   // domainId; 0: the default one
	Process int32    // index in Trace.Processes
	TID     uint32   // thread id
	EndTID  uint32   // thread that ended a start/end range; 0: TID
	Kind    NVTXKind // eventType
	Form    TextForm // column of the text
	Open    bool     // it has no end: a mark, a domain, a range that was never closed
}

// Sync is one wait as CUPTI records it, in addition to the API call with the same Corr.
type Sync struct {
	Work
	Kind uint8 // 1 event, 2 stream waits for event, 3 stream, 4 context
}

// Overhead is time spent by the profiler. It is written to PROFILER_OVERHEAD or, with
// CUPTI and from schema 3.24.14 on, to CUPTI_ACTIVITY_KIND_OVERHEAD.
type Overhead struct {
	Start, End int64    // ns
	Name       StringID // what it was spent on
	Process    int32    // index in Trace.Processes
	TID        uint32   // thread id
	Kind       uint8    // ENUM_CUPTI_OVERHEAD_TYPE
	CUPTI      bool     // reported by CUPTI, not by nsys
}

// AddProcess adds a process and returns its index.
func (t *Trace) AddProcess(p Process) int32 {
	p.Name = cmp.Or(p.Name, "python3")
	t.Processes = append(t.Processes, p)
	return int32(len(t.Processes) - 1)
}

// String interns a string that the export keeps in StringIds.
func (t *Trace) String(s string) StringID {
	id := t.intern(s)
	t.strings[id-1].stored = true
	return id
}

// LiteralText interns a string that only NVTX rows of form Literal or JSON use. These
// rows contain it, so it is not in StringIds.
func (t *Trace) LiteralText(s string) StringID { return t.intern(s) }

// intern returns the id of a string. Ids are assigned in the order of first use, which is
// the order of StringIds: so equal runs give equal bytes.
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

// Text returns the string with an id, "" for 0.
func (t *Trace) Text(id StringID) string {
	if id == 0 {
		return ""
	}
	return t.strings[id-1].text
}

// KernelName interns the names of a kernel. An empty short name is derived from the
// demangled one. An empty demangled name is made up around the short one.
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

// KernelText returns the short and the demangled name with an id, both "" for 0.
func (t *Trace) KernelText(id NameID) (short, demangled string) {
	if id == 0 {
		return "", ""
	}
	n := t.names[id-1]
	return t.Text(n.short), t.Text(n.demangled)
}

// unnamed removes anonymous namespaces, as compilers write them.
var unnamed = strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "")

// shortKernelName removes return type, namespaces, template arguments and parameters.
func shortKernelName(demangled string) string {
	s := unnamed.Replace(strings.TrimPrefix(demangled, "void "))
	if i := strings.IndexAny(s, "<("); i > 0 {
		s = s[:i]
	}
	return s[strings.LastIndexByte(s, ':')+1:]
}

// Rows returns the number of kernels, replays, copies, memsets, calls, ranges, waits and
// overheads. Rows of the operating system and samples do not count.
func (t *Trace) Rows() int {
	return t.Kernels.Len() + t.Replays.Len() + t.Copies.Len() + t.Fills.Len() +
		t.Calls.Len() + t.NVTX.Len() + t.Syncs.Len() + t.Overheads.Len()
}

// err returns the errors for which rows could not be kept.
func (t *Trace) err() error {
	return errors.Join(t.Kernels.err, t.Replays.err, t.Copies.err, t.Fills.err, t.Calls.err, t.NVTX.err,
		t.Syncs.err, t.Overheads.err, t.Switches.err, t.OSCalls.err, t.Samples.err)
}
