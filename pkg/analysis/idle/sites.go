package idle

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// Sites numbers the sites of a run, over all its ranks.
type Sites struct {
	Ranges *Names // of NVTX ranges, digits folded
	Names  *Names // of calls and kernels
	Calls  *Names // of calls of the operating system's libraries
	// paths holds the paths of ranges, and as leaves the sites of calls and
	// kernels, whose name is below -1 and holds the cause.
	paths     Paths
	holders   []Holder // of the interpreter lock
	holderIDs map[Holder]int32
	waiting   []bool // by number in Calls: such a call may wait
}

// NewSites returns sites of which there are none yet.
func NewSites() *Sites {
	return &Sites{Ranges: NewNames(true), Names: NewNames(false), Calls: NewNames(false)}
}

// mayWait reports whether a call of the system, by its number in Calls, may wait.
func (s *Sites) mayWait(call int32) bool {
	for n := int32(len(s.waiting)); n <= call; n++ {
		s.waiting = append(s.waiting, cudaname.Waits(s.Calls.Text(n)))
	}
	return s.waiting[call]
}

const (
	causeBits = 4
	causeMask = 1<<causeBits - 1
)

// call returns the key of a call in a path of ranges.
func (s *Sites) call(cause Cause, path, name int32) Key {
	return named + Key(s.paths.Child(path, ^(name<<causeBits|int32(cause))))
}

// Call returns the key of the time in a call in a path of ranges.
func (s *Sites) Call(cause Cause, path, name int32) Key { return s.call(cause, path, name) }

// endedBy returns the key of a gap of cause Graph or Queued that a kernel ended.
func (s *Sites) endedBy(cause Cause, name int32) Key { return s.call(cause, -1, name) }

// whyLeaf is above the names of all other leaves: a key divided by why is a leaf after it.
const whyLeaf = 1 << 26

// divide returns the key of the part of k for which why holds.
func (s *Sites) divide(k Key, why Why) Key {
	parent, cause := int32(-1), Cause(k)
	if k >= named {
		parent, cause = int32(k-named), s.Cause(k)
	}
	return named + Key(s.paths.Child(parent, ^(whyLeaf+int32(why)<<causeBits|int32(cause))))
}

// Undivided returns the key that k is a part of, and why; k itself and idle.None
// where it is not divided.
func (s *Sites) Undivided(k Key) (Key, Why) {
	if k < named {
		return k, None
	}
	n := ^s.paths.Name(int32(k-named)) - whyLeaf
	if n >= holderLeaf-whyLeaf {
		parent := s.paths.Parent(int32(k - named))
		if parent < 0 { // there are too many paths
			return Key(GIL), Unknown
		}
		k = named + Key(parent)
		n = ^s.paths.Name(parent) - whyLeaf
	}
	if n < 0 {
		return k, None
	}
	if parent := s.paths.Parent(int32(k - named)); parent >= 0 {
		return named + Key(parent), Why(n >> causeBits)
	}
	return Key(n & causeMask), Why(n >> causeBits)
}

// Holder is who holds the interpreter lock, and what that thread does.
type Holder struct {
	Rank   int32 // as in Options
	Thread int64 // its number, NoTime where nobody knows who it is
	Doing  Key   // divided by why; Key(Untraced) where nobody knows
}

// holderLeaf is above the names of all other leaves: a key that is divided by who holds the
// lock is a leaf after it. maxHolders is how many are told apart.
const (
	holderLeaf = 1 << 29
	maxHolders = 1 << 16
)

// nobody stands for a holder that is not known.
var nobody = Holder{Thread: NoTime, Doing: Key(Untraced)}

// inStack stands for a holder of whom nothing is known but that another thread waits for the
// interpreter lock, by its stack.
var inStack = Holder{Thread: NoTime, Doing: Key(GIL)}

// InStack reports whether that somebody holds the lock is known only by a stack of a thread that
// waits for it.
func (h Holder) InStack() bool { return h == inStack }

// held returns the key of the part of k during which h holds the lock.
func (s *Sites) held(k Key, h Holder) Key {
	id, ok := s.holderIDs[h]
	if !ok && len(s.holders) >= maxHolders {
		return s.held(k, nobody)
	}
	if !ok {
		if s.holderIDs == nil {
			s.holderIDs = map[Holder]int32{}
			s.holders, s.holderIDs[nobody] = []Holder{nobody}, 0
		}
		if id, ok = s.holderIDs[h]; !ok {
			id = int32(len(s.holders))
			s.holders, s.holderIDs[h] = append(s.holders, h), id
		}
	}
	return named + Key(s.paths.Child(int32(k-named), ^(holderLeaf+id)))
}

// Holder returns who holds the interpreter lock in a key of cause GIL, or in one that a stack
// is known of; ok is false for one that is not divided by that.
func (s *Sites) Holder(k Key) (h Holder, ok bool) {
	if k < named {
		return h, false
	}
	id := ^s.paths.Name(int32(k-named)) - holderLeaf
	if id < 0 {
		return h, false
	}
	return s.holders[id], true
}

// WhyName returns why as text.
func (s *Sites) WhyName(why Why) string { return why.String() + s.Calls.Text(why.Name()) }

// Stack returns what a key says of idle time as a stack, without its place and weight.
func (s *Sites) Stack(k Key) figure.Stack {
	key, why := s.Undivided(k)
	stack := figure.Stack{Cause: s.CauseName(key), Leaf: s.Name(key), Evidence: figure.Exact}
	if why != None {
		stack.Why = s.WhyName(why)
	}
	for _, name := range s.RangesOf(s.Path(key)) {
		stack.Path = append(stack.Path, s.Ranges.Text(name))
	}
	return stack
}

// leaf returns the cause and the name of a key that ends in a call or a kernel.
func (s *Sites) leaf(k Key) (cause Cause, name int32, ok bool) {
	if k < named {
		return Cause(k), -1, false
	}
	if n := s.paths.Name(int32(k - named)); n < -1 {
		return Cause(^n & causeMask), ^n >> causeBits, true
	}
	return Host, -1, false
}

// Cause returns the cause of a key.
func (s *Sites) Cause(k Key) Cause {
	k, _ = s.Undivided(k)
	cause, _, _ := s.leaf(k)
	return cause
}

// WithoutSite returns the key of the cause alone, of Host that of the path; undivided.
func (s *Sites) WithoutSite(k Key) Key {
	k, _ = s.Undivided(k)
	if cause, _, ok := s.leaf(k); ok {
		return Key(cause)
	}
	return k
}

// CauseName returns the name of the cause of a key: of Host with the innermost range.
func (s *Sites) CauseName(k Key) string {
	k, _ = s.Undivided(k)
	if cause := s.Cause(k); cause != Host {
		return cause.String()
	}
	return "host:" + s.RangeText(int32(k-named))
}

// Name returns the name of the call or kernel of a key, "" where it has none.
func (s *Sites) Name(k Key) string {
	k, _ = s.Undivided(k)
	_, name, _ := s.leaf(k)
	return s.Names.Text(name)
}

// Path returns the path of ranges of a key, -1 where it has none.
func (s *Sites) Path(k Key) int32 {
	k, _ = s.Undivided(k)
	switch _, _, ok := s.leaf(k); {
	case ok:
		return s.paths.Parent(int32(k - named))
	case k >= named:
		return int32(k - named)
	}
	return -1
}

// Range returns the number of the innermost range of a path, -1 for the path -1.
func (s *Sites) Range(path int32) int32 { return s.paths.Name(path) }

// Ranges of a path, the outermost first.
func (s *Sites) RangesOf(path int32) []int32 { return s.paths.Names(path) }

// Parent returns a path without its innermost range.
func (s *Sites) Parent(path int32) int32 { return s.paths.Parent(path) }

// RangeText returns the innermost range of a path, "" for the path -1.
func (s *Sites) RangeText(path int32) string { return s.Ranges.Text(s.paths.Name(path)) }

// PathText returns the ranges of a path as one text, the outermost first.
func (s *Sites) PathText(path int32) string {
	var ranges []string
	for _, name := range s.paths.Names(path) {
		ranges = append(ranges, s.Ranges.Text(name))
	}
	return strings.Join(ranges, " > ")
}
