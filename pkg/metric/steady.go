package metric

import "slices"

// steady describes the steady steps of all ranks, nil where there are none.
func steady(ranks []*rank) *Steady {
	var s Steady
	var period, kernels, whole int64
	var gaps []int64
	for _, r := range ranks {
		r.eachSteady(func(step *sample) {
			s.Steps++
			period += step.period
			kernels += step.kernels
			whole += step.whole
			if gap := step.period - (step.end - step.start); gap > 0 {
				gaps = append(gaps, gap)
			}
		})
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

// eachSteady calls f with each steady step of the rank.
func (r *rank) eachSteady(f func(*sample)) {
	segment := int32(r.benchmark())
	counted, most := false, int64(-1)
	for i := range r.samples {
		s := &r.samples[i]
		if segment >= 0 && s.segment != segment {
			continue
		}
		counted = counted || s.ctx >= 0
		if s.ctx == 0 {
			most = max(most, s.gen)
		}
	}
	for i := range r.samples {
		s := &r.samples[i]
		if segment >= 0 && s.segment != segment {
			continue
		}
		if !counted || s.ctx == 0 && s.gen == most {
			f(s)
		}
	}
}

// median returns the median of sorted numbers.
func median(sorted []int64) float64 {
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return float64(low) + float64(high-low)/2
}
