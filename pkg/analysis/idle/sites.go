package idle

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// Sites numbers the sites of a run, across all its ranks.
type Sites struct {
	Ranges *Names // of NVTX ranges, digits folded
	Names  *Names // of calls and kernels
	Calls  *Names // of OS calls

	list  []site // by number: of a path, or of a key less named
	ids   map[site]int32
	cache [1024]cached

	waiting []bool // by number in Calls: whether such a call may wait
}

// site is one of: a range with the path of ranges around it; a call in a path; the kernel that
// ended a gap; or a part of another site. A part is the time for which why holds, or of that
// the time during which holder holds the interpreter lock.
type site struct {
	cause        Cause // Host for a range
	parent, name int32 // path around it, and its name; for a part, the site that it is of, and -1; -1 for none
	why          Why
	holder       Holder // the zero value for none
}

// cached is a site that was looked up, and its number plus one.
type cached struct {
	site
	number int32
}

// maxSites is how many sites are distinguished. New ones after that have no path.
const maxSites = 1 << 17

// NewSites returns an empty Sites.
func NewSites() *Sites {
	return &Sites{Ranges: NewNames(true), Names: NewNames(false), Calls: NewNames(false), ids: map[site]int32{}}
}

// number returns the number of a site, which may be new.
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

// child returns the path parent, -1 for none, extended by a range.
func (s *Sites) child(parent, name int32) int32 {
	return s.number(site{cause: Host, parent: parent, name: name})
}

// Call returns the key of a call in a path of ranges or, for the causes Graph and Queued, of
// the kernel that ended a gap.
func (s *Sites) Call(cause Cause, path, name int32) Key {
	return named + Key(s.number(site{cause: cause, parent: path, name: name}))
}

// part returns the key of the part of k for which why and holder hold.
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

// of returns the key that a part belongs to.
func (s *Sites) of(part site) Key {
	switch {
	case part.parent >= 0:
		return named + Key(part.parent)
	case part.holder != Holder{}: // its parent was dropped: too many sites
		return s.divide(Key(part.cause), Unknown)
	}
	return Key(part.cause)
}

// WithoutHolder returns k without the division by who holds the interpreter lock.
func (s *Sites) WithoutHolder(k Key) Key {
	if one := s.at(k); one.holder != (Holder{}) {
		return s.of(one)
	}
	return k
}

// Undivided returns the key that k is a part of, and why. If k is not divided, it returns k
// and None.
func (s *Sites) Undivided(k Key) (Key, Why) {
	k = s.WithoutHolder(k)
	if one := s.at(k); one.why != None {
		return s.of(one), one.why
	}
	return k, None
}

// WithoutSite returns the undivided key of the cause of k alone, or for Host that of the path.
func (s *Sites) WithoutSite(k Key) Key {
	k, _ = s.Undivided(k)
	if cause := s.Cause(k); cause != Host {
		return Key(cause)
	}
	return k
}

// Holder is the thread that holds the interpreter lock, and what it does.
type Holder struct {
	Thread int64 // thread id, NoTime if unknown
	Rank   int32 // rank of the thread, as in Options
	Doing  Key   // its state, divided by why; Key(Untraced) if unknown
}

// nobody stands for an unknown holder, or none.
var nobody = Holder{Thread: NoTime, Doing: Key(Untraced)}

// inStack stands for an unknown holder, if only the stack of the waiting thread shows that it
// waits for the interpreter lock.
var inStack = Holder{Thread: NoTime, Doing: Key(GIL)}

// InStack reports whether only the stack of the waiting thread shows that the lock is held.
func (h Holder) InStack() bool { return h == inStack }

// held returns the key of the part of k during which h holds the lock.
func (s *Sites) held(k Key, h Holder) Key { return s.part(k, None, h) }

// Holder returns who holds the interpreter lock in the time of a key. ok is false if the key is
// not divided by that: only keys of cause GIL are, and those with a stack that waits.
func (s *Sites) Holder(k Key) (h Holder, ok bool) {
	h = s.at(k).holder
	return h, h != Holder{}
}

// mayWait reports whether an OS call, by its number in Calls, may wait.
func (s *Sites) mayWait(call int32) bool {
	for n := int32(len(s.waiting)); n <= call; n++ {
		s.waiting = append(s.waiting, cudaname.Waits(s.Calls.Text(n)))
	}
	return s.waiting[call]
}

// WhyName returns why as text.
func (s *Sites) WhyName(why Why) string { return why.String() + s.Calls.Text(why.Name()) }

// Stack returns a key as a stack, without rank, device, phase and time.
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

// CauseName returns the name of the cause of a key; for Host it is "host:" and the innermost
// range.
func (s *Sites) CauseName(k Key) string {
	if cause := s.Cause(k); cause != Host {
		return cause.String()
	}
	return "host:" + s.RangeText(s.Path(k))
}

// Name returns the name of the call or kernel of a key, "" if it has none.
func (s *Sites) Name(k Key) string {
	k, _ = s.Undivided(k)
	if one := s.at(k); one.cause != Host {
		return s.Names.Text(one.name)
	}
	return ""
}

// Path returns the path of ranges of a key, -1 if it has none.
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

// Parent returns a path without its innermost range, -1 if none remains.
func (s *Sites) Parent(path int32) int32 {
	if path < 0 {
		return -1
	}
	return s.list[path].parent
}

// RangeText returns the name of the innermost range of a path, "" for the path -1.
func (s *Sites) RangeText(path int32) string { return s.Ranges.Text(s.Range(path)) }

// path returns the ranges of a path, the outermost first.
func (s *Sites) path(path int32) []string {
	if path < 0 {
		return nil
	}
	return append(s.path(s.Parent(path)), s.RangeText(path))
}

// PathText returns the ranges of a path joined by " > ", the outermost first.
func (s *Sites) PathText(path int32) string { return strings.Join(s.path(path), " > ") }
