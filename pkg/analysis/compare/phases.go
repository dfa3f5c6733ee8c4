package compare

// PhasePair compares one phase of both runs as a whole. Steps of equal numbers of
// requests are compared where both sides have some.
type PhasePair struct {
	// Baseline and Target are null where a run has no such steps.
	Baseline *PhaseFigures `json:"baseline"`
	Target   *PhaseFigures `json:"target"`
	// Wall and Idle compare steps of equal numbers of requests, as many of each
	// on both sides. Matched is false where there are too few of
	// them: both are without figures then.
	Wall    Row  `json:"wall"`
	Idle    Row  `json:"idle"`
	Matched bool `json:"matched"`
}

// PhaseFigures are means over the rank-steps of a phase, us; null where there are no
// samples.
type PhaseFigures struct {
	Steps     int      `json:"steps"`         // rank-steps
	Wall      *float64 `json:"wall_us"`       // period
	Busy      *float64 `json:"busy_us"`       // of all GPUs of a rank
	Idle      *float64 `json:"idle_us"`       // likewise
	TotalIdle *float64 `json:"total_idle_us"` // over all steps, no mean
}

// phase returns the means of the steps of a side, nil where there are none.
func (s *side) phase() *PhaseFigures {
	if s.samples.n == 0 {
		return nil
	}
	f := &PhaseFigures{
		Steps: s.samples.n, Wall: number(s.figures[wall].Mean),
		Busy: number(s.figures[busyTime].Mean), Idle: number(s.figures[idleTime].Mean),
	}
	f.TotalIdle = number(s.figures[idleTime].Mean * float64(f.Steps))
	return f
}

// comparePhases compares context and generation steps.
func (c *tester) comparePhases() map[string]PhasePair {
	all := map[string]PhasePair{}
	if c.base.run.hasCounts() {
		for _, name := range []string{Context, Generation} {
			all[name] = c.comparePhase(name)
		}
	}
	return all
}

// comparePhase measures the steps of a phase on both sides, and compares those that
// have equal numbers of requests.
func (c *tester) comparePhase(name string) PhasePair {
	a := c.base.run.phase(name)
	one := &tester{&Comparison{opt: c.opt}}
	p := PhasePair{Wall: Row{Name: wall}, Idle: Row{Name: idleTime}}
	if c.target == nil {
		one.base = measureFigures(a, 1, phaseFigures)
		p.Baseline = one.base.phase()
		return p
	}
	b := c.target.run.phase(name)
	p.Baseline, p.Target = measureFigures(a, 1, phaseFigures).phase(), measureFigures(b, 1, phaseFigures).phase()
	if one.match(&a, &b); a.n == 0 || b.n == 0 || !c.Comparable {
		return p
	}
	one.base, one.target = measureFigures(a, 1, phaseFigures), measureFigures(b, 1, phaseFigures)
	one.Comparable = one.base.perRank() >= minSteps && one.target.perRank() >= minSteps
	p.Matched = one.Comparable
	p.Wall, p.Idle = one.figureRow(wall), one.figureRow(idleTime)
	return p
}
