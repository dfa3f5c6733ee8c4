package metric

import "slices"

// steady describes the steady steps of all ranks, nil where there are none.
func steady(ranks []*rank) *Steady {
	var s Steady
	var period, kernels, whole int64
	var gaps []int64
	for _, r := range ranks {
		for _, k := range r.walk.Steady() {
			one, t := &r.walk.Steps[k], &r.steps[k]
			s.Steps++
			period += one.Period()
			kernels += t.kernels
			whole += t.whole
			if gap := one.Period() - (one.End - one.Start); gap > 0 {
				gaps = append(gaps, gap)
			}
		}
	}
	if s.Steps == 0 {
		return nil
	}
	s.Wall = float64(period) / float64(s.Steps)
	if whole == 0 {
		mean := float64(kernels) / float64(s.Steps)
		s.Kernels = &mean
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		m := median(gaps)
		s.GapP50 = &m
	}
	return &s
}

// median returns the median of sorted numbers.
func median(sorted []int64) float64 {
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return float64(low) + float64(high-low)/2
}
