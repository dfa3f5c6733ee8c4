package verdict

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
)

// The metrics, by their place in metric.Names. The first six vote.
const (
	gpuIdle = iota
	launch
	prepExposed
	prepImpact
	prepAttribution
	gpuUtilization
	nccl
	graphLaunch
	comm
	backpressure
	numMetrics

	numVotes = nccl
)

// Scope is the verdict of a scope.
type Scope struct {
	Name    string // one of metric.Scopes
	Verdict string // Yes or No
	// Over is how many metrics are, out of Applicable ones.
	Over, Applicable int
	// HostPrep tells whether input preparation is confirmed as a cause, NCCL
	// whether NCCL kernels take so much of the busy time that it needs a caveat.
	HostPrep, NCCL bool
	// Borderline names the measurements of which the verdict of the scope would
	// be another if one of them lay elsewhere in its interval.
	Borderline []string

	value    [numMetrics]*float64 // nil: not applicable
	interval [numMetrics]*metric.Interval
	idle     int64 // ns, of all GPUs
	capacity int64 // ns, the windows of all GPUs
	over     [numMetrics]bool
	limits   *Limits
}

// classify finds the verdict of a scope of the rows.
func classify(name string, rows []metric.Row, limits *Limits) Scope {
	s := Scope{Name: name, limits: limits}
	for i := range rows {
		r := &rows[i]
		m := slices.Index(metric.Names, r.Metric)
		if r.Scope != name || m < 0 {
			continue
		}
		if v := r.Value(); !math.IsNaN(v) {
			s.value[m], s.interval[m] = &v, r.Interval
		}
		if m == gpuIdle {
			s.idle, s.capacity = r.Numerator, r.Denominator
		}
	}
	s.over, s.Over = s.votes(s.at)
	for m := range numVotes {
		if s.value[m] != nil {
			s.Applicable++
		}
	}
	s.Verdict = verdictOf(s.Over)
	s.HostPrep = s.over[prepImpact] && s.over[prepAttribution]
	s.NCCL = s.over[nccl]
	s.Borderline = s.borderline()
	return s
}

// verdictOf is the verdict with so many votes.
func verdictOf(votes int) string {
	if votes >= votesForYes {
		return Yes
	}
	return No
}

// at is where a metric was measured.
func (s *Scope) at(m int) float64 { return *s.value[m] }

// votes counts the votes and tells which metrics are over the limit, those that are
// applicable lying where at says.
func (s *Scope) votes(at func(m int) float64) (over [numMetrics]bool, n int) {
	for m := range numVotes + 1 {
		over[m] = s.value[m] != nil && s.limits.over(m, at(m))
		if over[m] && m < numVotes {
			n++
		}
	}
	return over, n
}

// borderline moves one measurement at a time to either end of its interval and
// names those that are over it, or no longer, where that changes the
// verdict. The votes are monotonic in each measurement, so the ends are enough.
func (s *Scope) borderline() (names []string) {
	moved := map[int]bool{}
	for m := range gpuUtilization { // which moves with gpuIdle
		if s.interval[m] == nil {
			continue
		}
		for _, v := range []float64{s.interval[m].Low, s.interval[m].High} {
			over, n := s.votes(func(k int) float64 {
				switch {
				case k == m:
					return v
				case k == gpuUtilization && m == gpuIdle:
					return 1 - v
				}
				return s.at(k)
			})
			if verdictOf(n) == s.Verdict {
				continue
			}
			for k := range numVotes {
				if over[k] != s.over[k] {
					moved[k] = true
				}
			}
		}
	}
	for m := range numVotes {
		if moved[m] {
			names = append(names, metric.Names[m])
		}
	}
	return names
}

// figures returns the values, the intervals and the votes of the metrics that have a
// threshold.
func (s *Scope) figures() (values Metrics, ends Intervals, votes Votes) {
	for m := range numVotes + 1 {
		*values.at(m) = s.value[m]
		if i := s.interval[m]; i != nil {
			*ends.at(m) = &[2]float64{i.Low, i.High}
		}
		if m < numVotes {
			*votes.vote(m) = s.over[m]
		}
	}
	return values, ends, votes
}
