package verdict

import (
	"math"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
)

// LowLoad is idle time in which launching threads wait for requests: the GPUs have nothing
// to do, and no change of the host's code gives them any.
type LowLoad struct {
	// WaitUs is the idle time, over all GPUs of the aggregate, in which they wait inside
	// a call of the system, in a range that fetches requests; Share its share of all.
	WaitUs float64 `json:"wait_us"`
	Share  float64 `json:"share_of_idle"`
	// Explains tells that no scope would be a YES without that time: not the host holds
	// the GPUs back, the load is low.
	Explains bool `json:"-"`
}

// LowOnLoad reports whether the answer is LOW LOAD.
func (r *Report) LowOnLoad() bool { return r.IsLowLoad != nil && *r.IsLowLoad }

// lowLoadUnknown says, by what recorded a run, why it is not known what of the idle time is for
// want of requests.
var lowLoadUnknown = map[string]string{
	"torch": "PyTorch's profiler records no OS runtime calls",
	"rocpd": "OS runtime calls are not read from recordings of AMD's profilers",
	"":      "it needs OS runtime calls on every rank (nsys profile -t osrt)",
}

// lowLoad returns what of the idle time is for want of requests, nil where that was not
// recorded.
func (r *Report) lowLoad() *LowLoad {
	waits := r.run.RequestWait
	all := &r.Scopes[0]
	if waits == nil || all.idle <= 0 {
		return nil
	}
	wait := r.requestWait(metric.Aggregate)
	l := &LowLoad{WaitUs: float64(wait) / 1e3, Share: float64(wait) / float64(all.idle)}
	l.Explains = r.Verdict == Yes
	for i := range r.Scopes {
		if s := &r.Scopes[i]; s.Verdict == Yes && verdictOf(s.without(r.requestWait(s.Name))) == Yes {
			l.Explains = false
		}
	}
	return l
}

// notHost is the share of the idle time of the worst scope that has no host cause, where that is
// most of it in every scope with a YES, else 0; and whether none would be a YES without. What of it
// is for want of requests lowLoad says, too.
func (r *Report) notHost() (share float64, decides bool) {
	decides = true
	for i := range r.Scopes {
		s := &r.Scopes[i]
		if s.Verdict != Yes || s.idle <= 0 {
			continue
		}
		if s.Raised || s.value[hostBound] == nil {
			return 0, false
		}
		host := s.at(hostBound)
		if s.value[hostWait] != nil {
			host -= s.at(hostWait)
		}
		other := s.idle - int64(host*float64(s.capacity))
		if !stat.MostOf(other, s.idle) {
			return 0, false
		}
		decides = decides && verdictOf(s.without(other)) != Yes
		if s == r.worst() {
			share = float64(other) / float64(s.idle)
		}
	}
	return share, decides
}

// requestWait is the idle time of a scope for want of requests, in ns over all GPUs. Ranks
// that communicate run the same requests: what one of them waits longer than another it
// waits for that one, but where the other follows it.
func (r *Report) requestWait(scope string) int64 {
	wait, communicate := r.run.RequestWait[scope], r.Scopes[0].value[comm]
	if communicate == nil || *communicate == 0 || len(r.run.Ranks) < 2 {
		return wait
	}
	least := math.Inf(1)
	for i := range r.run.Ranks {
		own := &r.run.Ranks[i]
		least = min(least, float64(max(own.RequestWait[scope], own.FollowWait[scope]))/float64(max(1, own.GPUs)))
		wait += own.FollowWait[scope]
	}
	return min(wait, int64(least*float64(r.run.GPUs)))
}

// without is how many votes a scope would have if so much idle time had not been: the
// windows would be shorter by it.
func (s *Scope) without(wait int64) (votes int) {
	whole := float64(s.capacity - wait)
	if whole <= 0 {
		return 0
	}
	return s.ifIdle(float64(s.idle-wait) / whole)
}

// text says it, "" where it is little.
func (l *LowLoad) text() string {
	switch {
	case l == nil || l.Share < lowLoadWorth:
		return ""
	case l.Explains:
		return "launching threads wait for requests for " + report.Percent(l.Share) + " of the idle time, and without it this would not be a YES: host changes will not help"
	}
	return "launching threads wait for requests for " + report.Percent(l.Share) + " of the idle time: that part is not host overhead"
}
