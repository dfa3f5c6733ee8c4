package stat

import "math"

// quarters is how many parts of a run show how its level changes.
const quarters = 4

// extent is how the samples of a sequence lie.
type extent struct {
	least, most float64           // of all samples
	means       [quarters]float64 // of the parts in the order of time
}

// extentOf returns it for a mean to which the samples contributed u.
func extentOf(mean float64, u []float64) (s extent) {
	n := float64(len(u))
	s.least, s.most = math.Inf(1), math.Inf(-1)
	var of [quarters]float64
	for t, v := range u {
		s.least, s.most = min(s.least, mean+n*v), max(s.most, mean+n*v)
		of[t*quarters/len(u)]++
		s.means[t*quarters/len(u)] += v
	}
	for k := range s.means {
		s.means[k] = mean + n*s.means[k]/of[k]
	}
	return s
}

// error is the variance of the mean of the quarters, with its degrees of freedom.
func (s *extent) error() (variance, df float64) {
	mean := Mean(s.means[:])
	for _, v := range s.means {
		variance += (v - mean) * (v - mean)
	}
	return variance / (quarters * (quarters - 1)), quarters - 1
}

// showsLevels is the number of steps below which a run may show less of its levels than
// there is to them.
const showsLevels = 40

// farApart is by how many times all samples of one run are above all of the other where no
// scatter within them matters, in runs of showsLevels steps.
const farApart = 3

// Beyond tells of two runs, however alike their neighbouring samples are, whether no change
// of level inside either explains how far they are apart: all samples of one are beyond all
// of the other by more than those of either are from one another, in runs of less than
// showsLevels steps by as many times more; or, in longer ones, by a factor of farApart. Then the difference is that of a t-test of the
// means of the runs' quarters (Ibragimov and Müller 2010), which are not independent where
// a level lasts for longer than one: it is for differences that are too large for a state
// of the machine, which the caller must know.
//
// The factor for short runs is for levels that wander by more than they show there
// (TestBeyond counts how often such pairs are taken for a change). What it cannot know is a
// level that did not change within either run, and differs by as much as the runs do.
func Beyond(a, b *Estimate) (d Difference, ok bool) {
	d = Unknown(b.Mean - a.Mean)
	if a.runs > 1 || b.runs > 1 || !a.Known() || !b.Known() {
		return d, false
	}
	x, y := &a.extent, &b.extent
	low, high := x, y
	if low.least > high.least {
		low, high = y, x
	}
	steps, inside := min(a.Steps, b.Steps), max(x.most-x.least, y.most-y.least)
	far := steps >= showsLevels && low.least > 0 && high.least > farApart*low.most
	if !far && !(high.least-low.most > inside*max(1, showsLevels/steps)) {
		return d, false
	}
	va, dfa := x.error()
	vb, dfb := y.error()
	m := mixture{of: []component{welch(va, dfa, vb, dfb)}}
	half := m.beyond(1 - Level)
	d.Lo, d.Hi = d.Delta-half, d.Delta+half
	d.P = max(m.tail(math.Abs(d.Delta)), leastP(a.N, b.N))
	return d, true
}
