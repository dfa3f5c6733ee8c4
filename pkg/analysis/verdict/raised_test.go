package verdict

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/metric"
)

// Waits for a late host count as idle time by the lower end of their interval, and by nothing
// where there is none; what they come to with the idle time says whether that is borderline.
func TestRaised(t *testing.T) {
	at := func(low, high float64) *metric.Interval { return &metric.Interval{Low: low, High: high} }
	for _, test := range []struct {
		name        string
		idle, wait  float64
		ends, bound *metric.Interval
		verdict     string
		raised      bool
		borderline  string
	}{
		{"much wait", 0.1, 0.4, at(0.35, 0.45), at(0.48, 0.52), Yes, true, ""},
		{"the lower end is too little", 0.1, 0.4, at(0.1, 0.7), at(0.48, 0.52), No, false, "aggregate.host_bound_ratio"},
		{"no interval", 0.1, 0.4, nil, nil, No, false, ""},
		{"imbalance only", 0.1, 0, at(0, 0), at(0.08, 0.12), No, false, ""},
		{"it may be less", 0.2, 0.25, at(0.22, 0.28), at(0.3, 0.6), Yes, true, "aggregate.host_bound_ratio"},
		{"idle or waiting, by turns", 0.45, 0.3, at(0, 0.6), at(0.7, 0.78), Yes, false, ""},
		{"idle enough without", 0.5, 0.2, at(0.15, 0.25), at(0.68, 0.72), Yes, false, ""},
	} {
		res := &metric.Result{Run: metric.Run{Window: metric.WindowBenchmark, Method: "nvtx", GPUActivity: true, GPUs: 2, Ranks: []metric.Rank{{Total: 30, Benchmark: new(int64(30)), Whole: new(int64(30))}}}}
		add := func(name string, v float64, i *metric.Interval) {
			res.Rows = append(res.Rows, metric.Row{Scope: metric.Aggregate, Metric: name, Numerator: int64(v * 1e9), Denominator: 1e9, Applicable: true, Interval: i})
		}
		add(metric.GPUIdle, test.idle, at(max(0, test.idle-0.09), test.idle+0.09))
		add(metric.Launch, 0, at(0, 0))
		add(metric.GPUUtilization, 1-test.idle, at(1-test.idle-0.09, 1-test.idle+0.09))
		add(metric.HostWait, test.wait, test.ends)
		add(metric.HostBound, test.idle+test.wait, test.bound)
		r := Decide(res, Defaults())
		if r.Verdict != test.verdict || (r.RaisedBy != nil) != test.raised || strings.Join(r.Borderline, " ") != test.borderline {
			t.Errorf("%s: %s, raised by %v, borderline %v", test.name, r.Verdict, r.RaisedBy, r.Borderline)
		}
		if title := r.title().String(); test.raised != strings.Contains(title, "a rank whose host is late") {
			t.Errorf("%s: %s", test.name, title)
		}
	}
}

// Waits in collectives of which the cause was not recorded, and collectives without a match, leave a verdict as it
// is, and are said where a late host as their cause would make it another.
func TestWaitUnknown(t *testing.T) {
	for _, test := range []struct {
		wait      float64 // -1: nothing matched, and none is known
		host      bool    // the cause of waits is known: none is a host
		unmatched int64   // of 300 kernels that take 0.6 of the time
		unknown   bool
	}{{0.2, false, 0, false}, {0.5, false, 0, true}, {0.5, true, 0, false}, {0.1, true, 20, false}, {0.1, true, 200, true}, {-1, false, 300, true}} {
		res := &metric.Result{Run: metric.Run{Window: metric.WindowBenchmark, Method: "nvtx", GPUActivity: true, GPUs: 1, Ranks: []metric.Rank{{Total: 30, Benchmark: new(int64(30)), Whole: new(int64(30))}}}}
		res.Run.Collectives = &metric.Collectives{Matched: (300 - test.unmatched) / 2, Coverage: collective.Coverage{Recorded: 2, Unmatched: test.unmatched, UnmatchedPart: float64(test.unmatched) / 300}}
		rows := map[string]float64{metric.GPUIdle: 0.05, metric.Launch: 0, metric.GPUUtilization: 0.95, metric.CollectiveWait: test.wait, metric.Comm: 0.6 / 0.95}
		if test.host {
			rows[metric.HostWait] = 0
		}
		if test.wait < 0 {
			delete(rows, metric.CollectiveWait)
		}
		for name, v := range rows {
			res.Rows = append(res.Rows, metric.Row{Scope: metric.Aggregate, Metric: name, Numerator: int64(v * 1e9), Denominator: 1e9, Applicable: true})
		}
		r := Decide(res, Defaults())
		warned := strings.Contains(strings.Join(r.Warnings, " "), "if hosts are late there, the verdict would be YES")
		if title := r.title().String(); r.Verdict != No || warned != test.unknown || strings.Contains(title, "the host does not hold") == test.unknown {
			t.Errorf("%+v: %s, %q", test, title, r.Warnings)
		}
	}
}
