package replay

import "slices"

// Gains are what treatments bring: by how much shorter a step of the benchmark segment is, the
// mean over these, with each of them alone. Where a stream has no steps, each rank's recording is one.
type Gains struct {
	Steps  int     // of all ranks
	StepUs float64 // a step now
	Each   []Gain  // as the treatments were given
}

// Gain is by how much shorter a step is, in us. It is negative where it is longer.
type Gain struct {
	Us float64
	CI *[2]float64 // 95 % over steps, nil where there are too few
	// OlderUs is the gain if waits for events were for one record earlier where the run does not
	// say which; nil where that differs by no more than 2 % of the step.
	OlderUs *float64
	Half    int // in how few steps more than half of it is, 0 where it is none
}

// Each replays treatments, each alone.
func (t *Trace) Each(treatments []Scenario) (*Gains, error) { return t.each(treatments, false) }

// Means is [Trace.Each] without intervals, and without what they take longest for: waits for other
// threads that keep their length.
func (t *Trace) Means(treatments []Scenario) (*Gains, error) { return t.each(treatments, true) }

func (t *Trace) each(treatments []Scenario, means bool) (*Gains, error) {
	know, l, err := t.learn()
	if err != nil {
		return nil, err
	}
	p := &predictor{t: t, know: know, learner: l, chosen: t.benchmark(), all: true, means: means}
	if len(p.chosen) == 0 {
		p.chosen = t.whole()
	}
	if len(p.chosen) == 0 {
		return nil, ErrNoSteps
	}
	g := &Gains{Steps: len(p.chosen)}
	if err := p.add(treatments...); err != nil {
		return nil, err
	}
	g.StepUs = p.mean(p.now) / 1e3
	for i := range p.rows {
		one := p.gain(&p.rows[i])
		if steps := p.unlike(&treatments[i]); steps != nil && (t.sampled != nil || len(treatments[i].Changes) == 0) {
			one = t.ofAll(steps)
		}
		g.Each = append(g.Each, one)
	}
	return g, nil
}

// gain is what a row of periods brings.
func (p *predictor) gain(row *predicted) Gain {
	now, then := p.mean(p.now), p.mean(row.periods)
	g := Gain{Us: (now - then) / 1e3}
	g.Half = p.half(row)
	if !p.means {
		g.CI = p.interval(row)
	}
	if v := p.otherwise(row.older, then, now); v != nil {
		g.OlderUs = new(now/1e3 - *v)
	}
	return g
}

// half is in how few steps more than half of what a row of periods brings is.
func (p *predictor) half(row *predicted) (n int) {
	gains, sum := make([]float64, len(p.now)), 0.0
	for i := range gains {
		gains[i] = p.now[i] - row.periods[i]
		sum += gains[i]
	}
	slices.Sort(gains)
	for got := 0.0; sum > 0 && 2*got <= sum; n++ {
		got += gains[len(gains)-1-n]
	}
	return n
}
