package gap

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/straggler"
)

// stragglerReport compares the ranks' collectives, nil where there is nothing to
// compare.
func (c *computer) stragglerReport(views []*view) *Straggler {
	var ranks []straggler.Rank
	var of []*compared
	for _, v := range views {
		if r, first, ok := v.collectives(); ok {
			ranks = append(ranks, r)
			of = append(of, &compared{view: v, first: first})
		}
	}
	res := straggler.Find(ranks)
	if res == nil {
		return nil
	}
	for k, v := range of {
		v.matched = make(map[int32]bool, res.Steps)
		for _, s := range res.PerStep {
			v.matched[v.first+int32(s.Step-res.Shifts[k])] = true
		}
	}
	steps := float64(res.Steps)
	rep := &Straggler{
		ShareOfSteps: res.Share, ShareOfLateness: res.ShareLate, Reason: res.Reason, Causes: []string{}, ClockErrorUs: us(res.ClockError), Kind: string(res.Kind),
		Steps: res.Steps, Matched: res.Matched, Unmatched: res.Unmatched, Why: []Excess{},
		Ranks: []StragglerRank{}, Kinds: []StragglerKind{},
	}
	for k, s := range res.Ranks {
		rep.Ranks = append(rep.Ranks, StragglerRank{
			Rank: of[k].id, OffsetUs: us(res.Offsets[k]), DriftPpm: res.Drift[k] / 1e3,
			ShareOfSteps: float64(s.Straggler) / steps, LateUs: us(s.Late) / steps,
			WaitUs: us(s.Wait) / steps, TransferUs: us(s.Transfer) / steps,
		})
	}
	for _, n := range res.PerName {
		rep.Kinds = append(rep.Kinds, StragglerKind{
			Name: c.kernels.text(n.Name), PerStep: float64(n.Count) / steps, LateUs: us(n.Late) / steps,
			WaitUs: us(n.Wait) / steps / float64(len(ranks)), TransferUs: us(n.Transfer) / steps / float64(len(ranks)),
		})
	}
	slices.SortStableFunc(rep.Kinds, func(a, b StragglerKind) int { return cmp.Compare(b.WaitUs, a.WaitUs) })
	if res.Rank >= 0 {
		rep.LateUs = rep.Ranks[res.Rank].LateUs
	}
	if res.Kind == straggler.Persistent {
		rep.Rank = &of[res.Rank].id
		c.why(rep, of, res)
	}
	return rep
}

// compared is a rank whose collectives are compared.
type compared struct {
	*view
	first   int32          // number of its first step in the window
	matched map[int32]bool // numbers of the steps with matched collectives
}

// collectives returns the collectives of the benchmark's steps on the rank's lowest
// device that has any, and the number of the first of these steps.
func (v *view) collectives() (r straggler.Rank, first int32, ok bool) {
	r = straggler.Rank{ID: v.id, Report: v.report, Clocked: v.c.clocked(v.report)}
	var lane *lane
	for _, l := range v.lanes {
		if len(l.collectives) > 0 && (lane == nil || l.Device < lane.Device) {
			lane = l
		}
	}
	if lane == nil {
		return r, 0, false
	}
	first = int32(v.from)
	r.Steps = int(v.steps)
	r.Collectives = make([]straggler.Collective, 0, len(lane.collectives)*pieceLen)
	for _, piece := range lane.collectives {
		for i := range piece {
			if k := &piece[i]; v.inWindow(k.step) {
				r.Collectives = append(r.Collectives, straggler.Collective{
					Step: k.step - first, Name: k.name, Allreduce: k.allreduce, Start: k.start, End: k.end,
				})
			}
		}
	}
	return r, first, len(r.Collectives) > 0
}

// clocked tells whether the times of a report are UTC but for an error.
func (c *computer) clocked(report int) bool {
	if report < 0 {
		return false
	}
	const year2001 = 1e18 // ns after 1970: such times are UTC themselves
	r := &c.header.Reports[report]
	return r.Origin != 0 || r.GPUStart != nil && *r.GPUStart-r.Offset > year2001
}

// Shares of the lateness: what an operation explains at least to be called a cause of it,
// and what one side explains at least to be called the one.
const (
	enoughExcess = 0.1
	mostExcess   = 0.5
)

// receives matches host operations in which all ranks but the first wait for it: who is
// late for that reason has no work to be taken off.
var receives = regexp.MustCompile(`(?i)broadcast|recv|receive`)

// why fills in what the straggler spends more on than the others: its own kernels by
// class, host operations, as the time that launching threads spent in them, and idle
// causes.
func (c *computer) why(rep *Straggler, of []*compared, res *straggler.Result) {
	kernels := rep.excess(of, res.Rank, "kernels", kernelTimes)
	operations := rep.excess(of, res.Rank, "operation", c.hostTimes)
	idle := rep.excess(of, res.Rank, "idle", c.idleTimes)
	idles := map[string]float64{}
	for k := range idle {
		idle[k].Source = c.opt.Source(idle[k].Name)
		idles[strings.TrimPrefix(idle[k].Name, "host:")] = idle[k].ExcessUs
	}
	for k := range operations {
		operations[k].Source = c.opt.Source(operations[k].Name)
	}
	rep.Why = slices.Concat(kernels, operations, idle)
	gpu := 0.0
	for _, w := range kernels {
		if gpu += w.ExcessUs; w.ExcessUs >= enoughExcess*rep.LateUs {
			rep.Causes = append(rep.Causes, "kernels:"+w.Name)
		}
	}
	if gpu >= mostExcess*rep.LateUs {
		rep.Side = "gpu"
	}
	host := 0.0
	for _, w := range operations {
		// A host that waits for its slow GPU is busy longer, too: then only what
		// leaves that GPU idle is a cause.
		if w.ExcessUs < enoughExcess*rep.LateUs || res.Rank > 0 && receives.MatchString(w.Name) || rep.Side != "" && idles[w.Name] < enoughExcess*rep.LateUs {
			continue
		}
		host += w.ExcessUs
		rep.Causes = append(rep.Causes, w.Name)
	}
	if rep.Side == "" && host >= mostExcess*rep.LateUs {
		rep.Side = "host"
	}
}

// excess lists what one rank spends more on than each of the others, the most first.
func (s *Straggler) excess(of []*compared, rank int, what string, sums func(*compared) map[string]float64) (list []Excess) {
	times := make([]map[string]float64, len(of))
	for k, v := range of {
		times[k] = sums(v)
	}
	for name, late := range times[rank] {
		most, sum := math.Inf(-1), 0.0
		for k := range times {
			if k != rank {
				most = max(most, times[k][name])
				sum += times[k][name]
			}
		}
		others := sum / float64(len(times)-1)
		// More than every other rank, not just more than their mean.
		if late <= most || late-others < enoughExcess*s.LateUs/2 {
			continue
		}
		list = append(list, Excess{What: what, Name: name, UsStep: late, OthersUs: others, ExcessUs: late - others})
	}
	slices.SortFunc(list, func(a, b Excess) int {
		return cmp.Or(cmp.Compare(b.ExcessUs, a.ExcessUs), strings.Compare(a.Name, b.Name))
	})
	return list
}

// kernelTimes returns the time per step of the kernels that the rank runs by itself, by
// class, in us.
func kernelTimes(v *compared) map[string]float64 {
	var sums kernelTime
	for k := range v.own {
		if !v.matched[int32(k)] {
			continue
		}
		for class, ns := range v.own[k] {
			sums[class] += ns
		}
	}
	times := map[string]float64{}
	for class, ns := range sums {
		if ns > 0 {
			times[event.Classes[class]] = us(ns) / float64(len(v.matched))
		}
	}
	return times
}

// hostTimes returns the time a step that launching threads spend in each state, in
// us: ranges by their name, and calls and the like by their class. Waiting for the
// GPU is left out: those who wait for the straggler do more of it.
func (c *computer) hostTimes(v *compared) map[string]float64 {
	times := map[string]float64{}
	v.idle.EachHostTime(func(s idle.Sample) {
		cause := c.sites.Cause(s.Key)
		if !v.matched[v.slices[s.Slice].step] || cause == idle.Untraced || cause == idle.Sync {
			return
		}
		times[strings.TrimPrefix(c.sites.CauseName(s.Key), "host:")] += us(s.Ns) / float64(len(v.matched))
	})
	return times
}

// idleTimes returns the idle time per step of each cause, in us.
func (c *computer) idleTimes(v *compared) map[string]float64 {
	times := map[string]float64{}
	v.eachStepSample(func(k int32, s *idle.Sample) {
		cause := c.sites.Cause(s.Key)
		if !v.matched[k] || cause == idle.Sync || cause == idle.Untraced || cause == idle.Tail {
			return
		}
		times[c.sites.CauseName(s.Key)] += us(s.Ns) / float64(len(v.matched))
	})
	return times
}
