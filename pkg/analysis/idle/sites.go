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

	list  []site // by number, that of a path or a key less named
	ids   map[site]int32
	cache [1024]cached

	waiting []bool // by number in Calls: such a call may wait
	bare    []Key  // by key less named: WithoutSite
}

// site is a path of ranges that ends in one, a call in a path, the kernel that ended a gap, or a
// part of one of these: that for which why holds, or of that the part during which somebody holds the
// interpreter lock.
type site struct {
	cause        Cause // Host for a range
	parent, name int32 // the path around it and its name; of a part what that is of, and -1; -1 for none
	why          Why
	holder       Holder // the zero value for none
}

// cached is a site that was looked up before, and its number plus one.
type cached struct {
	site
	number int32
}

// maxSites is how many are told apart: new ones after that are in no path.
const maxSites = 1 << 17

// NewSites returns sites of which there are none yet.
func NewSites() *Sites {
	return &Sites{Ranges: NewNames(true), Names: NewNames(false), Calls: NewNames(false), ids: map[site]int32{}}
}

// number returns the number of a site.
func (s *Sites) number(of site) int32 {
	h := (uint32(of.parent)*0x9e3779b1 ^ uint32(of.name) ^ uint32(of.why)<<8 ^ uint32(of.holder.Thread)<<16 ^ uint32(of.holder.Doing)<<4 ^ uint32(of.cause)<<24) * 0x85ebca6b
	c := &s.cache[h>>22]
	if c.site == of && c.number > 0 { // Fast path: sites repeat.
		return c.number - 1
	}
	id, ok := s.ids[of]
	switch {
	case ok:
	case len(s.list) >= maxSites && of.parent >= 0:
		of.parent = -1
		return s.number(of)
	default:
		id = int32(len(s.list))
		s.ids[of], s.list = id, append(s.list, of)
	}
	*c = cached{of, id + 1}
	return id
}

// child returns the path that goes on from parent, -1 for none, with a range.
func (s *Sites) child(parent, name int32) int32 {
	return s.number(site{cause: Host, parent: parent, name: name})
}

// Call returns the key of the time in a call in a path of ranges, of cause Graph or Queued of a gap
// that a kernel ended.
func (s *Sites) Call(cause Cause, path, name int32) Key {
	return named + Key(s.number(site{cause: cause, parent: path, name: name}))
}

// part returns the key of a part of k.
func (s *Sites) part(k Key, why Why, holder Holder) Key {
	return named + Key(s.number(site{s.Cause(k), int32(max(k-named, -1)), -1, why, holder}))
}

// divide returns the key of the part of k for which why holds.
func (s *Sites) divide(k Key, why Why) Key { return s.part(k, why, Holder{}) }

// at returns the site of a key.
func (s *Sites) at(k Key) site {
	if k < named {
		return site{cause: Cause(k), parent: -1, name: -1}
	}
	return s.list[k-named]
}

// of returns the key that a part is of.
func (s *Sites) of(part site) Key {
	switch {
	case part.parent >= 0:
		return named + Key(part.parent)
	case part.holder != Holder{}: // there are too many sites
		return s.divide(Key(part.cause), Unknown)
	}
	return Key(part.cause)
}

// WithoutHolder returns the key that k is a part of by who holds the interpreter lock, k
// itself where it is none.
func (s *Sites) WithoutHolder(k Key) Key {
	if one := s.at(k); one.holder != (Holder{}) {
		return s.of(one)
	}
	return k
}

// Undivided returns the key that k is a part of, and why; k itself and idle.None
// where it is not divided.
func (s *Sites) Undivided(k Key) (Key, Why) {
	k = s.WithoutHolder(k)
	if one := s.at(k); one.why != None {
		return s.of(one), one.why
	}
	return k, None
}

// WithoutSite returns the key of the cause alone, of Host that of the path; undivided.
func (s *Sites) WithoutSite(k Key) Key {
	if k < named {
		return k
	}
	for n := Key(len(s.bare)); n <= k-named; n++ {
		bare, _ := s.Undivided(named + n)
		if cause := s.Cause(bare); cause != Host {
			bare = Key(cause)
		}
		s.bare = append(s.bare, bare)
	}
	return s.bare[k-named]
}

// Holder is who holds the interpreter lock, and what that thread does.
type Holder struct {
	Thread int64 // its number, NoTime where nobody knows who it is
	Rank   int32 // as in Options
	Doing  Key   // divided by why; Key(Untraced) where nobody knows
}

// nobody stands for a holder that is not known.
var nobody = Holder{Thread: NoTime, Doing: Key(Untraced)}

// inStack stands for a holder of whom nothing is known but that another thread waits for the
// interpreter lock, by its stack.
var inStack = Holder{Thread: NoTime, Doing: Key(GIL)}

// InStack reports whether that somebody holds the lock is known only by a stack of a thread that
// waits for it.
func (h Holder) InStack() bool { return h == inStack }

// held returns the key of the part of k during which h holds the lock.
func (s *Sites) held(k Key, h Holder) Key { return s.part(k, None, h) }

// Holder returns who holds the interpreter lock in a key of cause GIL, or in one that a stack
// is known of; ok is false for one that is not divided by that.
func (s *Sites) Holder(k Key) (h Holder, ok bool) {
	h = s.at(k).holder
	return h, h != Holder{}
}

// mayWait reports whether a call of the system, by its number in Calls, may wait.
func (s *Sites) mayWait(call int32) bool {
	for n := int32(len(s.waiting)); n <= call; n++ {
		s.waiting = append(s.waiting, cudaname.Waits(s.Calls.Text(n)))
	}
	return s.waiting[call]
}

// WhyName returns why as text.
func (s *Sites) WhyName(why Why) string { return why.String() + s.Calls.Text(why.Name()) }

// Stack returns what a key says of idle time as a stack, without its place and weight.
func (s *Sites) Stack(k Key) figure.Stack {
	key, why := s.Undivided(k)
	stack := figure.Stack{Cause: s.CauseName(key), Leaf: s.Name(key), Evidence: figure.Exact, Path: s.path(s.Path(key))}
	if why != None {
		stack.Why = s.WhyName(why)
	}
	return stack
}

// Cause returns the cause of a key.
func (s *Sites) Cause(k Key) Cause { return s.at(k).cause }

// CauseName returns the name of the cause of a key: of Host with the innermost range.
func (s *Sites) CauseName(k Key) string {
	if cause := s.Cause(k); cause != Host {
		return cause.String()
	}
	return "host:" + s.RangeText(s.Path(k))
}

// Name returns the name of the call or kernel of a key, "" where it has none.
func (s *Sites) Name(k Key) string {
	k, _ = s.Undivided(k)
	if one := s.at(k); one.cause != Host {
		return s.Names.Text(one.name)
	}
	return ""
}

// Path returns the path of ranges of a key, -1 where it has none.
func (s *Sites) Path(k Key) int32 {
	k, _ = s.Undivided(k)
	if one := s.at(k); one.cause != Host {
		return one.parent
	}
	return int32(k - named)
}

// Range returns the number of the innermost range of a path, -1 for the path -1.
func (s *Sites) Range(path int32) int32 {
	if path < 0 {
		return -1
	}
	return s.list[path].name
}

// Parent returns a path without its innermost range.
func (s *Sites) Parent(path int32) int32 {
	if path < 0 {
		return -1
	}
	return s.list[path].parent
}

// RangeText returns the innermost range of a path, "" for the path -1.
func (s *Sites) RangeText(path int32) string { return s.Ranges.Text(s.Range(path)) }

// path returns the ranges of a path, the outermost first.
func (s *Sites) path(path int32) []string {
	if path < 0 {
		return nil
	}
	return append(s.path(s.Parent(path)), s.RangeText(path))
}

// PathText returns the ranges of a path as one text, the outermost first.
func (s *Sites) PathText(path int32) string { return strings.Join(s.path(path), " > ") }
