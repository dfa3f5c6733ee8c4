package idle

import "github.com/hostbound/hostbound/pkg/thread"

// Cause is why a GPU is idle.
type Cause int32

// The causes. Those before Graph are the states of a thread.
const (
	Untraced = Cause(thread.Untraced)
	Launch   = Cause(thread.Launch)
	Sync     = Cause(thread.Sync)
	Memop    = Cause(thread.Memop)
	Alloc    = Cause(thread.Alloc)
	API      = Cause(thread.API)
	GIL      = Cause(thread.GIL)
	GC       = Cause(thread.GC)
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
const named = Key(thread.Named)
