package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/straggler"
)

// stragglerReport compares the ranks' collectives, nil where there is nothing to
// compare.
func (c *computer) stragglerReport(views []*view) *straggler.Report {
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
	rep := res.Report(ranks, c.kernels.text)
	if res.Kind != straggler.Persistent {
		return rep
	}
	times := make([]straggler.Times, len(of))
	for k, v := range of {
		v.matched = make(map[int32]bool, res.Steps)
		for _, s := range res.PerStep {
			v.matched[v.first+int32(s.Step-res.Shifts[k])] = true
		}
		times[k] = straggler.Times{Kernels: v.kernelTimes(), Operations: v.hostTimes(), Idle: v.idleTimes()}
	}
	rep.Explain(res.Rank, times, c.opt.Source)
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
	for p, piece := range lane.collectives {
		lane.collectives[p] = nil // both in memory would be much in a long run
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

// kernelTimes returns the time per step of the kernels that the rank runs by itself, by
// class, in us.
func (v *compared) kernelTimes() map[string]float64 {
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

// hostTimes returns the time per step that launching threads spend in each state, in
// us: ranges by their name, and calls and the like by their class. Waiting for the
// GPU is left out: those who wait for the straggler do more of it.
func (v *compared) hostTimes() map[string]float64 {
	times := map[string]float64{}
	v.idle.EachHostTime(func(s idle.Sample) {
		cause := v.c.sites.Cause(s.Key)
		if !v.matched[v.slices[s.Slice].step] || cause == idle.Untraced || cause == idle.Sync {
			return
		}
		times[strings.TrimPrefix(v.c.sites.CauseName(s.Key), "host:")] += us(s.Ns) / float64(len(v.matched))
	})
	return times
}

// idleTimes returns the idle time per step of each cause, in us.
func (v *compared) idleTimes() map[string]float64 {
	times := map[string]float64{}
	v.eachStepSample(func(k int32, s *idle.Sample) {
		cause := v.c.sites.Cause(s.Key)
		if !v.matched[k] || cause == idle.Sync || cause == idle.Untraced || cause == idle.Tail {
			return
		}
		times[v.c.sites.CauseName(s.Key)] += us(s.Ns) / float64(len(v.matched))
	})
	return times
}
