package nsys

// Reduced exports lack the columns that say which process a row is of. adopt
// finds the process that such rows can only be of, or are most likely of.

// adoptUnnamed gives rows that do not say their process to one: GPU rows to the
// process of the other GPU rows or else the one that launched most, host rows
// to the one with most tracks.
func (r *report) adoptUnnamed() {
	tracks, unnamedGPU := map[process]int64{}, false
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

// adopt makes the rows of an unnamed process (0) those of process p: rows hold the numbers of
// tracks and threads, so that none of them has to be written again. A domain that p has
// already keeps its name.
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
	for n := range r.processes {
		if r.processes[n] == 0 {
			r.processes[n] = p
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
func (r *report) launchers() map[process]int64 {
	for _, count := range []func(f *threadFacts) int64{
		func(f *threadFacts) int64 { return f.tally[tallyLaunch] + f.tally[tallyGraphLaunch] },
		func(f *threadFacts) int64 { return f.calls },
		func(f *threadFacts) int64 { return f.tally[tallyMarker] },
		func(f *threadFacts) int64 { return f.ranges },
	} {
		counts := map[process]int64{}
		for n := range r.threadFacts {
			if p, rows := r.threads[n].process, count(&r.threadFacts[n]); p != 0 && rows > 0 {
				counts[p] += rows
			}
		}
		if len(counts) > 0 {
			return counts
		}
	}
	return nil
}
