package replay

import "github.com/hostbound/hostbound/pkg/trace/event"

// pathSeparator is between the ranges of a path as text, see idle.Sites.PathText.
const pathSeparator = " > "

// maxPaths, 131072: how many paths of ranges are told apart, as in package idle.
const maxPaths = 1 << 17

// paths are the ways from an outermost range to an innermost one that threads were seen in.
// Ranges about the interpreter lock and the garbage collector are in none.
type paths struct {
	names []name
	ids   map[pathStep]int32
	texts []string
	of    []int32 // by change: the path that it is about, -1 for outside of all ranges
}

// pathStep is the last range of a path and the path before it, -1 for none.
type pathStep struct{ parent, name int32 }

// nowhere is the path of changes whose path no thread was in.
const nowhere = int32(-2)

// newPaths returns the paths that some changes are about.
func newPaths(names []name, changes []applied) *paths {
	p := &paths{names: names, ids: map[pathStep]int32{}}
	for k := range changes {
		if of := nowhere; changes[k].placed {
			if changes[k].path == "" {
				of = -1
			}
			p.set(k, of, len(changes))
		}
	}
	return p
}

// set says which path a change is about.
func (p *paths) set(change int, path int32, n int) {
	if p.of == nil {
		p.of = make([]int32, n)
	}
	p.of[change] = path
}

// child returns the path that goes on from another one with a range; nowhere where no change is
// about a path.
func (p *paths) child(parent, name int32, changes []applied) int32 {
	if p.of == nil || parent == nowhere {
		return nowhere
	}
	s := pathStep{parent, p.names[name].same}
	if id, ok := p.ids[s]; ok {
		return id
	}
	if len(p.texts) >= maxPaths {
		return nowhere
	}
	id := int32(len(p.texts))
	text := p.names[name].text
	if parent >= 0 {
		text = p.texts[parent] + pathSeparator + text
	}
	p.ids[s], p.texts = id, append(p.texts, text)
	for k := range changes {
		if changes[k].placed && changes[k].path == text {
			p.of[k] = id
		}
	}
	return id
}

// openRange is a range that is open on a thread, and the path to it, or around it where it is
// of no path itself.
type openRange struct {
	name, path int32
	around     bool
}

// path is the path of the ranges that are open on a thread, -1 for none.
func (th *thread) path() int32 {
	if n := len(th.ranges); n > 0 {
		return th.ranges[n-1].path
	}
	return -1
}

// enterRange opens a range.
func (p *plan) enterRange(o *openRow) {
	if th := o.thread; p.names[o.name].flags&(waitsForGIL|holdsGIL) == 0 {
		th.ranges = append(th.ranges, openRange{name: o.name, path: th.path(), around: o.class == event.GC})
		p.repath(th, len(th.ranges)-1)
	}
}

// leaveRange closes a range: the latest of its name.
func (p *plan) leaveRange(th *thread, name int32) {
	k := len(th.ranges) - 1
	for k >= 0 && th.ranges[k].name != name {
		k--
	}
	if k >= 0 {
		th.ranges = append(th.ranges[:k], th.ranges[k+1:]...)
		p.repath(th, k)
	}
}

// repath finds the paths of the open ranges from k on: more than one where ranges overlap.
func (p *plan) repath(th *thread, k int) {
	for ; k < len(th.ranges); k++ {
		r := &th.ranges[k]
		r.path = -1
		if k > 0 {
			r.path = th.ranges[k-1].path
		}
		if !r.around {
			r.path = p.paths.child(r.path, r.name, p.changes)
		}
	}
}
