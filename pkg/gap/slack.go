package gap

import "slices"

// maxSlack is how many samples of a step's slack are kept. Where there are more,
// every second one is dropped, and so on.
const maxSlack = 1 << 13

// nearZero is the slack, in ns, up to which the GPU waited for the launch: the
// time between the return of a launch call and the start of its kernel on a GPU
// that has nothing else to do.
const nearZero = 10_000

// slackSample is the launch slack of the open step: for the first kernel of each
// launch, how long after the launch call's return it started.
type slackSample struct {
	values  []int64
	pending int // index from which on they are after the segment, -1 for none
	stride  int // one value in so many is kept
	skip    int
}

// slackOfStep sums up the slack of one step.
type slackOfStep struct {
	count         int64 // launches
	near          int64 // of them those with slack near zero
	min, p10, p50 int64
}

// addSlack observes the slack of a launch.
func (r *rank) addSlack(ns int64) {
	s := &r.slackNow
	if s.skip > 0 {
		s.skip--
		return
	}
	if len(s.values) >= maxSlack {
		n := 0
		for i := 0; i < len(s.values); i += 2 {
			s.values[n] = s.values[i]
			n++
		}
		s.values = s.values[:n]
		if s.pending >= 0 {
			s.pending = (s.pending + 1) / 2
		}
		s.stride = max(1, s.stride) * 2
	}
	s.values = append(s.values, ns)
	s.skip = max(0, s.stride-1)
}

// endSlack sums up the slack since the last time.
func (r *rank) endSlack(sum *slackOfStep) {
	s := &r.slackNow
	*sum = summarise(s.values)
	scale := int64(max(1, s.stride))
	sum.count *= scale
	sum.near *= scale
	s.values, s.pending, s.stride, s.skip = s.values[:0], -1, 0, 0
}

func summarise(values []int64) (s slackOfStep) {
	if len(values) == 0 {
		return s
	}
	slices.Sort(values)
	for _, v := range values {
		if v <= nearZero {
			s.near++
		}
	}
	s.count = int64(len(values))
	s.min, s.p10, s.p50 = values[0], quantile(values, 0.1), quantile(values, 0.5)
	return s
}

// quantile returns a quantile of sorted values, interpolated linearly.
func quantile(sorted []int64, q float64) int64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + int64((at-float64(i))*float64(sorted[i+1]-sorted[i]))
}
