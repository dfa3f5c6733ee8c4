package idle

// Cause is why a GPU is idle. Those up to GC are also what a host thread does at an instant.
type Cause int32

// The causes.
const (
	Untraced Cause = iota // the thread was in no recorded call or range, or is unknown
	Launch                // in a launch call, graph launches included
	Sync                  // in a call that waits for the GPU, though its work was done
	Memop                 // in a copy or memset call
	Alloc                 // in a call of class alloc
	API                   // in another CUDA call
	GIL                   // waiting for the interpreter lock
	GC                    // in a garbage collection
	Graph                 // inside one graph replay
	Queued                // the launch call had returned
	Tail                  // no activity follows in the window
	Host                  // inside a range
)

var causeNames = [...]string{
	Untraced: "untraced", Launch: "launch", Sync: "sync", Memop: "memop", Alloc: "alloc", API: "api", GIL: "gil", GC: "gc",
	Graph: "graph", Queued: "queued", Tail: "tail", Host: "host",
}

// String returns the name of the cause; that of Host lacks the range.
func (c Cause) String() string { return causeNames[c] }

// InCall reports whether the thread is in a CUDA call.
func (c Cause) InCall() bool { return Launch <= c && c <= API }

// Key is a cause with its site, numbered by one [Sites]. Below 16 it is the number of a cause,
// without a site. From 16 on it is the number of a site; that of a range is also a path.
type Key int32

// named is the first key with a site.
const named Key = 16
