package gap

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Waits is the time that GPUs wait in collectives for a late rank. A waiting GPU is busy but
// does no work, so the time is not part of the idle time.
type Waits struct {
	TotalUs   float64  `json:"total_us"`    // in the steps that count, over all GPUs
	Share     float64  `json:"share"`       // of the window
	UsPerStep *float64 `json:"us_per_step"` // per rank-step, null without steps
	// Estimated is set if some GPUs that take part in the collectives were not recorded.
	Estimated bool `json:"estimated"`
	// Causes divide TotalUs by what the late rank was idle for, the largest first: a cause of
	// idle time, collective.ImbalanceName if its own kernels took longer,
	// collective.SenderName if it works on what this one receives, or collective.UnknownName.
	Causes []Part `json:"causes"`
}

// sinceLast logs an activity of a GPU, and the idle time before it, to explain waits in
// collectives.
func (r *rank) sinceLast(d *gpu, a *activity, inStep bool) {
	if d.collectives == nil {
		d.collectives = collective.NewLog(r.c.store)
	}
	if r.idle.EndedGap() && d.GapStart >= r.began && !r.c.opt.FirstOnly {
		for _, p := range r.idle.LastGap() {
			d.collectives.Idle(collective.Key(r.c.sites.WithoutSite(p.Key)), p.Ns)
		}
	}
	switch {
	case a.Kind != event.Kernel || !a.class.IsCollective():
		d.collectives.Work(a.Start, a.End)
	case inStep && r.walk.Steps.Len() > 0:
		// The collective belongs to the step that launched it if steps are host ranges, else to
		// the step in which it runs: where hosts run ahead, the latter differs from rank to rank.
		// Its step is never before that of the previous collective.
		k := r.walk.Steps.Len() - 1
		if r.c.method == step.NVTX && a.LaunchStart != none {
			for k > 0 && r.walk.Steps.At(k).Start > a.LaunchStart {
				k--
			}
		}
		d.step = max(d.step, k)
		d.collectives.Collective(collective.Collective{
			Step: int32(d.step), Name: a.Name, Allreduce: a.class == event.Allreduce, Start: a.Start, End: a.End,
		})
	}
}

// waiting holds how long the GPU of a rank waits in collectives, by step, in ns.
type waiting struct {
	*view
	steps []int64
	near  step.Cursor
	known bool // it shares collectives with others, or has an estimate
}

// waitSums holds how long GPUs wait in collectives. The waits of ranks with several GPUs are
// unknown, because only one GPU per rank is compared.
type waitSums struct {
	ranks []*waiting         // by lane, nil if unknown
	parts map[waitPart]int64 // in the window, ns
}

// waitPart identifies a part of the waits.
type waitPart struct {
	rank  int32
	phase event.Phase
	key   collective.Key
}

// newWaits returns empty sums for lanes, one per rank.
func newWaits(of []*view) *waitSums {
	w := &waitSums{ranks: make([]*waiting, len(of)), parts: map[waitPart]int64{}}
	for k, v := range of {
		if len(v.gpus) == 1 {
			w.ranks[k] = &waiting{view: v, steps: make([]int64, v.walk.Steps.Len()), near: step.NewCursor(&v.walk.Steps)}
		}
	}
	return w
}

// meeting adds the waits in one collective.
func (w *waitSums) meeting(ev *collective.Meeting) {
	for i := range ev.Members {
		m := &ev.Members[i]
		if one := w.ranks[m.Lane]; one != nil {
			one.known = true
			one.add(m, w.parts)
		}
	}
}

// of returns the waits of a rank by step, in ns, nil if unknown. w may be nil.
func (w *waitSums) of(rank int32) []int64 {
	if w == nil {
		return nil
	}
	for _, one := range w.ranks {
		if one != nil && one.id == rank {
			return one.steps
		}
	}
	return nil
}

// add adds the parts of a wait, which follow one another in time, to the steps in whose
// periods they lie. It adds them to parts, too, if the window holds the step.
func (w *waiting) add(m *collective.Member, parts map[waitPart]int64) {
	t := m.At
	for _, p := range m.Parts {
		part := stat.Span{From: t, To: t + p.Ns}
		w.near.Over(part, func(k int, ns int64) {
			w.steps[k] += ns
			if w.c.wholeTrace || w.inWindow(int32(k)) {
				parts[waitPart{w.id, w.walk.Steps.At(k).Phase, p.Key}] += ns
			}
		})
		t = part.To
	}
}

// report lists waits by cause. It returns nil if the waits of any rank are unknown, or if
// whole-graph rows hide collectives.
func (w *waitSums) report(rep *Report, c *texts, estimated bool) *Waits {
	unknown := func(one *waiting) bool { return one == nil || !one.known }
	if w == nil || rep.Graph.Whole > 0 || slices.ContainsFunc(w.ranks, unknown) {
		return nil
	}
	window, steps := rep.Idle.WindowUs, rep.Idle.Steps
	byName := map[string]int64{}
	total := int64(0)
	for of, ns := range w.parts {
		total += ns
		byName[c.waitCause(of.key)] += ns
	}
	all := &Waits{TotalUs: us(total), UsPerStep: perStep(us(total), steps), Estimated: estimated, Causes: []Part{}}
	if window > 0 {
		all.Share = all.TotalUs / window
	}
	for name, ns := range byName {
		if ns > 0 {
			all.Causes = append(all.Causes, partOf(name, ns, total, steps))
		}
	}
	slices.SortFunc(all.Causes, Part.compare)
	return all
}

// waitCause returns the name of what caused a part of the waits.
func (c *texts) waitCause(k collective.Key) string {
	if name, ok := waitNames[k]; ok {
		return name
	}
	return c.sites.CauseName(idle.Key(k))
}

// waitNames are the causes of waits that are no causes of idle time.
var waitNames = map[collective.Key]string{
	collective.Imbalance: collective.ImbalanceName, collective.Unknown: collective.UnknownName, collective.Sender: collective.SenderName,
}

// text says how long GPUs wait in collectives, "" if that is negligible. w may be nil.
func (w *Waits) text() string {
	if w == nil || w.Share < negligible {
		return ""
	}
	text := fmt.Sprintf(" Waits in collectives for a late rank take another %s of the window", report.Percent(w.Share))
	if w.Estimated {
		text += ", by estimate"
	}
	return text + "."
}

// table shows the causes of waits in collectives, unless they are negligible.
func (w *Waits) table(s *report.Section) {
	if w.text() == "" {
		return
	}
	t := s.Table("Waits in collectives, by what the late rank is doing", report.Columns("cause: names, per step: duration adds, share: ratio adds, total: duration adds 1")...)
	t.Top = maxRows
	for _, c := range w.Causes {
		t.Row(report.Str(c.Cause), report.Opt(c.UsPerStep), report.Num(c.Share), report.Num(c.Us))
	}
}
