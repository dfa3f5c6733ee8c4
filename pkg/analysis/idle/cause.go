package idle

// Cause is why a GPU is idle.
type Cause int32

// The causes. Those before Graph are the states of a thread.
const (
	Untraced = Cause(InUntraced)
	Launch   = Cause(InLaunch)
	Sync     = Cause(InSync)
	Memop    = Cause(InMemop)
	Alloc    = Cause(InAlloc)
	API      = Cause(InAPI)
	GIL      = Cause(InGIL)
	GC       = Cause(InGC)
)

const (
	Graph  = GC + 1 + iota // inside one graph replay
	Queued                 // the launch call had returned
	Tail                   // nothing came any more
	Host                   // inside a range
)

var causeNames = [...]string{
	Untraced: "untraced", Launch: "launch", Sync: "sync", Memop: "memop", Alloc: "alloc", API: "api", GIL: "gil", GC: "gc",
	Graph: "graph", Queued: "queued", Tail: "tail", Host: "host",
}

// String is the name of the cause; that of Host lacks the range.
func (c Cause) String() string { return causeNames[c] }

// Key is a cause with its site, of one [Sites]: below 16 the number of a cause without
// a site.
type Key int32

// named is the first key with a site.
const named = Key(Named)
