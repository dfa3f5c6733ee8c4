package gap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/thread"
)

// report makes the report of all ranks.
func (c *computer) report() *Report {
	views := c.views()
	rep := &Report{Findings: []Finding{}, Warnings: c.header.Warnings()}
	if rep.Warnings == nil {
		rep.Warnings = []string{}
	}
	if len(views) == 0 {
		rep.Warnings = append(rep.Warnings, "no rank has a window: there are no steps, or no GPU activity")
	}
	rep.Idle = c.idleReport(views)
	rep.Gaps = c.gapReport(views)
	rep.Graph = c.graphReport(views)
	rep.Pattern = c.patternReport(views)
	rep.Straggler = c.stragglerReport(views)
	rep.Slack = c.slackReport(views)
	c.find(rep, views)
	c.warn(rep, views)
	return rep
}

// warn says what limits the report.
func (c *computer) warn(rep *Report, views []*view) {
	add := func(format string, args ...any) { rep.Warnings = append(rep.Warnings, fmt.Sprintf(format, args...)) }
	for _, p := range rep.Graph.Partial {
		add("rank %d: only %d of %d graph replays were recorded, idle time may be work that is not in the recording", p.Rank, p.Recorded, p.Launches)
	}
	if s := rep.Straggler; s != nil && rep.Graph.Whole > 0 {
		add("collectives inside whole-graph rows are hidden: ranks were compared in %d steps only", s.Steps)
	}
	var estimated int64
	for _, v := range views {
		estimated += v.estimated
	}
	if estimated > 0 {
		add("the causes of %s of idle time are estimates: the launches that ended it were made long before", length(us(estimated)))
	}
	if len(c.ranges.list) > maxNames || len(c.kernels.list) > maxNames {
		add("there are more than %d different names: the rest counts as (other)", maxNames)
	}
}

func us(ns int64) float64 { return float64(ns) / 1e3 }

// ratio is 0 where there is nothing to divide by.
func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// perStep divides by a number of steps, nil for none.
func perStep(x float64, steps int64) *float64 {
	if steps == 0 {
		return nil
	}
	x /= float64(steps)
	return &x
}

// idleReport sums up idle time and its causes.
func (c *computer) idleReport(views []*view) Idle {
	idle := Idle{Window: WindowBenchmark}
	if c.wholeTrace {
		idle.Window = WindowTrace
	}
	var whole causeSums
	phases := [3]causeSums{}
	var phaseWindow, phaseSteps [3]int64
	var window int64
	for _, v := range views {
		lanes := int64(len(v.lanes))
		idle.Lanes += len(v.lanes)
		idle.Steps += v.steps
		window += (v.end - v.start) * lanes
		v.eachPiece(func(_ *cell, cause thread.State, ns int64) { whole.add(cause, ns) })
		v.eachStepPiece(func(cell *cell, cause thread.State, ns int64) {
			if p := v.phaseOf(cell); p >= 0 {
				phases[p].add(cause, ns)
			}
		})
		v.eachStepCell(func(cell *cell, ns int64) {
			if p := v.phaseOf(cell); p >= 0 {
				phaseWindow[p] += ns * lanes
			}
		})
		for k := range v.rank.steps {
			if s := &v.rank.steps[k]; c.phased && v.inWindow(s) {
				phaseSteps[s.phase]++
			}
		}
	}
	idle.TotalUs, idle.WindowUs = us(whole.total()), us(window)
	idle.Causes = c.causes(&whole, idle.Steps)
	idle.Phases = []PhaseIdle{}
	for p, name := range event.Phases {
		if phaseSteps[p] > 0 {
			idle.Phases = append(idle.Phases, PhaseIdle{
				Phase: name, TotalUs: us(phases[p].total()), WindowUs: us(phaseWindow[p]), Steps: phaseSteps[p],
				Causes: c.causes(&phases[p], phaseSteps[p]),
			})
		}
	}
	if c.opt.PerStep {
		idle.PerStep = c.stepReport(views)
	}
	return idle
}

// causeSums is time by cause.
type causeSums struct{ ns map[thread.State]int64 }

func (s *causeSums) add(cause thread.State, ns int64) {
	if s.ns == nil {
		s.ns = make(map[thread.State]int64)
	}
	s.ns[cause] += ns
}

func (s *causeSums) total() (ns int64) {
	for _, v := range s.ns {
		ns += v
	}
	return ns
}

// causes lists causes, the largest first. Ranges of one name are one cause.
func (c *computer) causes(sums *causeSums, steps int64) []Cause {
	type sum struct {
		Cause
		path thread.State // most of it
		most int64
	}
	byName := map[string]*sum{}
	for cause, ns := range sums.ns {
		name := c.causeName(cause)
		s := byName[name]
		if s == nil {
			s = &sum{Cause: Cause{Cause: name}}
			byName[name] = s
		}
		s.Ns += ns
		if ns > s.most || ns == s.most && cause < s.path {
			s.path, s.most = cause, ns
		}
	}
	total := sums.total()
	list := []Cause{}
	for _, s := range byName {
		s.Us, s.Share = us(s.Ns), ratio(s.Ns, total)
		s.UsPerStep = perStep(s.Us, steps)
		if s.path >= thread.Named {
			s.Path = c.pathText(s.path - thread.Named)
			s.Source = c.source(s.path - thread.Named)
		}
		list = append(list, s.Cause)
	}
	slices.SortFunc(list, func(a, b Cause) int {
		if n := cmp.Compare(b.Ns, a.Ns); n != 0 {
			return n
		}
		return strings.Compare(a.Cause, b.Cause)
	})
	return list
}

// causeName returns the name of a cause.
func (c *computer) causeName(cause thread.State) string {
	if cause < thread.Named {
		return causeNames[cause]
	}
	return "host:" + c.rangeText(cause-thread.Named)
}

// rangeText returns the innermost range of a path, "" for the path -1.
func (c *computer) rangeText(path int32) string { return c.ranges.text(c.paths.Name(path)) }

// pathText returns the ranges of a path in one text.
func (c *computer) pathText(path int32) string {
	var texts []string
	for _, name := range c.paths.Names(path) {
		texts = append(texts, c.ranges.text(name))
	}
	return strings.Join(texts, " > ")
}

// source returns the source of the innermost range of a path that has one.
func (c *computer) source(path int32) string {
	for ; path >= 0; path = c.paths.Parent(path) {
		if s := c.opt.Source(c.rangeText(path)); s != "" {
			return s
		}
	}
	return ""
}

// stepReport lists the idle causes of each step.
func (c *computer) stepReport(views []*view) []StepIdle {
	list := []StepIdle{}
	for _, v := range views {
		sums := make([]causeSums, len(v.rank.steps))
		length := make([]int64, len(v.rank.steps))
		v.eachStepPiece(func(cell *cell, cause thread.State, ns int64) { sums[cell.step].add(cause, ns) })
		v.eachStepCell(func(cell *cell, ns int64) { length[cell.step] += ns })
		for k := range v.rank.steps {
			s := &v.rank.steps[k]
			if !v.inWindow(s) {
				continue
			}
			list = append(list, StepIdle{
				Rank: v.id, Step: k, Phase: event.Phases[s.phase], TotalUs: us(sums[k].total()),
				WindowUs: us(length[k] * int64(len(v.lanes))), Causes: c.causes(&sums[k], 1),
			})
		}
	}
	return list
}

// gapReport lists buckets and the longest gaps.
func (c *computer) gapReport(views []*view) Gaps {
	var all gapTally
	for _, v := range views {
		for _, s := range v.segments {
			all.merge(&s.gaps, c.opt.Top)
		}
	}
	gaps := Gaps{Buckets: []Bucket{}, Top: []TopGap{}}
	var total int64
	largest := 0
	for i, ns := range all.total {
		total += ns
		if ns > all.total[largest] {
			largest = i
		}
	}
	for i := range all.count {
		b := Bucket{
			Count: all.count[i], Ns: all.total[i], TotalUs: us(all.total[i]), Share: ratio(all.total[i], total),
			Source: bucketSources[i].source,
		}
		if i > 0 {
			b.LowerUs = us(bucketLimits[i-1])
		}
		if i < len(bucketLimits) {
			upper := us(bucketLimits[i])
			b.UpperUs = &upper
		}
		gaps.Buckets = append(gaps.Buckets, b)
	}
	if total > 0 {
		gaps.Dominant = bucketSources[largest].dominates
	}
	slices.SortFunc(all.top, (*topGap).before)
	for _, g := range all.top {
		gaps.Top = append(gaps.Top, c.topGap(g))
	}
	return gaps
}

func (c *computer) topGap(g *topGap) TopGap {
	t := TopGap{
		GapUs: us(g.gap), Previous: c.kernels.text(g.previous), Next: c.kernels.text(g.next),
		Rank: g.rank, Device: g.device, Stream: g.stream, StartNs: g.start, Call: c.kernels.text(g.call),
		Range: c.rangeText(g.path), Path: c.pathText(g.path), IdleUs: us(g.idle), Causes: []CausePart{},
	}
	if g.step >= 0 {
		t.Step = &g.step
	}
	parts := map[string]int64{}
	for _, p := range g.parts {
		parts[c.causeName(p.cause)] += p.ns
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		t.Causes = append(t.Causes, CausePart{name, us(parts[name])})
	}
	slices.SortStableFunc(t.Causes, func(a, b CausePart) int { return cmp.Compare(b.Us, a.Us) })
	return t
}
