package verdict

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
)

// The metrics, by their index in metric.Names. The first six have a vote.
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
	// Raised is set if a YES would be a NO without the time that GPUs wait in collectives for a
	// late host.
	Raised bool
	// Borderline names the measurements that would change the verdict of the scope if one of
	// them were elsewhere in its interval.
	Borderline []string

	value    [numMetrics]*float64 // nil if not applicable
	interval [numMetrics]*metric.Interval
	idle     int64 // ns, over all GPUs
	capacity int64 // ns, length of the windows over all GPUs
	over     [numMetrics]bool
	limits   *Limits
}

// classify returns the verdict of a scope. Rows of other scopes are ignored.
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

// verdictOf returns the verdict for a number of votes.
func verdictOf(votes int) string {
	if votes >= votesForYes {
		return Yes
	}
	return No
}

// at returns the value of a metric, which must be applicable.
func (s *Scope) at(m int) float64 { return *s.value[m] }

// votes returns which metrics are over the limit, and how many of them have a vote. at returns
// the values of the applicable metrics.
func (s *Scope) votes(at func(m int) float64) (over [numMetrics]bool, n int) {
	for m := range numVotes + 1 {
		over[m] = s.value[m] != nil && s.limits.over(m, at(m))
		if over[m] && m < numVotes {
			n++
		}
	}
	return over, n
}

// withWait returns the verdict if a share of the GPU time, in which GPUs wait in collectives for a
// late host, is counted as idle.
func (s *Scope) withWait(share float64) string {
	if s.value[gpuIdle] == nil {
		return s.Verdict
	}
	return verdictOf(s.ifIdle(min(1, s.at(gpuIdle)+share)))
}

// waitUnknown returns the share of time in collective waits that may be for late hosts, if late
// hosts as their cause would make a NO a YES; else nil. unmatched is the share of time in
// collectives without a match. If the causes of waits are unknown, all waits count.
func (s *Scope) waitUnknown(unmatched float64) (share *float64) {
	switch share = s.value[collectiveWait]; {
	case unmatched == 0 && (share == nil || s.value[hostWait] != nil):
		return nil
	case s.interval[hostWait] != nil: // its lower end decides, as in classify
		share = new(s.interval[hostWait].Low + unmatched)
	case share == nil, s.value[hostWait] != nil:
		share = &unmatched
	}
	if s.Verdict == Yes || s.withWait(*share) != Yes {
		return nil
	}
	return share
}

// ifIdle returns how many votes there would be if GPUs were idle for the given share of time.
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

// waitBorderline reports whether the verdict would change if the sum of idle time and waits were
// elsewhere in its interval. It is the sum that counts, because the two trade off from step to
// step.
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

// heldByBoth reports whether a YES holds even at the lower end of the sum of idle time and waits
// for a late host: if the GPUs are idle for less time, they wait for longer.
func (s *Scope) heldByBoth() bool {
	i := s.interval[hostBound]
	return s.Verdict == Yes && i != nil && s.interval[hostWait] != nil && s.at(hostWait) > 0 &&
		s.withWait(s.at(hostWait)+i.Low-s.at(hostBound)) == Yes
}

// borderline moves one measurement at a time to either end of its interval. If that changes the
// verdict, it names the metrics that cross their limits. Votes are monotonic in each
// measurement, so the ends are enough. If waits in collectives decide, they are moved only
// together with idle time (waitBorderline).
func (s *Scope) borderline() (names []string) {
	if s.waitBorderline() {
		names = append(names, metric.HostBound)
	}
	if s.Raised {
		return names
	}
	moved := map[int]bool{}
	for m := range gpuUtilization { // gpuUtilization moves with gpuIdle
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

// reported returns the values of the metrics without a threshold.
func (s *Scope) reported() Reported {
	return Reported{
		GraphLaunch: s.value[graphLaunch], Comm: s.value[comm], Backpressure: s.value[backpressure],
		CollectiveWait: s.value[collectiveWait], HostWait: s.value[hostWait], HostBound: s.value[hostBound],
	}
}

// raisedBy names the metric that raised the verdict, nil for none.
func (s *Scope) raisedBy() *string {
	if !s.Raised {
		return nil
	}
	return new(metric.HostBound)
}

// figures returns the values, the intervals and the votes of the metrics with a threshold.
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
