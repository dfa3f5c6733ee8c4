package compare

// perMarker is how many steps a forward-step marker may have, where steps were found by
// other means: some markers may be lost, but not every third.
const perMarker = 1.5

// examineMarkers refuses a side whose steps are not the iterations that forward-step
// markers show: cut into pieces, grown together, or without a marker of their own. By
// other means than markers the GPU's steps and the host's markers do not coincide, so
// their numbers are compared.
func (c *Comparison) examineMarkers(s *side) {
	for _, r := range s.samples.c.ranks {
		p := r.rank
		if p.lacks {
			c.refuse("the isolation of %s is torn: more than a tenth of the steps of rank %d hold an iteration without a marker; use another --by than nvtx", s.run.Name, p.id)
			return
		}
		all, decoding := p.markers(r.steps)
		switch {
		case s.run.Method == "nvtx" || all == 0:
		case float64(p.to-p.from) > perMarker*float64(all):
			c.refuse("the isolation of %s is torn: rank %d has %d steps by %s and %d forward-step markers; use --by nvtx", s.run.Name, p.id, p.to-p.from, s.run.Method, all)
			return
		case float64(decoding) > (1+tornShare)*float64(len(r.steps))+1:
			c.refuse("the isolation of %s is torn: %s of rank %d by %s hold %d forward-step markers; use --by nvtx", s.run.Name, c.counted(len(r.steps)), p.id, s.run.Method, decoding)
			return
		}
	}
}

// markers returns how many forward-step markers start in the benchmark segment, and how
// many without context requests in some of its steps.
func (p *profile) markers(of []int32) (all, decoding int) {
	steps := p.steps.Reader()
	for k := p.from; k < p.to; k++ {
		all += int(steps.At(k).markers)
	}
	for _, k := range of {
		decoding += int(steps.At(int(k)).decoding)
	}
	return all, decoding
}
