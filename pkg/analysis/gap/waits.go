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

// Waits is the time that GPUs wait in collectives for a rank that is late. They are busy then and
// do no work, so that it is no part of the idle time.
type Waits struct {
	TotalUs   float64  `json:"total_us"`    // in the steps that count, over all GPUs
	Share     float64  `json:"share"`       // of the window
	UsPerStep *float64 `json:"us_per_step"` // per rank-step, null without steps
	// Estimated tells that not all GPUs were recorded that run collectives together.
	Estimated bool `json:"estimated"`
	// Causes add up to TotalUs, the largest first, by what the late rank was idle for: a cause of idle time,
	// collective.ImbalanceName where its own kernels took longer, or collective.UnknownName.
	Causes []Part `json:"causes"`
}

// sinceLast observes an activity of a GPU for what waits in collectives are due to.
func (r *rank) sinceLast(d *gpu, a *activity, inStep bool) {
	if d.collectives == nil {
		d.collectives = collective.NewLog(r.c.store)
	}
	if r.idle.EndedGap() && d.GapStart >= r.began && !r.c.opt.FirstOnly {
		for p := range r.idle.LastGap() {
			d.collectives.Idle(collective.Key(r.c.sites.WithoutSite(p.Key)), p.Ns)
		}
	}
	switch {
	case a.Kind != event.Kernel || !a.class.IsCollective():
		d.collectives.Work(a.Start, a.End)
	case inStep && r.walk.Steps.Len() > 0:
		// It is of the step in which it was launched, where steps are ranges of the host, and else of that in
		// which it runs (where hosts run ahead, that differs from rank to rank), and of none before the last's.
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

// waiting is how long the GPU of a rank waits in collectives, by step, ns.
type waiting struct {
	*view
	steps []int64
	near  step.Cursor
	known bool // it has collectives that others have, too
}

// waitSums is how long GPUs wait in collectives. Of a rank of several GPUs only one is compared, and
// nothing is known.
type waitSums struct {
	ranks []*waiting         // by lane, nil of those of which nothing is known
	parts map[waitPart]int64 // in the window, ns
}

// waitPart is what a part of the waits is told by.
type waitPart struct {
	rank  int32
	phase event.Phase
	key   collective.Key
}

// newWaits returns those of lanes, each of a rank, of which nothing was seen.
func newWaits(of []*view) *waitSums {
	w := &waitSums{ranks: make([]*waiting, len(of)), parts: map[waitPart]int64{}}
	for k, v := range of {
		if len(v.gpus) == 1 {
			w.ranks[k] = &waiting{view: v, steps: make([]int64, v.walk.Steps.Len()), near: step.NewCursor(&v.walk.Steps)}
		}
	}
	return w
}

// meeting observes a collective.
func (w *waitSums) meeting(ev *collective.Meeting) {
	for i := range ev.Members {
		m := &ev.Members[i]
		if one := w.ranks[m.Lane]; one != nil {
			one.known = true
			one.add(m, w.parts)
		}
	}
}

// of returns the waits of a rank by step, nil where they are not known.
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

// add adds a wait to the steps in whose periods it lies, and its parts to those of the window. They
// lie one after the other.
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

// report lists waits by cause, nil where those of any rank are not known: rows of whole graphs
// hide collectives.
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

// waitCause names what a part of the waits is due to.
func (c *texts) waitCause(k collective.Key) string {
	switch k {
	case collective.Imbalance:
		return collective.ImbalanceName
	case collective.Unknown:
		return collective.UnknownName
	}
	return c.sites.CauseName(idle.Key(k))
}

// text says how long GPUs wait in collectives, "" where that is not worth a word.
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

// table shows what GPUs wait in collectives for.
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
