package straggler

import "fmt"

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
	last := m.lastOfSteps()
	done := map[int]bool{m.ranks[0].Report: true}
	for r := 1; r < len(m.ranks); r++ {
		if done[m.ranks[r].Report] {
			continue
		}
		done[m.ranks[r].Report] = true
		switch {
		case m.apart(r, last):
			return fmt.Sprintf("the collectives of rank %d and those of rank %d do not overlap in time: they are not of one run", m.ranks[r].ID, m.ranks[0].ID)
		case !m.together(r, last):
			return fmt.Sprintf("the collectives of rank %d and those of rank %d do not end together on any clock: they are not of one run", m.ranks[r].ID, m.ranks[0].ID)
		}
	}
	return ""
}

// lastOfSteps returns the last matched collective of each step.
func (m *matched) lastOfSteps() []int {
	var last []int
	for i := range m.n {
		if i+1 == m.n || m.step(i+1) != m.step(i) {
			last = append(last, i)
		}
	}
	return last
}

// apart tells whether two ranks' collectives do not overlap on the clock that their
// reports share.
func (m *matched) apart(r int, last []int) bool {
	if !m.ranks[r].Clocked || !m.ranks[0].Clocked {
		return false
	}
	from, to := 0, last[len(last)-1]
	return m.at(r, from).Start > m.at(0, to).End || m.at(0, from).Start > m.at(r, to).End
}

// together tells whether a rank's collectives end with those of the first one, once the
// clocks are brought together: they do within a small part of a step, or their periods
// vary together.
func (m *matched) together(r int, last []int) bool {
	var periods, others, distances, differences []int64
	for k, i := range last {
		d := m.end(r, i) - m.end(0, i)
		distances = append(distances, max(d, -d))
		if k == 0 {
			continue
		}
		before := last[k-1]
		own := m.end(r, i) - m.end(r, before)
		first := m.end(0, i) - m.end(0, before)
		periods, others = append(periods, first), append(others, own)
		differences = append(differences, own-first)
	}
	limit := max(agreeNs, int64(agreement*float64(medianOf(periods))))
	if percentile90(distances) <= limit {
		return true
	}
	return float64(deviation(differences)) < related*float64(min(deviation(periods), deviation(others)))
}

// deviation returns the median distance of values from their median, and sorts them.
func deviation(values []int64) int64 {
	mid := median(values)
	for i := range values {
		values[i] = max(values[i]-mid, mid-values[i])
	}
	return median(values)
}

// medianOf returns the median of values, which stay as they are.
func medianOf(values []int64) int64 { return median(append([]int64(nil), values...)) }
