package stat

import "math"

// maxCosines is how many cosine coefficients of a sequence are kept, at most: the
// lowest frequencies, of which the long-run variance is made.
const maxCosines = 64

// priorMemory is how probable it is beforehand that steps have memory, in runs of
// fewForMemory steps and more. Of its shapes each is the less probable the larger it makes
// the variance of the mean: were they equally probable, states that outlast the run,
// which leave no trace in it, would hide every difference. Measured: with 0.05 intervals
// of correlated samples are too narrow (92 %); with 0.2 those of independent ones are too
// wide (97.5 %, and a tenth of the differences that 0.12 finds in 50 steps is lost);
// without the weights they are wider still, and a difference of eight standard errors has
// a p of 0.001. In shorter runs shortMemory of what they are short of is added:
// else one pair in ten of 20 steps that wander is taken for changed.
const (
	priorMemory  = 0.12
	shortMemory  = 0.1
	fewForMemory = 50.0
)

// boldSteps is the number of steps from which on the weights are full. A short run
// says little about its own memory, and is not to be believed as much.
const boldSteps = 100.0

// shape is one way in which neighbouring steps may resemble each other: noise
// without memory of variance white and a state of variance state that is
// forgotten within tau steps (an autoregression of first order); or, where order is
// not 0, fractionally integrated noise of that order, whose correlations have no sum
// (Hosking 1981), made of innovations of variance 1.
type shape struct {
	white, state float64
	tau          float64 // steps
	order        float64
	prior        float64
}

// maxOrder is the highest order of integration considered, in hundredths. Beyond it
// a mean varies so much that most differences would be lost.
const maxOrder = 35

// shapes are the ways considered for a sequence of so many steps: no memory,
// memory alone, and memory below the noise, for times of memory from one step to
// the whole sequence; and memory without an end, which is also what several times
// together look like.
func shapes(steps, n float64) []shape {
	bold := min(1, n/boldSteps)
	memory := priorMemory + shortMemory*max(0, 1-n/fewForMemory)
	all := []shape{{white: 1, prior: 1 - memory}}
	for tau := 1.0; tau <= 8*steps; tau *= 2 {
		all = append(all, shape{state: 1, tau: tau})
		for excess := 1.0; excess <= 2*tau; excess *= 4 {
			// The long-run variance is that of the noise and excess times as much.
			all = append(all, shape{white: 1, state: excess / (2 * tau), tau: tau})
		}
	}
	for percent := 5; percent <= maxOrder; percent += 5 {
		all = append(all, shape{order: float64(percent) / 100})
	}
	rest := 0.0
	for k := range all[1:] {
		s := &all[k+1]
		ratio := s.ofMean(n) * n // without memory it is the white part, or the variance
		if s.order > 0 {
			ratio /= s.variance()
		}
		s.prior = math.Pow(ratio, -bold)
		rest += s.prior
	}
	for k := range all[1:] {
		all[k+1].prior *= memory / rest
	}
	return all
}

// variance is that of a step.
func (s *shape) variance() float64 {
	if d := s.order; d > 0 {
		return math.Gamma(1-2*d) / (math.Gamma(1-d) * math.Gamma(1-d))
	}
	return s.white + s.state
}

// ofMean is the variance of the mean of n steps; of integrated noise it is that of
// Sowell (1990).
func (s *shape) ofMean(n float64) float64 {
	if d := s.order; d > 0 {
		above, _ := math.Lgamma(1 + d + n)
		below, _ := math.Lgamma(n - d)
		sum := math.Exp(above-below) - math.Gamma(1+d)/math.Gamma(-d)
		return sum * math.Gamma(1-2*d) / ((1 + 2*d) * math.Gamma(1+d) * math.Gamma(1-d)) / (n * n)
	}
	return s.white/n + s.state*s.memory(n)/n
}

// memory is by how much the variance of a mean of n steps is above that of n
// independent ones, of the state alone.
func (s *shape) memory(n float64) float64 {
	if s.state == 0 {
		return 1
	}
	phi := math.Exp(-1 / s.tau)
	return (1+phi)/(1-phi) - 2*phi*(1-math.Pow(phi, n))/(n*(1-phi)*(1-phi))
}

// density is the expected square of a cosine coefficient at a frequency (radians
// per bin) where each bin is the mean of per steps.
func (s *shape) density(omega, per float64) float64 {
	if s.order > 0 {
		return math.Pow(2*math.Sin(omega/per/2), -2*s.order) / per
	}
	d := s.white / per
	if s.state > 0 {
		phi := math.Exp(-per / s.tau)
		d += s.state * s.memory(per) / per * (1 - phi*phi) / (1 - 2*phi*math.Cos(omega) + phi*phi)
	}
	return d
}
