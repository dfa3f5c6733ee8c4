// Package event is the contract between the filters: the rows that flow from one to the
// next, as plain columns in batches, and the header that precedes them. Packages arrow
// (Arrow IPC) and checkpoint (Parquet) define how they travel; what they mean is
// defined here.
//
// # Rows
//
// One row is one event of a trace: a kernel, a copy, an API call, an NVTX range, and
// rows that later stages add. All times are int64 nanoseconds on one clock for all
// reports of a stream. Fields lists the columns in order.
//
//	kind       what the row is, one of Kinds
//	start,end  ns; end >= start; every span is half-open
//	rank       the process with GPU work that it belongs to, null for other processes
//	device     CUDA device number, GPU rows
//	stream     CUDA stream number, GPU rows
//	thread     thread id, host rows
//	name       kernel short name, API name without version, NVTX text
//	class      what it does, one of Classes
//	correlation         joins launches and GPU work within a process
//	launch_start,_end   ns, the API call that put the GPU row into its queue
//	launch_thread       the thread that made that call
//	graph_node          set if the replay of a CUDA graph ran the row
//	domain     NVTX domain
//	bytes      size of a copy
//	cpu        CPU number, SomeCPU if the number is unknown; rows of kind run;
//	           streams without such rows lack the column
//	stack      functions from the root, joined by ";"; rows of kinds sample and backtrace;
//	           streams without such rows lack the column
//
// isolate adds step, segment and size, and rows of the kinds step and window. phase
// adds phase, ctx and gen. Unknown columns are passed on (Foreign).
//
// The name of a step row is the forward-step marker that the step was launched under
// ("step" if there was none), so that a stage need not look ahead for it. Its start and
// end are the extent of the step; the step's period ends at the next step of its
// segment.
//
// The window row of a rank spans its benchmark window. size is the common size, step
// the number of steps and segment the number of the benchmark segment, null if there is
// none. All three are null if steps turned out not to be identifiable: step rows are
// then void.
//
// # Order
//
// All rows of a rank are contiguous, sorted by start, at equal starts the longer first.
// A step row precedes every row that starts in the step. Window rows are at the very
// end of the stream. Because of this order, each stage after nsys2arrow needs one pass
// and holds at most one period. What a stage needs to know about a row (its step, the
// range that it was launched under, what else ran at that time) was seen before, or
// will be seen before the period ends.
//
// # What a reader does not know
//
// Kinds, classes and columns that a reader does not know are kept and passed on by name
// (AddKind, AddClass, Foreign); analyses ignore them. There is room for MaxKinds kinds
// and MaxClasses classes in total; using more is an error.
//
// # Adding a kind, a class, a column
//
// A kind is added in this file alone: a constant of type Kind with a comment on its
// rows, its name in Kinds, and a bit in gpuKinds if a GPU executes it. Then a source
// may make its rows, and an analysis may look for them. Formats and the other analyses
// need no change, and programs without the constant pass its rows on.
//
// A class is added in the same way, to Class and Classes; pattern tables in packages
// cudaname and marker map names to it. A column needs a constant of type Col, a line in
// Fields, a field in Batch and a line in columnOf (batch.go). It is part of BaseCols
// only if every version 1 stream has it.
package event

import (
	"iter"
	"math"
	"math/bits"
	"slices"
)

// Version is the version of the schema "events". Version 2 added facts about each rank
// (RankFacts) and a hash at the end of a stream. Version 1 can still be read.
const Version = 2

// BatchRows is the number of rows that readers put into a batch. Stages may make
// batches longer by a step; formats write at most MaxBatchRows.
const (
	BatchRows    = 8192
	MaxBatchRows = 65536
)

// Kind is what a row is. Use the constants only: the numbers and their order may differ
// from process to process.
type Kind int32

// The kinds that this program knows. Unknown kinds are numbered after them (AddKind).
const (
	Kernel   Kind = iota // a kernel, also one of a graph replay if its kernels are recorded
	Graph                // the replay of a whole graph, recorded without its kernels
	Memcpy               // a copy by the GPU
	Memset               // memory set by the GPU
	API                  // a call of the CUDA runtime or driver
	Sync                 // a synchronisation as recorded on the GPU side
	NVTX                 // an NVTX range
	Overhead             // time that the profiler itself took
	Step                 // a forward step, added by isolate
	Window               // the benchmark window of a rank, added by isolate

	// What the operating system knows of host threads, if it was recorded.

	OS // a call of an OS library
	// a time during which a thread of any process is on the CPU of column cpu, which is
	// null if it is unknown whether the thread is on one
	Run
	// an instant at which a thread had the stack of column stack; the thread is on a
	// CPU unless the name is PythonSample
	Sample
	// the stack of column stack that a thread had during a call; it may start a little
	// before and end a little after the call
	Backtrace
)

// Kinds are the values of column kind, by their codes.
var Kinds = []string{
	Kernel: "kernel", Graph: "graph", Memcpy: "memcpy", Memset: "memset", API: "api", Sync: "sync",
	NVTX: "nvtx", Overhead: "overhead", Step: "step", Window: "window",
	OS: "os", Run: "run", Sample: "sample", Backtrace: "backtrace",
}

// KindCode returns the kind with that name, -1 if there is none.
func KindCode(name string) Kind { return Kind(slices.Index(Kinds, name)) }

// String is the name of the kind in streams.
func (k Kind) String() string { return name(Kinds, int32(k)) }

// GPUKinds are the kinds of rows that a GPU executed.
var GPUKinds = []Kind{Kernel, Graph, Memcpy, Memset}

const (
	gpuKinds  = 1<<Kernel | 1<<Graph | 1<<Memcpy | 1<<Memset
	copyKinds = 1<<Memcpy | 1<<Memset
)

// IsGPU reports whether rows of the kind were executed by a GPU.
func (k Kind) IsGPU() bool { return uint64(gpuKinds)>>uint32(k)&1 != 0 }

// IsCopy reports whether rows of the kind are copies or memsets.
func (k Kind) IsCopy() bool { return uint64(copyKinds)>>uint32(k)&1 != 0 }

// Class is what a row does. Use the constants only, as with Kind.
type Class int32

// The classes that this program knows. Unknown classes are numbered after them
// (AddClass).
const (
	// Classes of kernels.
	Allreduce   Class = iota
	Comm              // every other collective
	Attention         // attention in any form, and kernels that write its KV cache
	GEMM              // matrix products
	MoE               // experts: routing, permutation, grouped products
	Norm              // normalisations, fused or not
	RoPE              // rotary embeddings
	Activation        // SiLU, GELU and similar functions
	Quant             // quantisation and dequantisation
	Sampling          // from logits to tokens
	Elementwise       // pointwise work, and fills
	Reduce            // reductions that are none of the above
	Copy              // kernels that copy, gather or transpose; not rows of kind Memcpy
	Other             // any other kernel; also of API calls
	// Classes of copies between host and device, if the kind of host memory was
	// recorded.
	Pinned
	Pageable // memory that the driver copies through a staging buffer of its own
	// Classes of API calls.
	Launch
	GraphLaunch // calls that launch a graph
	APISync     // calls that wait for the GPU
	Memop       // copies and memsets, blocking or not
	Alloc
	// Classes of NVTX ranges.
	StepMarker // a forward-step marker range
	Prep       // host preparation of a step's input
	GIL        // waiting for or holding Python's GIL
	GC         // garbage collection
	Range      // any other NVTX range
	// Classes of OS library calls; all others are Other.
	OSLock
	OSWait   // condition variables, barriers, semaphores, futexes
	OSJoin   // waiting for a thread or process to end
	OSSleep  // waiting for a time
	OSIO     // poll, sockets, message queues
	OSDriver // ioctl: the GPU driver, mostly
	OSMemory // mappings and the heap
	OSFile   // files, and read and write of any descriptor
	// Classes of profiler overheads.
	ByProfiler // the profiler's own work
	QueueFull  // a launch waits because the GPU's queue is full
	Load       // code is compiled or loaded
	// Classes of stacks, by their leaf function; also GIL, GC, Alloc, ByProfiler and
	// Other.
	Interpreter // the Python interpreter
	Torch       // PyTorch's own libraries
	CUDALibrary // the CUDA runtime, the driver and the CUDA libraries
	NCCL        // the library of collectives
	JIT         // compilers of GPU code
	Tokenizer   // from text to tokens and back
	Libc        // the C library
	OSKernel    // the OS kernel
)

// PythonSample is the name of rows of kind Sample with a stack of Python functions.
// They are taken at regular intervals, whether the thread is on a CPU or not.
const PythonSample = "python"

// Classes are the values of column class, by their codes.
var Classes = []string{
	Allreduce: "allreduce", Comm: "comm", Attention: "attention", GEMM: "gemm", MoE: "moe", Norm: "norm", RoPE: "rope",
	Activation: "activation", Quant: "quant", Sampling: "sampling", Elementwise: "elementwise", Reduce: "reduce",
	Copy: "copy", Other: "other", Pinned: "pinned", Pageable: "pageable",
	Launch: "launch", GraphLaunch: "graph_launch", APISync: "sync", Memop: "memop", Alloc: "alloc",
	StepMarker: "step", Prep: "prep", GIL: "gil", GC: "gc", Range: "range",
	OSLock: "lock", OSWait: "wait", OSJoin: "join", OSSleep: "sleep", OSIO: "io", OSDriver: "driver",
	OSMemory: "memory", OSFile: "file",
	ByProfiler: "profiler", QueueFull: "queue_full", Load: "load",
	Interpreter: "interpreter", Torch: "torch", CUDALibrary: "cuda", NCCL: "nccl", JIT: "jit", Tokenizer: "tokenizer",
	Libc: "libc", OSKernel: "kernel",
}

// ClassSet is a set of classes, each below MaxClasses.
type ClassSet uint64

// ClassesOf returns the set of the given classes.
func ClassesOf(classes ...Class) (set ClassSet) {
	for _, c := range classes {
		set |= 1 << c
	}
	return set
}

// Has reports whether a class is in the set. A negative code never is.
func (s ClassSet) Has(c Class) bool { return s>>uint32(c)&1 != 0 }

// ClassCode returns the class with that name, -1 if there is none.
func ClassCode(name string) Class { return Class(slices.Index(Classes, name)) }

// String is the name of the class in streams.
func (c Class) String() string { return name(Classes, int32(c)) }

// IsCollective reports whether the class is that of kernels by which ranks exchange
// data.
func (c Class) IsCollective() bool { return c == Allreduce || c == Comm }

// Phase is what a step computes. Use the constants only, as with Kind.
type Phase int32

// The phases.
const (
	Context    Phase = iota // has requests with context tokens; includes mixed steps
	Generation              // all requests generate
	Unknown                 // not known
)

// Phases are the values of column phase, by their codes.
var Phases = []string{Context: "context", Generation: "generation", Unknown: "unknown"}

// String is the name of the phase in streams.
func (p Phase) String() string { return name(Phases, int32(p)) }

// name returns the name of a code, "?" if it has none.
func name(names []string, code int32) string {
	if code < 0 || int(code) >= len(names) {
		return "?"
	}
	return names[code]
}

// Col numbers the columns of a batch, in the order of Fields.
type Col uint

// The columns.
const (
	ColKind         Col = iota // kind, one of Kinds
	ColStart                   // start, ns
	ColEnd                     // end, ns, not before start
	ColRank                    // rank, null for processes without GPU work
	ColDevice                  // device, null for host rows
	ColStream                  // stream, null for host rows
	ColThread                  // thread, null for GPU rows
	ColName                    // name
	ColClass                   // class, one of Classes
	ColCorrelation             // correlation, within a process
	ColLaunchStart             // launch_start, ns; null if the call was not recorded
	ColLaunchEnd               // launch_end, as launch_start
	ColLaunchThread            // launch_thread, as launch_start
	ColGraphNode               // graph_node, null outside graph replays
	ColDomain                  // domain, of NVTX ranges
	ColBytes                   // bytes, of copies
	ColStep                    // step, null outside steps; on window rows the number of steps
	ColSegment                 // segment, null outside steps
	ColSize                    // size, in collectives, of step and window rows
	ColPhase                   // phase, one of Phases; null outside steps
	ColCtx                     // ctx, context requests; null if no marker has counts
	ColGen                     // gen, generation requests; null if no marker has counts
	ColCPU                     // cpu, of rows of kind Run
	ColStack                   // stack, of Sample and Backtrace
	NumCols                    // number of columns
)

// Type is the type of a column.
type Type int

// The types: integers of two widths, text, and text with few different values, which
// batches hold as codes.
const (
	Int32 Type = iota // in batches as int32
	Int64             // in batches as int64
	Text              // in batches as Strings
	Enum              // in batches as codes, in streams as text
)

// Field describes a column.
type Field struct {
	Name     string // in streams, checkpoints and error messages
	Type     Type   // of its values
	Nullable bool   // rows may have no value
}

// Fields describes the columns, in the order of their numbers.
var Fields = [NumCols]Field{
	ColKind:         {"kind", Enum, false},
	ColStart:        {"start", Int64, false},
	ColEnd:          {"end", Int64, false},
	ColRank:         {"rank", Int32, true},
	ColDevice:       {"device", Int32, true},
	ColStream:       {"stream", Int64, true},
	ColThread:       {"thread", Int64, true},
	ColName:         {"name", Text, false},
	ColClass:        {"class", Enum, true},
	ColCorrelation:  {"correlation", Int64, true},
	ColLaunchStart:  {"launch_start", Int64, true},
	ColLaunchEnd:    {"launch_end", Int64, true},
	ColLaunchThread: {"launch_thread", Int64, true},
	ColGraphNode:    {"graph_node", Int64, true},
	ColDomain:       {"domain", Enum, true},
	ColBytes:        {"bytes", Int64, true},
	ColStep:         {"step", Int64, true},
	ColSegment:      {"segment", Int64, true},
	ColSize:         {"size", Int64, true},
	ColPhase:        {"phase", Enum, true},
	ColCtx:          {"ctx", Int64, true},
	ColGen:          {"gen", Int64, true},
	ColCPU:          {"cpu", Int32, true},
	ColStack:        {"stack", Enum, true},
}

// Set is a set of columns.
type Set uint32

// The columns that each stage adds.
const (
	BaseCols  Set = 1<<ColStep - 1                          // nsys2arrow and torch2arrow
	StepCols  Set = 1<<ColStep | 1<<ColSegment | 1<<ColSize // isolate
	PhaseCols Set = 1<<ColPhase | 1<<ColCtx | 1<<ColGen     // phase
	HostCols  Set = 1 << ColCPU                             // streams with rows of kind Run
	StackCols Set = 1 << ColStack                           // streams with rows of kinds Sample and Backtrace
)

// Has reports whether c is in the set.
func (s Set) Has(c Col) bool { return s>>c&1 != 0 }

// All iterates over the columns of the set, in the order of Fields.
func (s Set) All() iter.Seq[Col] {
	return func(yield func(Col) bool) {
		for ; s != 0 && yield(Col(bits.TrailingZeros32(uint32(s)))); s &= s - 1 {
		}
	}
}

// Values returns the values of enum column c by their codes, nil for other columns.
// Those of kind and class grow if a stream has unknown ones. Callers must not change
// the slice.
func (h *Header) Values(c Col) []string {
	switch c {
	case ColKind:
		return Kinds
	case ColClass:
		return Classes
	case ColPhase:
		return Phases
	case ColDomain:
		return h.Domains
	case ColStack:
		return h.Stacks
	}
	return nil
}

// SomeCPU is the value of column cpu if a thread is on a CPU whose number is unknown.
const SomeCPU = math.MaxInt32
