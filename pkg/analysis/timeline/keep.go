package timeline

import "slices"

// worst keeps the steps with the largest weights, the largest first.
type worst struct {
	limit int
	steps []*Step
}

// wants reports whether a step of a weight would be kept.
func (w *worst) wants(weight int64) bool {
	return len(w.steps) < w.limit || w.limit > 0 && weight > w.steps[w.limit-1].weight
}

// add keeps a step if it is one of the worst; of equal ones the earlier.
func (w *worst) add(s *Step) {
	if !w.wants(s.weight) {
		return
	}
	k := slices.IndexFunc(w.steps, func(t *Step) bool { return t.weight < s.weight })
	if k < 0 {
		k = len(w.steps)
	}
	w.steps = slices.Insert(w.steps, k, s)
	s.refs++
	if len(w.steps) > w.limit {
		w.steps[w.limit].refs--
		w.steps = w.steps[:w.limit]
	}
}

// release gives up all steps.
func (w *worst) release() {
	for _, s := range w.steps {
		s.refs--
	}
	w.steps = nil
}

// spread keeps a pseudo-random sample of the steps, the same one in every run of the
// program. Steps of a phase may come at regular intervals: evenly spaced ones might all
// be of that phase, or none.
type spread struct {
	limit, seen int
	steps       []*Step // by their places in the draw, the lowest first
	drawn       []uint64
}

// place returns the place of the next step in the draw.
func (p *spread) place() uint64 {
	x := uint64(p.seen) + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// wants reports whether the next step would be kept.
func (p *spread) wants() bool {
	return len(p.steps) < p.limit || p.limit > 0 && p.place() < p.drawn[p.limit-1]
}

// add counts a step, and keeps it if it is drawn.
func (p *spread) add(s *Step) {
	keep, place := p.wants(), p.place()
	p.seen++
	if !keep {
		return
	}
	s.refs++
	k, _ := slices.BinarySearch(p.drawn, place)
	p.steps, p.drawn = slices.Insert(p.steps, k, s), slices.Insert(p.drawn, k, place)
	if len(p.steps) > p.limit {
		p.steps[p.limit].refs--
		p.steps, p.drawn = p.steps[:p.limit], p.drawn[:p.limit]
	}
}
