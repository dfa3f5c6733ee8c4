package nsys

import "github.com/hostbound/hostbound/pkg/trace/event"

// Reduced exports lack the columns that say which process a row belongs to. adopt finds
// the only possible or the most likely process of such rows.

// adoptUnnamed assigns rows without a process to one. GPU rows go to the process of the
// other GPU rows, or else to the one that launched most; host rows go to the one with
// most tracks.
func (c *census) adoptUnnamed() {
	tracks, unnamedGPU := map[process]int64{}, false
	for _, t := range c.tracks {
		if t.process == 0 {
			unnamedGPU = true
		} else {
			tracks[t.process]++
		}
	}
	unnamedHost := false
	for _, t := range c.threads {
		unnamedHost = unnamedHost || t.process == 0
	}
	candidates := tracks
	if unnamedGPU && len(candidates) == 0 {
		candidates = c.launchers()
	}
	if !unnamedGPU && !unnamedHost || len(candidates) == 0 {
		return
	}
	var best process
	for p, n := range candidates {
		if b := candidates[best]; n > b || n == b && p < best {
			best = p
		}
	}
	c.adopt(best)
	if len(candidates) > 1 {
		c.warn("some rows do not say their process and were given to process %d: export all columns to be sure", best.pid())
	}
}

// adopt assigns the rows of the unnamed process (0) to process p. Rows hold numbers of
// tracks and threads, so none has to be rewritten. Domains that p already has keep
// their names.
func (c *census) adopt(p process) {
	for _, t := range c.tracks {
		if t.process == 0 {
			t.process = p
		}
	}
	for _, t := range c.threads {
		if t.process == 0 {
			t.process = p
		}
	}
	for n := range c.processes {
		if c.processes[n] == 0 {
			c.processes[n] = p
		}
	}
	for key, name := range c.domains {
		if key.process == 0 {
			delete(c.domains, key)
			key.process = p
			if _, ok := c.domains[key]; !ok {
				c.domains[key] = name
			}
		}
	}
}

// launchers counts the launch calls of each process. If there are none it counts API
// calls, else forward-step markers, else NVTX ranges.
func (c *census) launchers() map[process]int64 {
	for _, count := range []func(f *threadFacts) int64{
		func(f *threadFacts) int64 { return f.Classes[event.Launch] + f.Classes[event.GraphLaunch] },
		func(f *threadFacts) int64 { return f.Kinds[event.API] },
		func(f *threadFacts) int64 { return f.Classes[event.StepMarker] },
		func(f *threadFacts) int64 { return f.Kinds[event.NVTX] },
	} {
		counts := map[process]int64{}
		for n := range c.threadFacts {
			if p, rows := c.threads[n].process, count(&c.threadFacts[n]); p != 0 && rows > 0 {
				counts[p] += rows
			}
		}
		if len(counts) > 0 {
			return counts
		}
	}
	return nil
}
