package nsys

import "github.com/hostbound/hostbound/pkg/event"

// Reduced exports lack the columns that say which process a row is of. adopt
// finds the process that such rows can only be of, or are most likely of.

// adoptUnnamed gives rows that do not say their process to one: GPU rows to the
// process of the other GPU rows or else the one that launched most, host rows
// to the one with most tracks.
func (r *report) adoptUnnamed() {
	tracks, unnamedGPU := map[process]int{}, false
	for _, t := range r.tracks {
		if t.process == 0 {
			unnamedGPU = true
		} else {
			tracks[t.process]++
		}
	}
	unnamedHost := false
	for _, t := range r.threads {
		unnamedHost = unnamedHost || t.process == 0
	}
	candidates := tracks
	if unnamedGPU && len(candidates) == 0 {
		candidates = r.launchers()
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
	r.adopt(best)
	if len(candidates) > 1 {
		r.warn("some rows do not say their process and were given to process %d: export all columns to be sure", best.pid())
	}
}

// adopt makes the rows of an unnamed process those of process p.
func (r *report) adopt(p process) {
	for _, t := range r.tracks {
		if t.process == 0 {
			t.process = p
		}
	}
	for _, t := range r.threads {
		if t.process == 0 {
			t.process = p
		}
	}
	for key, name := range r.domains {
		if key.process == 0 {
			delete(r.domains, key)
			key.process = p
			if _, ok := r.domains[key]; !ok {
				r.domains[key] = name
			}
		}
	}
}

// launchers counts the launch calls of each process; where there are none its
// API calls, and where there are none of those either its forward-step markers
// or at last its ranges.
func (r *report) launchers() map[process]int {
	launch := func(class int8) bool { return class == int8(event.Launch) || class == int8(event.GraphLaunch) }
	step := func(class int8) bool { return class == int8(event.StepMarker) }
	any := func(int8) bool { return true }
	for _, rows := range []struct {
		kind event.Kind
		of   func(class int8) bool
	}{{event.API, launch}, {event.API, any}, {event.NVTX, step}, {event.NVTX, any}} {
		if n := r.countRows(rows.kind, rows.of); len(n) > 0 {
			return n
		}
	}
	return nil
}

// countRows counts the host rows of a kind and of some classes by process.
func (r *report) countRows(kind event.Kind, of func(class int8) bool) map[process]int {
	counts := make([]int, len(r.threads))
	for _, p := range r.chunks {
		if p.table.kind != kind {
			continue
		}
		for i, t := range p.owner {
			if of(p.class[i]) {
				counts[t]++
			}
		}
	}
	byProcess := map[process]int{}
	for t, n := range counts {
		if p := r.threads[t].process; n > 0 && p != 0 {
			byProcess[p] += n
		}
	}
	return byProcess
}
