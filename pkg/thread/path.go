package thread

// maxPaths is how many different paths are told apart.
const maxPaths = 1 << 17

// Paths numbers the ways from an outermost range to an innermost one.
type Paths struct {
	ids   map[step]int32
	steps []step
	last  step
	id    int32
}

// step is the last range of a path and the path before it.
type step struct{ parent, name int32 }

// Child returns the path that goes on from parent, -1 for none, with a name.
// When there are too many paths, new ones begin at their last range.
func (p *Paths) Child(parent, name int32) int32 {
	s := step{parent, name}
	if p.ids == nil {
		p.ids = make(map[step]int32)
	} else if s == p.last { // Fast path: ranges repeat.
		return p.id
	}
	id, ok := p.ids[s]
	if !ok {
		if len(p.steps) >= maxPaths && parent >= 0 {
			return p.Child(-1, name)
		}
		id = int32(len(p.steps))
		p.ids[s] = id
		p.steps = append(p.steps, s)
	}
	p.last, p.id = s, id
	return id
}

// Name returns the innermost range of a path, -1 for the path -1.
func (p *Paths) Name(path int32) int32 {
	if path < 0 {
		return -1
	}
	return p.steps[path].name
}

// Names returns the ranges of a path, the outermost first.
func (p *Paths) Names(path int32) []int32 {
	if path < 0 {
		return nil
	}
	s := p.steps[path]
	return append(p.Names(s.parent), s.name)
}

// Parent returns the path without its innermost range.
func (p *Paths) Parent(path int32) int32 {
	if path < 0 {
		return -1
	}
	return p.steps[path].parent
}
