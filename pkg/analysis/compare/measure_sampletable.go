package compare

import (
	"math"

	"github.com/hostbound/hostbound/pkg/stat"
)

// sampleTable is the layout of the chosen steps of a run: one sample per rank-step, rank
// after rank. A row becomes one number per sample.
//
// Figures are means over all samples. Their uncertainty is estimated from bins. Samples
// at the same place in their rank's steps share a slot. Ranks run in step, so what
// affects all of them at once is one observation, not several. Neighbouring slots share
// a bin if there are more than stat.MaxBins. Of several repeated runs, each is one bin.
//
// If batches are matched, the steps of each batch are a group, and steps contribute
// their deviation from the mean of their group. Otherwise there is one group.
type sampleTable struct {
	c     choice
	at    [][]int32 // sample of a step, by rank and step; -1 if not chosen
	n     int       // number of samples
	first []int     // first sample of each rank, then n
	group []int32   // by sample
	slot  []int32   // by sample
	bin   []int32   // by sample
	slots int       // steps of the longest rank, summed over runs
	bins  int
	runs  int     // repeated runs
	runOf []int32 // by slot

	// Scratch of estimates, so a table is not safe for concurrent use.
	est stat.Estimator
	all []sums    // by group
	u   []float64 // by bin
}

// sums are over the samples of a group: their sum, number and mean, and the factor from
// a sample's deviation to its contribution.
type sums struct{ sum, n, mean, part float64 }

// newSampleTable lays out the chosen steps. longer is how many times as many they are as
// those of the other side.
func newSampleTable(c choice, longer float64) *sampleTable {
	s := &sampleTable{c: c, est: stat.Estimator{Longer: longer}}
	groups := map[batch]int32{}
	for _, r := range c.ranks {
		at := make([]int32, len(r.rank.steps))
		for i := range at {
			at[i] = -1
		}
		s.first = append(s.first, s.n)
		for _, i := range r.steps {
			var b batch
			if c.matched {
				b = r.rank.steps[i].batch()
			}
			if _, ok := groups[b]; !ok {
				groups[b] = int32(len(groups))
			}
			s.group = append(s.group, groups[b])
			at[i] = int32(s.n)
			s.n++
		}
		s.at = append(s.at, at)
	}
	s.first = append(s.first, s.n)
	s.putInBins()
	s.all = make([]sums, len(groups))
	s.u = make([]float64, s.bins)
	return s
}

// putInBins assigns samples to slots and bins. A slot is a place in the order of a run's
// steps. Ranks run the same step at the same time, and what one rank's sample shows, the
// others show, too: they count as one observation. Ranks with fewer steps are spread
// over the slots of the rank with the most. Neighbouring slots are joined to at most
// stat.MaxBins bins. Of several runs each is one bin, because runs differ from each
// other more than their steps show.
func (s *sampleTable) putInBins() {
	s.runs = len(s.c.run.repeats)
	length, first := make([]int, s.runs), make([]int, s.runs)
	for k := range s.at {
		run := s.c.ranks[k].rank.run
		length[run] = max(length[run], s.first[k+1]-s.first[k])
	}
	for run, n := range length {
		first[run] = s.slots
		s.slots += n
		for range n {
			s.runOf = append(s.runOf, int32(run))
		}
	}
	s.slot, s.bin = make([]int32, s.n), make([]int32, s.n)
	s.bins = min(s.slots, stat.MaxBins)
	if s.runs > 1 {
		s.bins = s.runs
	}
	for k := range s.at {
		run := s.c.ranks[k].rank.run
		from, of := s.first[k], s.first[k+1]-s.first[k]
		for p := from; p < from+of; p++ {
			s.slot[p] = int32(first[run] + (p-from)*length[run]/of)
			if s.bin[p] = int32(run); s.runs == 1 {
				s.bin[p] = int32(int(s.slot[p]) * s.bins / s.slots)
			}
		}
	}
}

// estimate returns the mean of x, by sample, times scale. NaN samples do not count. With
// fewer than stat.MinSamples others, the uncertainty is unknown.
func (s *sampleTable) estimate(x []float64, scale float64) stat.Estimate {
	clear(s.all)
	sum, count := 0.0, 0.0
	for p, v := range x {
		if v == v {
			a := &s.all[s.group[p]]
			a.sum, a.n = a.sum+v, a.n+1
			sum, count = sum+v, count+1
		}
	}
	for g := range s.all {
		a := &s.all[g]
		a.mean, a.part = a.sum/a.n, scale/count
		if s.c.matched && a.n > 1 {
			// The mean of each batch costs a degree of freedom.
			a.part *= math.Sqrt(a.n / (a.n - 1))
		}
	}
	clear(s.u)
	for p, v := range x {
		if v == v {
			a := &s.all[s.group[p]]
			s.u[s.bin[p]] += (v - a.mean) * a.part
		}
	}
	e := s.uncertain(sum / count * scale)
	if count < stat.MinSamples {
		e.N = 0
	}
	return e
}

// uncertain returns the estimate of a mean from the contributions of bins in u.
func (s *sampleTable) uncertain(mean float64) stat.Estimate {
	if s.runs > 1 {
		return stat.Repeated(mean, s.u, s.slots)
	}
	return s.est.Influence(mean, s.u, float64(s.slots))
}

// nothing returns the estimate for a row that the run does not have.
func (s *sampleTable) nothing() *stat.Estimate {
	clear(s.u)
	return new(s.uncertain(0))
}

// perBin returns the mean of x in each bin.
func (s *sampleTable) perBin(x []float64) []float64 {
	sums, counts := make([]float64, s.bins), make([]float64, s.bins)
	for p, v := range x {
		sums[s.bin[p]] += v
		counts[s.bin[p]]++
	}
	for b := range sums {
		sums[b] /= counts[b]
	}
	return sums
}

// ofBins estimates the mean of one value per bin. NaN and infinite ones do not count.
func (s *sampleTable) ofBins(x []float64) stat.Estimate {
	if s.runs == 1 {
		return s.est.Mean(numbers(x))
	}
	return s.ofRuns(numbers(x))
}

// each returns f of each sample's step.
func (s *sampleTable) each(f func(st *step, gpus float64) float64) []float64 {
	x := make([]float64, 0, s.n)
	for _, r := range s.c.ranks {
		for _, i := range r.steps {
			x = append(x, f(&r.rank.steps[i], float64(r.rank.gpus)))
		}
	}
	return x
}

// spread returns the values of x that are not NaN, by bin and sorted.
func (s *sampleTable) spread(x []float64) stat.Sequence {
	bins := make([][]float64, s.bins)
	for p, v := range x {
		if v == v {
			bins[s.bin[p]] = append(bins[s.bin[p]], v)
		}
	}
	d := stat.Sequence{Bins: bins, Steps: float64(s.slots)}
	d.Sorted() // here, because sides are measured concurrently
	return d
}

// largest returns the largest value of x over ranks, by slot, 0 if there is none.
func (s *sampleTable) largest(x []float64) []float64 {
	y := make([]float64, s.slots)
	for p, v := range x {
		if v == v {
			y[s.slot[p]] = max(y[s.slot[p]], v)
		}
	}
	return y
}

// ofRuns estimates a mean from its value in each run. For one run it is a constant: the
// variance between runs is then that of the other side, if that has several.
func (s *sampleTable) ofRuns(x []float64) stat.Estimate {
	mean := stat.Mean(x)
	if s.runs == 1 {
		return stat.Constant(mean, s.bins, float64(s.slots))
	}
	u := make([]float64, len(x))
	for run := range u {
		u[run] = (x[run] - mean) / float64(len(x))
	}
	return stat.Repeated(mean, u, s.slots)
}

// Figures of a step in the summary, in ns. wallOf is the period.
func wallOf(s *step, _ float64) float64 { return float64(s.period) }

// busyOf is the activity of all GPUs.
func busyOf(s *step, _ float64) float64 { return float64(s.busy) }

// idleOf is the time of all GPUs in the period that is not busy.
func idleOf(s *step, gpus float64) float64 { return gpus*float64(s.period) - float64(s.busy) }

// gapOf is the time from the end of a step to the next one, NaN if it is not positive.
func gapOf(s *step, _ float64) float64 {
	if gap := s.period - s.extent; gap > 0 {
		return float64(gap)
	}
	return math.NaN()
}
