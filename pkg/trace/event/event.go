// Package event is the contract between the filters: the rows that flow from
// one to the next, as plain columns in batches, and the header that goes ahead
// of them. How they travel is the business of packages arrow (Arrow IPC) and
// checkpoint (Parquet); what they mean is written here.
//
// # Rows
//
// One row is one event of a trace: a kernel, a copy, an API call, an NVTX
// range, and the rows that later stages add. All times are int64 nanoseconds
// on one clock for all reports of a stream. Fields lists the columns in order.
//
//	kind       what the row is, one of Kinds
//	start,end  ns; end >= start; every span is half-open
//	rank       the process with GPU work it belongs to, null for other processes
//	device     CUDA device number, GPU rows
//	stream     CUDA stream number, GPU rows
//	thread     thread id, host rows
//	name       kernel short name, API name without version, NVTX text
//	class      what it does, one of Classes
//	correlation         what nsys joins launches and GPU work by, within a process
//	launch_start,_end   ns, the API call that put the GPU row into its queue
//	launch_thread       the thread that made that call
//	graph_node          set when the replay of a CUDA graph ran the row
//	domain     NVTX domain
//	bytes      size of a copy
//	cpu        number of the CPU, SomeCPU where it is not known which, rows of kind run; streams without such rows have no such column
//	stack      functions from the root, joined by ";", rows of the kinds sample and backtrace;
//	           streams without such rows have no such column
//
// isolate adds step, segment and size, and rows of the kinds step and window;
// phase adds phase, ctx and gen. Columns that none of us knows are carried
// along (Foreign).
//
// Step rows hold in name the forward-step marker that the step was launched
// under ("step" where there was none), so that a stage need not look ahead for
// it. Their start and end are the extent of the step; its
// period ends at the next step of its segment. The window row of a rank spans
// its benchmark window; size is the common size, step the number of steps and
// segment the number of the benchmark segment, null where there is none. All three are
// null where it turned out that steps cannot be identified: step rows are void then.
//
// # Order
//
// All rows of a rank come one after the other in the order of their start, of
// equal starts the longer first; a step row stands before every row that
// starts inside the step; window rows stand at the very end of the stream.
// Because of this order each stage after nsys2arrow needs one pass and holds
// one period at most: whatever a stage wants to know about a row (which step
// it is in, which range it was launched under, what else ran at that time) has
// been seen by then or is seen before the period ends.
//
// # What a reader does not know
//
// Kinds, classes and columns that a reader does not know are kept and passed on
// by their names (AddKind, AddClass, Foreign); analyses ignore them. There is
// room for MaxKinds kinds and MaxClasses classes, ours included; more are an
// error where they are used.
//
// # Adding a kind, a class, a column
//
// A kind is added in this file alone: a constant of type Kind, with what its rows
// are, its name in Kinds, and a bit in gpuKinds where a GPU did it. Then a source
// may make its rows, and an analysis may look for them; formats and the other
// analyses need no change, and programs without the constant pass its rows on.
// A class is added in the same way, to Class and Classes; pattern tables in
// packages cudaname and marker say which names have it. A column takes a constant
// of type Col, its line in Fields, its field in Batch and a line in columnOf
// (batch.go); it is part of BaseCols only if every version 1 stream has it.
package event

import (
	"iter"
	"math"
	"math/bits"
	"slices"
)

// Version is the version of the schema "events". Since version 2 reports say
// more of their ranks (RankFacts), and a stream ends with a hash. What is of
// version 1 is read as well.
const Version = 2

// BatchRows is the number of rows that the readers put into a batch. Stages
// may make batches a step longer; MaxBatchRows is what the formats write.
const (
	BatchRows    = 8192
	MaxBatchRows = 65536
)

// Kind is what a row is. Kinds are told apart by their constants alone: their
// numbers are of one process and mean nothing else, and neither does their order.
type Kind int32

// The kinds that we know; those of others follow them (AddKind).
const (
	Kernel   Kind = iota // a kernel; of a graph replay, too, where its kernels are recorded
	Graph                // the replay of a whole graph, whose kernels are not recorded
	Memcpy               // a copy by the GPU
	Memset               // memory set by the GPU
	API                  // a call of the CUDA runtime or driver
	Sync                 // what the GPU side knows of a synchronisation
	NVTX                 // a range that the program marked
	Overhead             // time the profiler itself took
	Step                 // a forward step, added by isolate
	Window               // the benchmark window of a rank, added by isolate

	// What the operating system knows of host threads, of recordings that have it.

	OS        // a call of the system's libraries
	Run       // a stretch in which a thread, of any process, is on the CPU of column cpu; cpu is null where nobody knows whether it is
	Sample    // an instant at which a thread was found in the stack of column stack, on a CPU unless its name is Python
	Backtrace // the stack of column stack that a thread was in during a call; it may start and end a little outside of that
)

// Kinds names the values of column kind.
var Kinds = []string{
	Kernel: "kernel", Graph: "graph", Memcpy: "memcpy", Memset: "memset", API: "api", Sync: "sync",
	NVTX: "nvtx", Overhead: "overhead", Step: "step", Window: "window",
	OS: "os", Run: "run", Sample: "sample", Backtrace: "backtrace",
}

// KindCode returns the kind of that name, -1 for a name that is none.
func KindCode(name string) Kind { return Kind(slices.Index(Kinds, name)) }

// String is the name of the kind in streams.
func (k Kind) String() string { return name(Kinds, int32(k)) }

// GPUKinds are the kinds of what a GPU did.
var GPUKinds = []Kind{Kernel, Graph, Memcpy, Memset}

const (
	gpuKinds  = 1<<Kernel | 1<<Graph | 1<<Memcpy | 1<<Memset
	copyKinds = 1<<Memcpy | 1<<Memset
)

// IsGPU reports whether a GPU did it.
func (k Kind) IsGPU() bool { return uint64(gpuKinds)>>uint32(k)&1 != 0 }

// IsCopy reports whether it is a copy or a memset.
func (k Kind) IsCopy() bool { return uint64(copyKinds)>>uint32(k)&1 != 0 }

// Class is what a row does. As with Kind, only the constants mean something.
type Class int32

// The classes that we know; those of others follow them (AddClass).
const (
	// Of kernels.
	Allreduce   Class = iota
	Comm              // every other collective
	Attention         // attention in any form, and what writes its KV cache
	GEMM              // matrix products
	MoE               // experts: routing, permutation, grouped products
	Norm              // normalisations, fused or not
	RoPE              // rotary embeddings
	Activation        // SiLU, GELU and the like
	Quant             // quantisation and back
	Sampling          // from logits to tokens
	Elementwise       // pointwise work, and fills
	Reduce            // reductions that are none of the above
	Copy              // kernels that copy, gather or transpose; no rows of kind Memcpy
	Other             // of API calls, too
	// Of copies between host and device, where it is recorded what the host's memory is.
	Pinned
	Pageable // memory that the driver copies by way of a buffer of its own
	// Of API calls.
	Launch
	GraphLaunch // calls that launch a graph
	APISync     // the calls that wait for the GPU
	Memop       // copies and memsets, waiting or not
	Alloc
	// Of NVTX ranges.
	StepMarker // a forward-step marker range
	Prep       // host preparation of a step's input
	GIL        // waiting for or holding the interpreter lock
	GC         // garbage collection
	Range      // any other NVTX range
	// Of calls of the operating system's libraries; the rest is Other.
	OSLock
	OSWait   // condition variables, barriers, semaphores, futexes
	OSJoin   // the end of a thread or process
	OSSleep  // time
	OSIO     // poll, sockets, message queues
	OSDriver // ioctl: the GPU driver, mostly
	OSMemory // mappings and the heap
	OSFile   // files, and read and write of any descriptor
	// Of overheads.
	ByProfiler // the profiler's own work
	QueueFull  // a launch waits because the GPU's queue is full
	Load       // code is compiled or loaded
	// Of stacks, by their leaf; GIL, GC, Alloc, ByProfiler and Other, too.
	Interpreter // of Python
	Torch       // PyTorch's own libraries
	CUDALibrary // the CUDA runtime, the driver and the libraries above them
	NCCL        // the library of collectives
	JIT         // compilers of code for the GPU
	Tokenizer   // from text to tokens and back
	Libc        // the C library
	OSKernel    // the operating system's kernel
)

// PythonSample is the name of rows of kind Sample whose stack is one of Python functions:
// they come at even times, be the thread on a CPU or not.
const PythonSample = "python"

// Classes names the values of column class.
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

// ClassSet is a set of classes below MaxClasses.
type ClassSet uint64

// ClassesOf returns the set of some classes.
func ClassesOf(classes ...Class) (set ClassSet) {
	for _, c := range classes {
		set |= 1 << c
	}
	return set
}

// Has reports whether a class is in the set; no null is.
func (s ClassSet) Has(c Class) bool { return s>>uint32(c)&1 != 0 }

// ClassCode returns the class of that name, -1 for a name that is none.
func ClassCode(name string) Class { return Class(slices.Index(Classes, name)) }

// String is the name of the class in streams.
func (c Class) String() string { return name(Classes, int32(c)) }

// IsCollective reports whether it is a kernel by which ranks exchange data.
func (c Class) IsCollective() bool { return c == Allreduce || c == Comm }

// Phase is what a step computes. As with Kind, only the constants mean something.
type Phase int32

// The phases.
const (
	Context    Phase = iota // it has requests with context tokens, mixed steps included
	Generation              // each of its requests generates
	Unknown                 // nothing says
)

// Phases names the values of column phase.
var Phases = []string{Context: "context", Generation: "generation", Unknown: "unknown"}

// String is the name of the phase in streams.
func (p Phase) String() string { return name(Phases, int32(p)) }

// name returns the name of a code, which may be none of the list.
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
	ColLaunchStart             // launch_start, ns; null where the call was not recorded
	ColLaunchEnd               // launch_end, as launch_start
	ColLaunchThread            // launch_thread, as launch_start
	ColGraphNode               // graph_node, null outside of graph replays
	ColDomain                  // domain, of NVTX ranges
	ColBytes                   // bytes, of copies
	ColStep                    // step, null outside of steps; of window rows how many
	ColSegment                 // segment, null outside of steps
	ColSize                    // size, in collectives, of step and window rows
	ColPhase                   // phase, one of Phases; null outside of steps
	ColCtx                     // ctx, context requests; null where no marker says
	ColGen                     // gen, generation requests; null where no marker says
	ColCPU                     // cpu, of rows of kind Run
	ColStack                   // stack, of Sample and Backtrace
	NumCols                    // how many columns there are
)

// Type is the type of a column.
type Type int

// The types: whole numbers of two widths, text, and text out of few values,
// which a batch holds as codes.
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
	Nullable bool   // rows may lack it
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

// The columns that each stage knows.
const (
	BaseCols  Set = 1<<ColStep - 1                          // of nsys2arrow and torch2arrow
	StepCols  Set = 1<<ColStep | 1<<ColSegment | 1<<ColSize // that isolate adds
	PhaseCols Set = 1<<ColPhase | 1<<ColCtx | 1<<ColGen     // that phase adds
	HostCols  Set = 1 << ColCPU                             // of streams with rows of kind Run
	StackCols Set = 1 << ColStack                           // of streams with rows of the kinds Sample and Backtrace
)

// Has reports whether c is in the set.
func (s Set) Has(c Col) bool { return s>>c&1 != 0 }

// All goes through the columns of the set, in their order.
func (s Set) All() iter.Seq[Col] {
	return func(yield func(Col) bool) {
		for ; s != 0 && yield(Col(bits.TrailingZeros32(uint32(s)))); s &= s - 1 {
		}
	}
}

// Values returns the values of enum column c by their codes, nil for other columns.
// Those of kind and class grow where a stream has ones that this program does not
// know; nobody changes the slice.
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

// SomeCPU is the number in column cpu of a CPU that a thread is known to be on and that has none.
const SomeCPU = math.MaxInt32
