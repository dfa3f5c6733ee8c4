package round

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/hotspot"
)

// stop applies the rules. The first that holds is the reason to stop.
func (res *Result) stop(last *Input, o Options) {
	done := len(res.Rounds) - 1
	res.Stop.Rules = []Rule{
		res.testsFailed(),
		{"rounds done", done >= o.Max, fmt.Sprintf("%d of %d", done, o.Max) + res.lastGain()},
		onlyCompute(last.Report),
		res.littleGain(),
		highRisk(last.Report),
	}
	if d := last.Report.Hidden(); d != nil { // what is left is unknown
		for i := range res.Stop.Rules[2:] {
			if r := &res.Stop.Rules[2+i]; r.Holds {
				r.Holds = false
				r.Detail += fmt.Sprintf("; but %s at line %d of %s takes %.0f %% and was not profiled", d.Callee, d.Line, d.Function, 100*d.Share)
			}
		}
	}
	for i := range res.Stop.Rules {
		if r := &res.Stop.Rules[i]; r.Holds {
			res.Stop.Reason = new(r.Rule + ": " + r.Detail)
			break
		}
	}
}

// lastGain mentions the last round's gain if that was small.
func (res *Result) lastGain() string {
	gain := res.Rounds[len(res.Rounds)-1].gain
	if gain == nil || *gain >= MinGain {
		return ""
	}
	return fmt.Sprintf("; the last one gained %.1f %%, under %.0f %%", 100**gain, 100*MinGain)
}

// testsFailed holds if the notes say so about the last round; without notes it is
// unknown.
func (res *Result) testsFailed() Rule {
	r := Rule{Rule: "tests failed", Detail: "no note on the tests of the last round"}
	if n := res.Rounds[len(res.Rounds)-1].Note; n != nil && n.Tests != "" {
		r.Holds, r.Detail = n.Tests == "failed", n.Name+" "+n.Tests
	}
	return r
}

// littleGain holds if each of the last two rounds gained little. A round that cannot be
// compared has no gain, and is no evidence of a small one.
func (res *Result) littleGain() Rule {
	r := Rule{Rule: fmt.Sprintf("under %.0f %% in each of the last two rounds", 100*MinGain), Detail: "fewer than two rounds that can be compared"}
	if n := len(res.Rounds); n > 2 && res.Rounds[n-1].gain != nil && res.Rounds[n-2].gain != nil {
		before, last := *res.Rounds[n-2].gain, *res.Rounds[n-1].gain
		r.Holds = last < MinGain && before < MinGain
		r.Detail = fmt.Sprintf("the last two rounds gained %.1f and %.1f %%", 100*before, 100*last)
	}
	return r
}

// onlyCompute holds if all hotspots left are real work. Lines that hide where their
// time goes may be waste, and without source it is unknown.
func onlyCompute(rep *hotspot.Report) Rule {
	waste, first := 0, ""
	for _, h := range rep.Hotspots {
		if h.Type != hotspot.Compute {
			if waste++; first == "" {
				first = fmt.Sprintf(", first %s in %s", h.Type, h.Function)
			}
		}
	}
	hidden := slices.ContainsFunc(rep.DrillDown, func(d hotspot.DrillDown) bool { return !d.Profiled })
	r := Rule{Rule: "only COMPUTE left", Holds: waste == 0 && !hidden}
	switch {
	case len(rep.Hotspots) > 0 && !rep.HasSource():
		r.Holds, r.Detail = false, "the profile has no source, so types are unknown"
	case waste > 0:
		r.Detail = fmt.Sprintf("%d of %d hotspots are waste%s", waste, len(rep.Hotspots), first)
	case hidden:
		r.Detail = "no waste in sight, but calls that were not profiled hide time"
	default:
		r.Detail = fmt.Sprintf("%d hotspots; callees that were not profiled may hold more", len(rep.Hotspots))
	}
	return r
}

// highRisk holds if every hotspot left can only be changed at high risk.
func highRisk(rep *hotspot.Report) Rule {
	r := Rule{Rule: "the rest is high-risk", Detail: "no hotspot left"}
	left, safe := 0, 0
	for _, h := range rep.Hotspots {
		if h.Type == hotspot.Compute || len(h.Options) == 0 {
			continue
		}
		left++
		if slices.ContainsFunc(h.Options, func(o hotspot.Option) bool { return o.Risk != "high" }) {
			safe++
		}
	}
	if left > 0 {
		r.Holds, r.Detail = safe == 0, fmt.Sprintf("%d of %d hotspots have an option of lower risk", safe, left)
	}
	return r
}
