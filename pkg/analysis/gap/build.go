package gap

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// report makes the report of all ranks. The order matters: findings need all other parts,
// the hand-off needs the findings, and warnings come last because any part may add some.
func (c *Watch) report() (*Report, error) {
	stepless := !c.wholeTrace && !slices.ContainsFunc(c.ranks, func(r *rank) bool { return r.walk.Steps.Len() > 0 })
	c.wholeTrace = c.wholeTrace || stepless
	views := c.views()
	rep := &Report{Result: findings.Result{Findings: []findings.Finding{}}, Workload: c.header.Workload(), Warnings: append([]string{}, c.header.Warnings()...)}
	switch {
	case len(views) == 0:
		if err := rep.nothing(c); err != nil {
			return nil, err
		}
	case stepless:
		rep.Warnings = append(rep.Warnings, "no steps were found: the figures are of the whole trace")
	}
	if rep.Idle = c.idleReport(views); len(views) > 0 && rep.Idle.GPUs == 0 {
		rep.reason = "no GPU activity in the window: what was recorded of it has no length"
		rep.Warnings = append(rep.Warnings, rep.reason)
	}
	rep.Gaps = c.gapReport(views)
	rep.Graph = c.graphReport(views)
	rep.Pattern = c.patternReport(views)
	var err error
	if rep.Straggler, err = c.stragglerReport(views); err != nil {
		return nil, err
	}
	rep.Waits = c.waits.report(rep, &c.texts, c.match != nil && c.match.Estimated)
	found := c.evidence(views)
	found.running(rep)
	rep.Idle.Python = found.pythonLines(rep.Idle.TotalUs, "")
	if err := c.find(rep, views, found); err != nil {
		return nil, err
	}
	rep.recordMore(c, views, found)
	rep.Handoff = rep.handoff()
	if c.opt.Stacks {
		rep.Stacks = append(found.stacks(views), rep.waitStacks(c)...)
	}
	if c.opt.Series {
		rep.Series = c.seriesReport(views, rep.Idle.Causes)
	}
	c.warn(rep, views)
	return rep, nil
}

// nothing fills in why no rank has a window, and how often a CPU quota stopped its threads.
func (rep *Report) nothing(c *Watch) (err error) {
	rep.reason = "no rank has a window: there are no steps, or no GPU activity"
	if c.header.Rows(event.Kernel)+c.header.Rows(event.Graph) == 0 {
		rep.reason = "no GPU activity was recorded"
	}
	rep.Warnings = append(rep.Warnings, rep.reason)
	if rep.Quota, err = c.trace.Quota(); rep.Quota != "" {
		rep.Warnings = append(rep.Warnings, rep.Quota)
	}
	return err
}

// recordMore fills in what the recording lacks about host threads that GPUs waited for, and
// the command that records it.
func (rep *Report) recordMore(c *Watch, views []*view, found *evidence) {
	rep.Idle.Unrecorded = []idle.Missing{}
	if slices.ContainsFunc(rep.Idle.Causes, func(c Cause) bool { return onHost(c.Cause) || c.Cause == idle.Untraced.String() }) {
		bare := false // all samples lack stacks
		for _, f := range found.strata {
			bare = bare || f.bare && rep.Idle.Running == nil
		}
		rep.Idle.Unrecorded = c.unrecorded(views, bare)
	}
	if len(rep.Idle.Unrecorded) > 0 {
		rep.Idle.Record = c.record()
	}
	if rep.Idle.nameless(c) {
		rep.Idle.PythonFunctions = c.header.PythonFunctions()
	}
}

// waitStacks returns the waits in collectives as stacks.
func (rep *Report) waitStacks(c *Watch) (stacks []figure.Stack) {
	if rep.Waits == nil {
		return nil
	}
	for of, ns := range c.waits.parts {
		stacks = append(stacks, figure.Stack{Rank: of.rank, Phase: of.phase.String(), Cause: timeline.Waits, Path: []string{c.waitCause(of.key)}, Evidence: figure.Exact, Ns: ns})
	}
	return stacks
}

// find fills in the findings, what to begin with, and the best pair.
func (c *Watch) find(rep *Report, views []*view, found *evidence) error {
	if len(views) == 0 {
		return nil
	}
	facts, err := c.gather(rep, views, found)
	if err != nil {
		return err
	}
	run := findings.Run{Facts: facts, Steps: int(rep.Idle.Steps), Ranks: len(views), IdleUs: rep.Idle.TotalUs, Replay: c.replay, Alone: c.opt.FirstOnly}
	for _, v := range views {
		run.GPUs = max(run.GPUs, len(v.gpus))
	}
	res, err := findings.Find(run)
	if err != nil {
		return err
	}
	if rep.Result = *res; res.First != nil {
		rep.Warnings = append(rep.Warnings, res.Unmodelled...)
	}
	return nil
}

// warn adds warnings about what limits the report: what was not recorded, what limits on
// memory turned into estimates, and what recording itself slowed down. The figures remain
// correct; each warning names a part that says less than a reader would assume.
func (c *Watch) warn(rep *Report, views []*view) {
	add := func(format string, args ...any) { rep.Warnings = append(rep.Warnings, fmt.Sprintf(format, args...)) }
	for _, p := range rep.Graph.Partial {
		add("rank %d: only %d of %d graph replays were recorded, idle time may be work that is not in the recording", p.Rank, p.Recorded, p.GraphLaunches)
	}
	if s := rep.Straggler; s != nil && rep.Graph.Whole > 0 {
		add("graph replays recorded as a whole hide their collectives: ranks were compared in %d steps only", s.Steps)
	}
	if rep.Waits.text() != "" {
		for _, doubt := range c.match.Doubts() {
			add("%s", doubt)
		}
	}
	c.distrust(rep)
	var forgotten int64
	for _, v := range views {
		if v.walk.Window == nil && v.walk.Steps.Len() > 0 {
			add("rank %d: the stream does not hold its benchmark window, so all of its steps count", v.id)
		}
		if sync := rep.Idle.cause(idle.Sync.String()); len(v.gpus) > 1 && sync != nil && sync.Share > minCauseShare {
			add("rank %d has %d GPUs: while a thread waits for one of them, the idle time of the others counts as sync", v.id, len(v.gpus))
		}
		forgotten += v.idle.Forgotten()
	}
	if forgotten > 0 {
		add("for %s of idle time in long gaps, what the launching thread did is unknown", report.Micros(us(forgotten)))
	}
	if c.ranges.Full() || c.kernels.Full() {
		add("there are more than %d different names: the rest counts as (other)", idle.MaxNames)
	}
}

// distrust warns if the recording itself causes idle time, or hides work.
func (c *Watch) distrust(rep *Report) {
	sums := map[string]float64{}
	for _, cause := range rep.Idle.Causes {
		for _, w := range cause.Why {
			sums[w.Why] += w.Us
		}
	}
	for _, w := range []struct{ why, text string }{
		{"profiler", "%s of idle time is the profiler's own work on launching threads: without the profiler there is less"},
		{"queue_full", "for %s of idle time a launch waits for a full queue: the GPU is busy with work that was not recorded"},
	} {
		if sums[w.why] > minCauseShare*rep.Idle.TotalUs {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf(w.text, report.Micros(sums[w.why])))
		}
	}
}

// us converts ns to microseconds, not rounded.
func us(ns int64) float64 { return float64(ns) / 1e3 }

// ratio returns a/b, 0 if b is 0.
func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// perStep returns x/steps, nil without steps.
func perStep(x float64, steps int64) *float64 {
	if steps == 0 {
		return nil
	}
	return new(x / float64(steps))
}

// gapReport lists buckets and the longest gaps in the window. Shares are of the time in all
// gaps. The dominant bucket is the one with the most time, not the most gaps. Gaps of
// different streams overlap, so their sum may exceed the idle time of the GPU.
func (c *Watch) gapReport(views []*view) Gaps {
	var all gapTally
	for _, v := range views {
		for b := range v.eachBin() {
			all.merge(&b.gaps, c.opt.Top)
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
			b.UpperUs = new(us(bucketLimits[i]))
		}
		gaps.Buckets = append(gaps.Buckets, b)
	}
	if total > 0 {
		gaps.Dominant = bucketSources[largest].dominates
	}
	for _, g := range slices.Backward(all.top) {
		gaps.Top = append(gaps.Top, c.named(g))
	}
	return gaps
}
