package compare

import (
	"sort"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Causes of waits in collectives that are no idle time of another rank.
const (
	imbalance    = "imbalance" // the late rank's own kernels took longer
	waitsUnknown = "unknown"   // the late rank was not recorded, or did nothing that shows
)

// observeCollective observes an activity of a GPU for the waits in collectives; d is what
// idle knows of the GPU after it.
func (r *rank) observeCollective(g *gpu, d *idle.GPU, a *idle.Activity, class event.Class) {
	if d.GapEnd == a.Start && d.GapStart != g.gapStart {
		if g.gapStart = d.GapStart; d.GapStart >= r.segment {
			for _, p := range r.idle.LastGap() {
				g.log.Idle(collective.Key(p.Key), p.Ns)
			}
		}
	}
	if a.Kind != event.Kernel || !class.IsCollective() {
		g.log.Work(a.Start, a.End)
		return
	}
	g.log.Collective(collective.Collective{
		Step: int32(r.walk.Steps.Len() - 1), Name: a.Name, Allreduce: class == event.Allreduce, Start: a.Start, End: a.End,
	})
}

// kind distinguishes steps whose collectives take different times.
func (r *rank) kind(step int32) int64 {
	if int(step) >= r.walk.Steps.Len() {
		return int64(event.Unknown)
	}
	return int64(r.walk.Steps.At(int(step)).Phase)
}

// divideWaits finds out how long GPUs of the run waited in collectives, and for what, and adds
// that to the steps of their ranks.
func (p *Profiler) divideWaits() {
	var lanes []collective.Lane
	var of []*rank
	for _, r := range p.ranks {
		for k := range r.gpus {
			if log := r.gpus[k].log; log.Len() > 0 {
				log.Seal()
				l := collective.NewLane(p.header, r.id, r.gpus[k].device, log, p.sites.Names.Text)
				l.Kind = r.kind
				lanes, of = append(lanes, l), append(of, r)
			}
		}
	}
	if len(lanes) == 0 {
		return
	}
	ids := &idleNames{sites: p.sites, section: waitTimes, names: p.run.names[waitTimes], name: bySite}
	m := collective.New(lanes)
	m.Each(func(ev *collective.Meeting) {
		for i := range ev.Members {
			if w := &ev.Members[i]; w.Wait > 0 {
				of[w.Lane].addWait(w, ids)
			}
		}
	})
	if c := m.Coverage(); c.Doubt() != "" {
		p.run.Warnings = append(p.run.Warnings, c.Doubt())
	}
}

// addWait adds a wait to the steps whose periods it lies in. Its parts lie one after the other.
func (r *rank) addWait(w *collective.Member, ids *idleNames) {
	steps, t := &r.walk.Steps, w.At
	n := steps.Len()
	k := sort.Search(n, func(k int) bool { return steps.At(k).Until > t })
	for _, p := range w.Parts {
		var id int32
		switch p.Key {
		case collective.Imbalance:
			id = ids.names.add(idleName{cause: imbalance}.String())
		case collective.Unknown:
			id = ids.names.add(idleName{cause: waitsUnknown}.String())
		default:
			id = ids.of(idle.Key(p.Key))
		}
		part := stat.Span{From: t, To: t + p.Ns}
		for ; k < n; k++ {
			s := steps.At(k)
			if ns := part.Clip(stat.Span{From: s.Start, To: s.Until}).Len(); ns > 0 {
				r.sections[waitTimes].at(id).add(int32(k), ns, 0, 0)
			}
			if s.Until >= part.To {
				break
			}
		}
		t = part.To
	}
}

// WaitRow is time that GPUs wait in collectives for a late rank, by cause of what that did
// meanwhile. All such rows add up to the wait of a step.
type WaitRow struct {
	Row
	Cause string     `json:"cause"`
	Sites []WaitSite `json:"sites"` // where that arose, the most first; they add up to the row
}

// WaitSite is a part of a WaitRow. It is not tested: the row is.
type WaitSite struct {
	Site     *string  `json:"site"`
	Baseline *float64 `json:"baseline_us"`
	Target   *float64 `json:"target_us"`
	Delta    *float64 `json:"delta_us"`
}

// waitRows makes rows of waits by cause.
func (t *tester) waitRows() []WaitRow {
	rows, sites := []WaitRow{}, idleRows(t.sectionRows(waitTimes))
	for _, r := range idleRows(t.itemRows(waitTimes, func(s *side) map[string]*item { return s.waitCauses })) {
		one := WaitRow{Row: r.Row, Cause: r.Cause, Sites: []WaitSite{}}
		for _, s := range sites {
			if s.Cause == r.Cause {
				one.Sites = append(one.Sites, WaitSite{s.Site, s.Baseline, s.Target, s.Delta})
			}
		}
		rows = append(rows, one)
	}
	return rows
}

// waits reports whether GPUs of a side wait in collectives at all.
func (s *side) waits() bool { return s != nil && len(s.rows[waitTimes]) > 0 }

// hasWaits reports whether GPUs of any side wait in collectives.
func (c *Comparison) hasWaits() bool { return c.base.waits() || c.target.waits() }
