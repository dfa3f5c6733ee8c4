package gap

import (
	"math"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/straggler"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// stragglerReport compares the ranks' collectives, nil where there is nothing to
// compare.
// Only ranks that share collectives can be compared: of several groups the one that
// straggler.Find takes. Why is asked only where the same ranks are late all the time: causes of
// lateness that goes round would be those of nobody.
func (c *Watch) stragglerReport(views []*view) *straggler.Report {
	var lanes []collective.Lane
	var windows []straggler.Window
	var of []*compared
	for _, v := range views {
		if l, ok := v.collectives(); ok {
			lanes = append(lanes, l)
			windows = append(windows, straggler.Window{From: v.from, To: v.to})
			of = append(of, &compared{view: v})
		}
	}
	if len(lanes) == 0 {
		return nil
	}
	c.match, c.waits = collective.New(lanes), newWaits(of)
	res := straggler.Find(c.match, windows, collective.Viewer{Visit: c.waits.meeting})
	if res == nil {
		return nil
	}
	if c.pipeline(res) {
		res.Kind, res.Rank, res.Together, res.Reason = straggler.Unknown, -1, nil, "the ranks only send to one another, as the stages of a pipeline do, and these wait without any being late"
	}
	rep := res.Report(lanes, c.kernels.Text)
	late := res.Late()
	if late == nil {
		return rep
	}
	times := make([]straggler.Times, len(res.Lanes))
	for k, lane := range res.Lanes {
		v := of[lane]
		v.matched, v.n = make([]bool, v.walk.Steps.Len()), len(res.PerStep)
		for _, s := range res.Ranks[k].Steps {
			v.matched[s] = true
		}
		times[k] = straggler.Times{Kernels: v.kernelTimes(), Operations: v.hostTimes(), Idle: v.idleTimes()}
	}
	rep.Explain(late, times, c.source)
	if !res.Lasting && rep.Side == "" {
		rep.Acquit()
	}
	return rep
}

// maxSends is how often per step stages of a pipeline send to one another at most: what is
// more may be an all-to-all.
const maxSends = 2

// pipeline reports whether all that ranks have in common is what stages of a pipeline send.
func (c *texts) pipeline(res *straggler.Result) bool {
	n := 0
	for _, name := range res.PerName {
		if n += name.Count; !strings.Contains(c.kernels.Text(name.Name), "SendRecv") {
			return false
		}
	}
	return n > 0 && n <= maxSends*res.Steps
}

// compared is a rank whose collectives are compared.
type compared struct {
	*view
	matched []bool // by number of the step: it has matched collectives
	n       int    // how many these are
}

// collectives returns the lane of the rank's lowest device that has collectives; ok is false
// where none has.
func (v *view) collectives() (l collective.Lane, ok bool) {
	device, log := int32(math.MaxInt32), (*collective.Log)(nil)
	for _, d := range v.gpus {
		if d.collectives != nil && d.collectives.Len() > 0 && d.Device <= device {
			log, device = d.collectives, d.Device
		}
	}
	if log == nil {
		return l, false
	}
	log.Seal()
	l = collective.NewLane(v.c.header, v.id, device, log, v.c.kernels.Text)
	l.Kind = func(k int32) int64 { return int64(v.walk.Steps.At(int(k)).Phase) }
	return l, true
}

// kernelTimes returns the time per step of the kernels that the rank runs by itself, by
// class, in us.
func (v *compared) kernelTimes() map[string]float64 {
	var sums kernelTime
	v.kept.Each(1<<(colOwn+numStepColumns)-1<<colOwn, func(rows spill.Rows) {
		for i, k := range rows[spill.Key] {
			if v.inWindow(int32(k)) && v.matched[k] {
				for class := range sums {
					sums[class] += rows[colOwn+class][i]
				}
			}
		}
	})
	times := map[string]float64{}
	for class, ns := range sums {
		if ns > 0 {
			times[event.Classes[class]] = us(ns) / float64(v.n)
		}
	}
	return times
}

// hostTimes returns the time per step that launching threads spend in each state, in
// us: ranges by their name, and calls and the like by their class. Waiting for the
// GPU is left out: those who wait for the straggler do more of it.
// Over steps with matched collectives only, so that ranks are compared in the same steps.
func (v *compared) hostTimes() map[string]float64 {
	times := map[string]float64{}
	v.idle.EachHostTime(func(s idle.Sample) {
		cause, k := v.c.sites.Cause(s.Key), v.slices[s.Slice].step
		if k < 0 || !v.matched[k] || cause == idle.Untraced || cause == idle.Sync {
			return
		}
		times[strings.TrimPrefix(v.c.sites.CauseName(s.Key), "host:")] += us(s.Ns) / float64(v.n)
	})
	return times
}

// idleTimes returns the idle time per step of each cause, in us. What is untraced counts where
// launches were recorded: the host was late then, whatever it did.
func (v *compared) idleTimes() map[string]float64 {
	times, started := map[string]float64{}, v.started()
	launches := started.KernelLaunches+started.GraphLaunches > 0
	v.eachStepSample(func(k int32, s *idle.Sample) {
		cause := v.c.sites.Cause(s.Key)
		if !v.matched[k] || cause == idle.Sync || cause == idle.Untraced && !launches || cause == idle.Tail {
			return
		}
		times[v.c.sites.CauseName(s.Key)] += us(s.Ns) / float64(v.n)
	})
	return times
}

// kernelTime is the time of a step's kernels by class.
type kernelTime [event.Other + 1]int64

// The columns of what is kept of a step where ranks are compared: its kernelTime.
const (
	colOwn         = spill.Payload
	numStepColumns = len(kernelTime{})
)
