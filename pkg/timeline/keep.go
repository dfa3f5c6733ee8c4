package timeline

import "slices"

// worst keeps the steps with the largest weights, the worst first.
type worst struct {
	limit int
	steps []*Step
}

// wants tells whether a step of some weight would be kept.
func (w *worst) wants(weight int64) bool {
	return len(w.steps) < w.limit || w.limit > 0 && weight > w.steps[w.limit-1].weight
}

// add keeps a step, where it is one of the worst: of equal ones the earlier.
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

// release lets go of all steps.
func (w *worst) release() {
	for _, s := range w.steps {
		s.refs--
	}
	w.steps = nil
}

// spread keeps steps that are evenly spread over those that it was given.
type spread struct {
	limit, stride, seen int
	steps               []*Step
}

// wants tells whether the next step would be kept.
func (p *spread) wants() bool { return p.limit > 0 && p.seen%max(p.stride, 1) == 0 }

// add counts a step, and keeps it where it is its turn.
func (p *spread) add(s *Step) {
	keep := p.wants()
	p.seen++
	if !keep {
		return
	}
	s.refs++
	if p.steps = append(p.steps, s); len(p.steps) <= p.limit {
		return
	}
	p.stride = 2 * max(p.stride, 1)
	half := p.steps[:0]
	for k, s := range p.steps {
		if k%2 == 0 {
			half = append(half, s)
		} else {
			s.refs--
		}
	}
	p.steps = half
}
