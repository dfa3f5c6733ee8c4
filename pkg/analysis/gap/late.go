package gap

import (
	"math"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/straggler"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// stragglerReport compares the collectives of ranks. It returns nil if there is nothing to
// compare. Only ranks that share collectives can be compared; with several groups,
// straggler.Find chooses one. The cause is looked for only if the same ranks are always late:
// if lateness rotates, there is no rank to explain.
func (c *Watch) stragglerReport(views []*view) (*straggler.Report, error) {
	var lanes []collective.Lane
	var windows []straggler.Window
	var of []*view
	for _, v := range views {
		if l, ok := v.collectives(); ok {
			lanes = append(lanes, l)
			windows = append(windows, straggler.Window{From: v.from, To: v.to})
			of = append(of, v)
		}
	}
	if len(lanes) == 0 {
		return nil, nil
	}
	var viewers []collective.Viewer
	if c.match = collective.New(lanes); !c.opt.FirstOnly {
		c.waits = newWaits(of)
		viewers = append(viewers, collective.Viewer{Visit: c.waits.meeting})
	}
	res := straggler.Find(c.match, windows, viewers...)
	if res == nil {
		return nil, nil
	}
	if c.pipeline(res) {
		res.Kind, res.Rank, res.Together, res.Reason = straggler.Unknown, -1, nil, "the ranks only send to one another, like pipeline stages, which wait even if no rank is late"
	}
	rep := res.Report(lanes, c.kernels.Text)
	late := res.Late()
	if late == nil {
		return rep, nil
	}
	times := make([]straggler.Times, len(res.Lanes))
	for k, lane := range res.Lanes {
		v := of[lane]
		host, err := c.trace.HostTimes(v.id)
		if err != nil {
			return nil, err
		}
		delete(host, "") // time outside of operations
		times[k] = straggler.Times{Kernels: v.kernelTimes(), Operations: host, Idle: v.idleTimes()}
	}
	rep.Explain(late, times, c.source)
	if !res.Lasting && rep.Side == "" {
		rep.Acquit()
	}
	return rep, nil
}

// maxSends is how often per step the stages of a pipeline send to one another at most. More
// may be an all-to-all.
const maxSends = 2

// pipeline reports whether the ranks share nothing but sends between pipeline stages.
func (c *texts) pipeline(res *straggler.Result) bool {
	n := 0
	for _, name := range res.PerName {
		if n += name.Count; !strings.Contains(c.kernels.Text(name.Name), "SendRecv") {
			return false
		}
	}
	return n > 0 && n <= maxSends*res.Steps
}

// collectives returns the lane of the rank's lowest device with collectives; ok is false if
// there is none.
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
	return collective.NewLane(v.c.header, v.id, device, log, &v.walk.Steps, v.c.kernels.Text), true
}

// perStep converts ns in the window to us per step.
func (v *view) perStep(ns int64) float64 { return us(ns) / float64(max(1, v.steps)) }

// kernelTimes returns the time per step of kernels other than collectives, by class, in us.
func (v *view) kernelTimes() map[string]float64 {
	times := map[string]float64{}
	for b := range v.eachBin() {
		for class, ns := range b.own {
			if ns > 0 {
				times[event.Classes[class]] += v.perStep(ns)
			}
		}
	}
	return times
}

// idleTimes returns the idle time per step of each cause, in us, without waits for the GPU
// and tail. Untraced time counts if launches were recorded: then the host was late, whatever
// it did.
func (v *view) idleTimes() map[string]float64 {
	times, started := map[string]float64{}, v.started()
	launches := started.KernelLaunches+started.GraphLaunches > 0
	v.eachStepSample(func(_ int32, s *idle.Sample) {
		cause := v.c.sites.Cause(s.Key)
		if cause != idle.Sync && cause != idle.Tail && (cause != idle.Untraced || launches) {
			times[v.c.sites.CauseName(s.Key)] += v.perStep(s.Ns)
		}
	})
	return times
}

// kernelTime is the time of kernels by class, in ns.
type kernelTime [event.Other + 1]int64
