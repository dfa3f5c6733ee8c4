package compare

import "github.com/hostbound/hostbound/pkg/event"

// tornShare is the share of steps of another size from which the isolation of a
// run is torn: its steps are not what the engine did.
const tornShare = 0.1

// setup is how a run was recorded and its steps were found.
type setup struct {
	marker   string          // the expression for markers, "" for the presets
	captures map[string]bool // how CUDA graphs were recorded, as headers have it
}

// setupOf returns what a header says of how the run was recorded.
func setupOf(h *event.Header) setup {
	s := setup{marker: h.Isolation.Marker, captures: map[string]bool{}}
	for i := range h.Reports {
		if mode := h.Reports[i].Capture; mode != "" {
			s.captures[mode] = true
		}
	}
	return s
}

// examineSizes refuses a side in which many of the steps have another size than most.
func (c *Comparison) examineSizes(s *side) {
	size, torn := s.sizes()
	if n := len(s.samples.step); size > 1 && torn > tornShare*float64(n) {
		c.refuse("the isolation of %s is torn: %.0f of %d %s steps do not have %d all-reduce kernels as the others do; use --by nvtx where there are markers",
			s.run.Name, torn, n, c.opt.Phase, size)
	}
}

// sizes returns the most frequent size of the run's steps, and how many of those
// that were chosen have another one.
func (s *side) sizes() (size int64, torn float64) {
	for _, r := range s.samples.c.ranks {
		size = max(size, r.rank.size)
		for _, k := range r.steps {
			if one := r.rank.steps[k].size; one != 0 && int64(one) != r.rank.size {
				torn++
			}
		}
	}
	return size, torn
}

// examineSetup refuses sides whose steps were found in other ways, or are of other
// sizes.
func (c *Comparison) examineSetup() {
	a, b := c.base, c.target
	x, _ := a.sizes()
	y, _ := b.sizes()
	if x != y && x > 0 && y > 0 {
		c.refuse("a step has %d all-reduce kernels in the baseline and %d in the target: it is another model or another parallelism, or steps were cut differently; --by nvtx cuts them by markers", x, y)
	}
	if a.run.setup.marker != b.run.setup.marker {
		c.refuse("steps were found by the markers %q in the baseline and %q in the target: isolate both with the same --marker", a.run.setup.marker, b.run.setup.marker)
	}
	if m, n := a.run.setup.captures, b.run.setup.captures; m["node"] != n["node"] && m["graph"] != n["graph"] && c.Comparable {
		c.warn("only one side was recorded with --cuda-graph-trace=node, which slows graph replays down")
	}
}
