package straggler

import (
	"fmt"
	"math"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// What the ends of collectives of one run agree within, whatever their clocks: a share of
// a step's period, or so much, ns.
const (
	agreement = 0.02
	agreeNs   = 50_000
)

// related is the share of the differences between steps' periods that may differ between
// ranks of one run.
const related = 0.5

// doubt says why the ranks cannot be compared, "" where they can.
func (m *matched) doubt(res *Result) string {
	if res.Steps < minSteps || m.n < minMatched {
		return fmt.Sprintf("only %d collectives of %d steps were matched, %d of %d are needed", m.n, res.Steps, minMatched, minSteps)
	}
	first := m.stepEnds(0)
	done := map[int]bool{m.ranks[0].Report: true}
	for r := 1; r < len(m.ranks); r++ {
		if done[m.ranks[r].Report] {
			continue
		}
		done[m.ranks[r].Report] = true
		switch {
		case m.apart(r):
			return fmt.Sprintf("the collectives of rank %d and those of rank %d do not overlap in time: they are not of one run", m.ranks[r].ID, m.ranks[0].ID)
		case !together(first, m.stepEnds(r)):
			return fmt.Sprintf("the collectives of rank %d and those of rank %d do not end together on any clock: they are not of one run", m.ranks[r].ID, m.ranks[0].ID)
		}
	}
	return ""
}

// stepEnds returns the ends of the last matched collective of each step, on the clock of
// the first rank.
func (m *matched) stepEnds(r int) (ends []int64) {
	step := int64(-1)
	m.each([]int{r}, func(of []spill.Rows) {
		for i, k := range of[0][colStep] {
			end := m.correct(r, of[0][spill.Key][i]+of[0][colLength][i])
			if k != step {
				step, ends = k, append(ends, end)
			}
			ends[len(ends)-1] = end
		}
	})
	return ends
}

// apartBySteps calls who is late unknown where matched collectives end more than a step
// apart.
func (res *Result) apartBySteps() {
	if res.Kind == Unknown || res.ClockError <= res.period {
		return
	}
	res.Kind, res.Rank, res.Share, res.ShareLate = Unknown, -1, 0, 0
	res.Reason = fmt.Sprintf("collectives of the same number in the same step end up to %s apart, with steps of %s: the ranks' steps are not the same",
		report.Micros(float64(res.ClockError)/1e3), report.Micros(float64(res.period)/1e3))
}

// periodOf returns the median distance of the ends of steps, without end where there are
// none.
func periodOf(ends []int64) int64 {
	var periods []int64
	for k := 1; k < len(ends); k++ {
		periods = append(periods, ends[k]-ends[k-1])
	}
	if len(periods) == 0 {
		return math.MaxInt64
	}
	return median(periods)
}

// apart tells whether two ranks' collectives do not overlap on the clock that their
// reports share.
func (m *matched) apart(r int) bool {
	if !m.ranks[r].Clocked || !m.ranks[0].Clocked {
		return false
	}
	return m.first[r].Start > m.last[0].End || m.first[0].Start > m.last[r].End
}

// together tells whether the last collectives of steps end together on two ranks, once the
// clocks are brought together: they do within a small part of a step, or their periods
// vary together.
func together(first, own []int64) bool {
	var periods, others, distances, differences []int64
	for k := range first {
		d := own[k] - first[k]
		distances = append(distances, abs(d))
		if k == 0 {
			continue
		}
		periods, others = append(periods, first[k]-first[k-1]), append(others, own[k]-own[k-1])
		differences = append(differences, others[k-1]-periods[k-1])
	}
	limit := max(agreeNs, int64(agreement*float64(median(append([]int64(nil), periods...)))))
	if percentile90(len(distances), valuesOf(distances)) <= limit {
		return true
	}
	return float64(deviation(differences)) < related*float64(min(deviation(periods), deviation(others)))
}

// valuesOf hands out values.
func valuesOf(values []int64) func(add func(int64)) {
	return func(add func(int64)) {
		for _, v := range values {
			add(v)
		}
	}
}

// deviation returns the median distance of values from their median, and changes them.
func deviation(values []int64) int64 {
	mid := median(values)
	for i := range values {
		values[i] = abs(values[i] - mid)
	}
	return median(values)
}
