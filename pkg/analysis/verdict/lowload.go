package verdict

import (
	"math"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
)

// LowLoad is idle time in which launching threads wait for requests. The GPUs have nothing to
// do, and no change of host code helps.
type LowLoad struct {
	// WaitUs is the idle time of the aggregate, over all GPUs, in which they wait in an OS call
	// inside a range that fetches requests. Share is its share of all idle time.
	WaitUs float64 `json:"wait_us"`
	Share  float64 `json:"share_of_idle"`
	// Explains is set if no scope would be a YES without that time: then the load is low, and
	// the host does not hold the GPUs back.
	Explains bool `json:"-"`
}

// LowOnLoad reports whether the answer is LOW LOAD.
func (r *Report) LowOnLoad() bool { return r.IsLowLoad != nil && *r.IsLowLoad }

// lowLoadUnknown says why it is unknown how much idle time is due to a lack of requests, by what
// recorded the run.
var lowLoadUnknown = map[string]string{
	"torch": "PyTorch's profiler records no OS runtime calls",
	"rocpd": "OS runtime calls are not read from recordings of AMD's profilers",
	"":      "it needs OS runtime calls on every rank (nsys profile -t osrt)",
}

// lowLoad returns the idle time due to a lack of requests, nil if that was not recorded or there
// is no idle time.
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

// notHost returns the share of the worst scope's idle time that has no host cause. It returns 0
// unless that is at least half in every scope with a YES. decides reports whether no scope would
// be a YES without that time. The share includes waits for requests, see lowLoad.
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

// requestWait returns the idle time of a scope due to a lack of requests, in ns over all GPUs.
// Ranks that communicate run the same requests. If one waits longer than another, it waits for
// that one, unless the other one follows it.
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

// without returns how many votes a scope would have without some of its idle time, in ns. The
// windows would be shorter by that time.
func (s *Scope) without(wait int64) (votes int) {
	whole := float64(s.capacity - wait)
	if whole <= 0 {
		return 0
	}
	return s.ifIdle(float64(s.idle-wait) / whole)
}

// text describes the waits for requests, "" if they are negligible. l may be nil.
func (l *LowLoad) text() string {
	switch {
	case l == nil || l.Share < lowLoadWorth:
		return ""
	case l.Explains:
		return "launching threads wait for requests for " + report.Percent(l.Share) + " of the idle time, and without it this would not be a YES: host changes will not help"
	}
	return "launching threads wait for requests for " + report.Percent(l.Share) + " of the idle time: that part is not host overhead"
}
