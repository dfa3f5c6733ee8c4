package compare

import (
	"fmt"
	"slices"
)

// Run is the profile of one run: per-step samples of all that can be compared.
type Run struct {
	// Name is what the run is called.
	Name string
	// Method is how its steps were isolated.
	Method string
	// Ranks is the number of ranks that its files have.
	Ranks int
	// Ranges tells whether NVTX ranges were recorded at all.
	Ranges bool
	// Warnings says what is wrong with its files, a sentence each.
	Warnings []string

	repeats int        // how many runs of one version these are, at least 1
	ranks   []*profile // those with steps, by run and number
	names   [numSections]*names
}

// profile is what is left of a rank.
type profile struct {
	run      int // of several that are repeats of one another
	id       int32
	lanes    int
	steps    []step
	window   window
	sections [numSections]section
	ranges   bool
	counts   bool  // numbers of requests are known in the benchmark segment
	gen      int32 // the number of generation requests in a steady step
}

func (r *rank) profile() *profile {
	p := &profile{
		id: r.id, lanes: len(r.lanes), steps: r.steps, window: r.window, sections: r.sections, ranges: r.nvtx,
	}
	p.settle()
	return p
}

// settle finds out what the steps of the benchmark segment have in common.
func (p *profile) settle() {
	p.gen = unknown
	for i := range p.steps {
		s := &p.steps[i]
		if !p.inBenchmark(s) || s.ctx == unknown {
			continue
		}
		p.counts = true
		if s.ctx == 0 {
			p.gen = max(p.gen, s.gen)
		}
	}
}

// inBenchmark tells whether a step is in the benchmark segment. Where there is no
// such segment all steps are.
func (p *profile) inBenchmark(s *step) bool {
	return p.window.segment < 0 || s.segment == p.window.segment
}

// settle puts the ranks in order and leaves out those without steps.
func (r *Run) settle() {
	for _, p := range r.ranks {
		if len(p.steps) == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("rank %d has no steps and is not in the figures", p.id))
		}
	}
	r.ranks = slices.DeleteFunc(r.ranks, func(p *profile) bool { return len(p.steps) == 0 })
	slices.SortFunc(r.ranks, func(a, b *profile) int { return int(a.id - b.id) })
}

// hasCounts tells whether the numbers of requests of steps are known.
func (r *Run) hasCounts() bool {
	return slices.ContainsFunc(r.ranks, func(p *profile) bool { return p.counts })
}

// batch is the numbers of requests of a step.
type batch struct{ ctx, gen int32 }

// choice is the steps of a run that are looked at.
type choice struct {
	run   *Run
	ranks []chosen
	n     int // rank-steps
	// whole is how many of them are whole, that is not cut.
	whole int
	// longest is the largest number of whole steps of a rank.
	longest int
}

// chosen is the chosen steps of a rank, in their order.
type chosen struct {
	rank  *profile
	steps []int32
}

// choose returns the steps of the benchmark segments that keep says.
func (r *Run) choose(keep func(p *profile, s *step) bool) choice {
	c := choice{run: r}
	for _, p := range r.ranks {
		one := chosen{rank: p}
		whole := 0
		for i := range p.steps {
			s := &p.steps[i]
			if p.inBenchmark(s) && keep(p, s) {
				one.steps = append(one.steps, int32(i))
				if !s.cut {
					whole++
				}
			}
		}
		c.ranks = append(c.ranks, one)
		c.n += len(one.steps)
		c.whole += whole
		c.longest = max(c.longest, whole)
	}
	return c
}

// Phases that steps can be chosen by.
const (
	Steady     = "steady"
	Context    = "context"
	Generation = "generation"
	All        = "all"
)

// phase returns the steps of a phase.
func (r *Run) phase(name string) choice {
	switch name {
	case Context:
		return r.choose(func(_ *profile, s *step) bool { return s.ctx > 0 })
	case Generation:
		return r.choose(func(p *profile, s *step) bool { return s.ctx == 0 && s.gen > 0 })
	case All:
		return r.choose(func(*profile, *step) bool { return true })
	}
	return r.choose(func(p *profile, s *step) bool {
		return !p.counts || s.ctx == 0 && s.gen == p.gen
	})
}

// batches returns how many whole steps there are of each batch.
func (c *choice) batches() map[batch]int {
	count := map[batch]int{}
	for _, r := range c.ranks {
		for _, i := range r.steps {
			if s := &r.rank.steps[i]; !s.cut {
				count[batch{s.ctx, s.gen}]++
			}
		}
	}
	return count
}
