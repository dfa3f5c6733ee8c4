package idle

// Cause is why a GPU is idle.
type Cause int32

// The causes that are states of a thread.
const (
	Untraced = Cause(InUntraced) // the thread was in no recorded call or range, or is unknown
	Launch   = Cause(InLaunch)   // in a launch call
	Sync     = Cause(InSync)     // in a call that waits for the GPU, though its work was done
	Memop    = Cause(InMemop)    // in a copy or memset call
	Alloc    = Cause(InAlloc)    // in a call of class alloc
	API      = Cause(InAPI)      // in another CUDA call
	GIL      = Cause(InGIL)      // waiting for the interpreter lock
	GC       = Cause(InGC)       // in a garbage collection
)

const (
	Graph  = GC + 1 + iota // inside one graph replay
	Queued                 // the launch call had returned
	Tail                   // no activity follows in the window
	Host                   // inside a range
)

var causeNames = [...]string{
	Untraced: "untraced", Launch: "launch", Sync: "sync", Memop: "memop", Alloc: "alloc", API: "api", GIL: "gil", GC: "gc",
	Graph: "graph", Queued: "queued", Tail: "tail", Host: "host",
}

// String returns the name of the cause; that of Host lacks the range.
func (c Cause) String() string { return causeNames[c] }

// Key is a cause with its site, numbered by one [Sites]. Below 16 it is the number of a cause,
// without a site.
type Key int32

// named is the first key with a site.
const named = Key(Named)
