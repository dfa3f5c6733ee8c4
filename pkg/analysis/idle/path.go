package idle

// maxPaths is how many different paths are told apart.
const maxPaths = 1 << 17

// Paths numbers the ways from an outermost range to an innermost one.
type Paths struct {
	ids   map[step]int32
	steps []step
	cache [1024]cached
}

// cached is a step that was looked up before, and the number of its path plus one.
type cached struct {
	step
	number int32
}

// step is the last range of a path and the path before it.
type step struct{ parent, name int32 }

// Child returns the path that goes on from parent, -1 for none, with a name.
// When there are too many paths, new ones begin at their last range.
func (p *Paths) Child(parent, name int32) int32 {
	s := step{parent, name}
	h := (uint32(parent)*0x9e3779b1 ^ uint32(name)) * 0x85ebca6b
	c := &p.cache[h>>22]
	if c.step == s && c.number > 0 { // Fast path: ranges repeat.
		return c.number - 1
	}
	id := p.find(s)
	*c = cached{s, id + 1}
	return id
}

// find looks a path up.
func (p *Paths) find(s step) int32 {
	if id, ok := p.ids[s]; ok {
		return id
	}
	if len(p.steps) >= maxPaths && s.parent >= 0 {
		return p.find(step{-1, s.name})
	}
	if p.ids == nil {
		p.ids = make(map[step]int32)
	}
	id := int32(len(p.steps))
	p.ids[s] = id
	p.steps = append(p.steps, s)
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
