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
	collectiveWait
	hostWait
	hostBound
	numMetrics

	numVotes = nccl
)

// Scope is the verdict of a scope.
type Scope struct {
	Name    string // one of metric.Scopes
	Verdict string // Yes or No
	Counted
	// Raised tells of a YES that it would be none without the time that the GPUs wait in
	// collectives for a late host.
	Raised bool
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
	if i := s.interval[hostWait]; s.Verdict == No && i != nil && s.withWait(i.Low) == Yes {
		s.Verdict, s.Raised = Yes, true
	}
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

// withWait is the verdict with a share of GPU time counted as idle in which the GPUs wait in
// collectives for a late host.
func (s *Scope) withWait(share float64) string {
	if s.value[gpuIdle] == nil {
		return s.Verdict
	}
	return verdictOf(s.ifIdle(min(1, s.at(gpuIdle)+share)))
}

// waitUnknown is the share of time that GPUs wait in collectives for what was not recorded, or for late
// hosts and in collectives without a match (which take a share of the time), if a late host as their cause
// would make a NO a YES; else nil.
func (s *Scope) waitUnknown(unmatched float64) (share *float64) {
	switch share = s.value[collectiveWait]; {
	case unmatched == 0 && (share == nil || s.value[hostWait] != nil):
		return nil
	case s.interval[hostWait] != nil: // by which waits count
		share = new(s.interval[hostWait].Low + unmatched)
	case share == nil, s.value[hostWait] != nil:
		share = &unmatched
	}
	if s.Verdict == Yes || s.withWait(*share) != Yes {
		return nil
	}
	return share
}

// ifIdle is how many votes there would be if GPUs were idle for such a share of the time.
func (s *Scope) ifIdle(share float64) (votes int) {
	_, votes = s.votes(func(m int) float64 {
		switch m {
		case gpuIdle:
			return share
		case gpuUtilization:
			return 1 - share
		}
		return s.at(m)
	})
	return votes
}

// waitBorderline reports whether the verdict would be another if idle time and waits, which trade
// places from step to step, lay elsewhere in the interval of what they come to together.
func (s *Scope) waitBorderline() bool {
	i := s.interval[hostBound]
	if i == nil || s.interval[hostWait] == nil || s.at(hostWait) == 0 || s.Verdict == Yes && !s.Raised {
		return false
	}
	for _, end := range []float64{i.Low, i.High} {
		if s.withWait(s.at(hostWait)+end-s.at(hostBound)) != s.Verdict {
			return true
		}
	}
	return false
}

// heldByBoth tells of a YES whether the least that idle time and waits for a late host come to
// together would be one, too: where the GPUs are idle for less, they wait for longer.
func (s *Scope) heldByBoth() bool {
	i := s.interval[hostBound]
	return s.Verdict == Yes && i != nil && s.interval[hostWait] != nil && s.at(hostWait) > 0 &&
		s.withWait(s.at(hostWait)+i.Low-s.at(hostBound)) == Yes
}

// borderline moves one measurement at a time to either end of its interval and
// names those that are over it, or no longer, where that changes the
// verdict. The votes are monotonic in each measurement, so the ends are enough.
// What waits in collectives decide is not moved apart from idle time (waitBorderline).
func (s *Scope) borderline() (names []string) {
	if s.waitBorderline() {
		names = append(names, metric.HostBound)
	}
	if s.Raised {
		return names
	}
	moved := map[int]bool{}
	for m := range gpuUtilization { // which moves with gpuIdle
		if s.interval[m] == nil || m == gpuIdle && s.heldByBoth() {
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

// reported returns the values of the metrics without a vote and a threshold.
func (s *Scope) reported() Reported {
	return Reported{
		GraphLaunch: s.value[graphLaunch], Comm: s.value[comm], Backpressure: s.value[backpressure],
		CollectiveWait: s.value[collectiveWait], HostWait: s.value[hostWait], HostBound: s.value[hostBound],
	}
}

// raisedBy names what raised the verdict, nil for nothing.
func (s *Scope) raisedBy() *string {
	if !s.Raised {
		return nil
	}
	return new(metric.HostBound)
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
