package gap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// What shows that a step tries kernels out: so many more kernels outside of a forward pass
// than nine in ten steps launch, and so many times as many.
const (
	burstMore  = 300
	burstTimes = 3
)

// compilation is what was compiled or loaded in the steps of the window.
type compilation struct {
	more, called loaded // steps that idle more than others, and those with calls that load code
	excess       int64  // idle time above the median of steps of the phase, ns
	loads        int64  // calls
	loadNs       int64
	compiled     int64 // spans of the driver's own compiling and loading
	loose        int32 // the most kernels outside of a forward pass in one of them
	usual        int32 // in nine of ten steps
}

// loaded is steps, of any rank, and how many rank-steps they are.
type loaded struct {
	steps     map[int]bool
	rankSteps int
}

// add adds step k of a rank.
func (l *loaded) add(k int) {
	if l.steps == nil {
		l.steps = map[int]bool{}
	}
	l.steps[k] = true
	l.rankSteps++
}

// compiling finds steps in which code is compiled, tried out or loaded.
// The worth is what such steps idle more than the median of their phase, or the idle time in
// the calls themselves where that is more.
func (f *finder) compiling() {
	c := &compilation{}
	for _, v := range f.views {
		if v.from < v.to {
			c.add(v)
		}
	}
	own, at := f.loadSites()
	if f.rep.Idle.Steps == 0 && f.worth(own) {
		f.add(JIT, own, at, "code is compiled or loaded: the GPU is idle %s, %s of its idle time, in calls that do so, most of it in %s: warm up what runs before requests come, or load it eagerly (CUDA_MODULE_LOADING=EAGER)",
			f.per(own), report.Percent(own/f.rep.Idle.TotalUs), at.Site)
		return
	}
	of, worth, where := c.more, us(c.excess), "more there than in other steps"
	if own > worth {
		of, worth, where = c.called, own, "in these calls"
	}
	if worth = min(worth, f.rep.Idle.TotalUs); of.rankSteps == 0 || !f.worth(worth) {
		return
	}
	f.add(JIT, worth, at, "code is compiled or loaded, or a graph captured, in the benchmark window, in %d of %.0f rank-steps (%s): %s; the GPU is idle %s %s, %s in each: warm up what they run before requests come",
		of.rankSteps, f.steps, of.listed(), c.evidence(at.Site), f.per(worth), where, report.Micros(worth/float64(of.rankSteps)))
}

// minPart is how many times less idle than the other one is of two steps in a row that
// compiling touches, that one is left out.
const minPart = 5

// add looks at the steps of a rank.
// What shows a step is calls that load code, spans of the driver, or many more kernels outside
// of the forward pass than in nine of ten steps: those are tried out.
func (c *compilation) add(v *view) {
	facts := v.facts()
	loose := make([]int32, len(facts))
	for k := range facts {
		loose[k] = facts[k].loose
	}
	slices.Sort(loose)
	usual := loose[(len(loose)-1)*9/10]
	c.usual = max(c.usual, usual)
	excess := v.excess(facts)
	hit := map[int]bool{}
	for k := range facts {
		fact := &facts[k]
		if fact.loose >= burstTimes*usual+burstMore {
			hit[k] = true
			c.loose = max(c.loose, fact.loose)
		}
		if fact.loads > 0 {
			c.called.add(v.from + k)
		}
		if fact.loads > 0 || fact.compiled > 0 {
			c.loads, c.loadNs, c.compiled = c.loads+int64(fact.loads), c.loadNs+fact.loadNs, c.compiled+int64(fact.compiled)
			// The host is ahead: the GPU may feel it in the next step only, or in both.
			next := min(k+1, len(facts)-1)
			most := max(excess(k), excess(next))
			for _, i := range []int{k, next} {
				hit[i] = hit[i] || minPart*excess(i) >= most
			}
		}
	}
	for k, is := range hit {
		if more := excess(k); is && more > 0 {
			c.excess += more
			c.more.add(v.from + k)
		}
	}
}

// excess returns a function of how much longer than the median of its phase a step is idle, ns.
func (v *view) excess(facts []stepFact) func(k int) int64 {
	idle := map[event.Phase][]int64{}
	phase := func(k int) event.Phase { return v.walk.Steps.At(v.from + k).Phase }
	for k := range facts {
		idle[phase(k)] = append(idle[phase(k)], facts[k].idle)
	}
	for _, list := range idle {
		slices.Sort(list)
	}
	return func(k int) int64 {
		list := idle[phase(k)]
		return max(0, facts[k].idle-list[len(list)/2])
	}
}

// listed names the steps.
func (l *loaded) listed() string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(l.steps)) {
		list = append(list, fmt.Sprint(k))
	}
	if n := len(list) - maxSteps; n > 0 {
		return fmt.Sprintf("steps %s and %d others", strings.Join(list[:maxSteps], ", "), n)
	}
	if len(list) == 1 {
		return "step " + list[0]
	}
	return "steps " + strings.Join(list, ", ")
}

// evidence says what shows it.
func (c *compilation) evidence(call string) string {
	var parts []string
	if c.loads > 0 {
		call = cmp.Or(call, "that load code")
		parts = append(parts, fmt.Sprintf("%d calls (%s) of %s", c.loads, call, report.Micros(us(c.loadNs))))
	}
	if c.compiled > 0 {
		parts = append(parts, fmt.Sprintf("%d spans of the driver's compiling or loading", c.compiled))
	}
	if c.loose > 0 {
		parts = append(parts, fmt.Sprintf("up to %d kernels outside of the forward pass in one step, where nine in ten launch %d at most", c.loose, c.usual))
	}
	return strings.Join(parts, ", ")
}

// loadSites returns the idle time in calls that load code, in us, and where most of it is.
func (f *finder) loadSites() (us float64, at Finding) {
	most := 0.0
	for _, cause := range []string{event.Classes[event.Alloc], "api"} {
		f.sites(cause, func(s *Site) {
			if cudaname.EffectOf(s.Site)&cudaname.LoadsCode == 0 {
				return
			}
			if us += s.Us; s.Us > most {
				most, at = s.Us, Finding{Site: s.Site, Path: s.Path, Source: s.Source}
			}
		})
	}
	return us, at
}
