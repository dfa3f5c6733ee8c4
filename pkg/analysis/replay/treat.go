package replay

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Capturable reports whether kernels of an event class belong in a graph.
func Capturable(class event.Class) bool {
	switch class {
	case event.GEMM, event.Norm, event.Allreduce, event.Activation, event.RoPE, event.Quant:
		return true
	}
	return false
}

// forward is a forward pass whose kernels a thread launched one by one: the times of its
// first and last launch.
type forward struct{ from, to int64 }

// passes finds forward passes during the learning pass.
type passes struct {
	of   [][]forward // by thread
	open []openPass  // by process
}

// openPass is the forward pass of the step that a process is in.
type openPass struct {
	forward
	thread int32 // -1 for none
	steps  []step.Step
	kinds  []step.Kind
	byHost bool // steps are those of the host: a unit belongs to the step in which it was launched
	at     int  // index of the step of the last unit
	ahead  bool // the open or next pass is that of the next step
}

// newPasses returns passes without any.
func newPasses(t *Trace) *passes {
	p := &passes{of: make([][]forward, len(t.threads)), open: make([]openPass, len(t.processes))}
	for k := range p.open {
		o := &p.open[k]
		if o.thread = -1; k >= len(t.ranks) || t.ranks[k] == nil {
			continue
		}
		r := t.ranks[k]
		for _, s := range r.Steps.Between(0, r.Steps.Len()) {
			s.Start -= t.clocks.ahead[k]
			s.Until -= t.clocks.ahead[k]
			o.steps = append(o.steps, s)
		}
		if t.header.Isolation != nil {
			o.kinds = r.Kinds(t.header.Isolation.Method, 0, r.Steps.Len())
			o.byHost = t.header.Isolation.Method == step.NVTX
		}
	}
	return p
}

// unit observes a unit and its launch. A sampled unit (one that samples, or copies to
// the host) ends the pass: steps that begin with an all-reduce kernel contain the first
// kernels of the next pass.
func (p *passes) unit(o *openPass, r *row, sampled bool) {
	t := r.start
	if o.byHost && r.launcher >= 0 {
		t = r.launch
	}
	for o.at < len(o.steps) && t >= o.steps[o.at].Until {
		if !o.ahead {
			p.end(o)
		}
		o.ahead = false
		o.at++
	}
	switch k := o.at; {
	case len(o.steps) == 0:
	case k < len(o.steps) && o.steps[k].Start > t && o.byHost: // of the step before: a copy of its tokens
		return
	case k == len(o.steps), o.steps[k].Ctx > 0, o.steps[k].Start > t:
		o.thread = -1
		return
	}
	if sampled {
		p.end(o)
		o.ahead = !o.byHost
	}
	if r.node || r.kind != event.Kernel || !Capturable(r.class) || r.launcher < 0 {
		return
	}
	if o.thread < 0 {
		o.thread, o.forward = r.launcher, forward{r.launch, r.launch}
	}
	if o.thread == r.launcher {
		o.to = max(o.to, r.launch)
	}
}

// end ends the pass of a step, and keeps it if the step ran without a graph.
func (p *passes) end(o *openPass) {
	if o.thread >= 0 && o.at < len(o.kinds) && o.kinds[o.at].Eager && o.to > o.from {
		list := &p.of[o.thread]
		if n := len(*list); n == 0 || (*list)[n-1].to <= o.from {
			*list = append(*list, o.forward)
		}
	}
	o.thread = -1
}

// captured removes the host time of passes between from and to, and adds a graph launch
// at the start of each.
func (p *plan) captured(th *thread, from, to int64) {
	for len(th.passes) > 0 && th.passes[0].to <= from {
		th.passes = th.passes[1:]
	}
	for k := 0; k < len(th.passes) && th.passes[k].from < to; k++ {
		one := th.passes[k]
		d := min(to, one.to) - max(from, one.from)
		for i := range p.changes {
			c := &p.changes[i]
			if c.what != graphTime || !c.on(th.rank) {
				continue
			}
			th.now[c.scenario] -= scaled(d, th.factor[c.scenario])
			if one.from >= from {
				th.now[c.scenario] += scaled(p.know.graphCall, th.factor[c.scenario])
			}
		}
	}
}

// capturing reports whether a call at t belongs to a pass that a graph would replay.
func (th *thread) capturing(t int64) bool {
	return len(th.passes) > 0 && th.passes[0].from <= t && t <= th.passes[0].to
}

// inGraph places a unit that a graph would replay after prev, at the distance of kernels
// in a replay.
func (g *gpu) inGraph(u, prev *unit, called []int64, soon int64) {
	after := min(max(0, u.start-prev.end), g.plan.know.nodeGap)
	ends := g.endOf(prev)
	for i := range g.plan.changes {
		if c := &g.plan.changes[i]; c.what == graphTime && c.on(g.t.processes[u.process]) {
			s := c.scenario
			u.newStart[s] = max(ends[s]+after, called[s]+soon)
		}
	}
}

// unlike returns the steps to be made typical: none if they can be replayed with a
// graph, which needs the calls in the recording.
func (p *predictor) unlike(s *Scenario) map[int32]map[int]bool {
	graph := slices.ContainsFunc(s.Changes, func(c Change) bool { return c.what == graphTime })
	if graph && slices.ContainsFunc(p.t.threads, func(th place) bool { return th.calls }) {
		return nil
	}
	return s.Typical
}

// typical sets the periods of steps, and of the step after each, to the median of the
// other steps of their rank and phase. The step after is included because it is late
// with the step before if the host runs ahead, and short if the step before holds the
// work of both. The others are steps that neither are nor follow such a step, or, if
// there are none, all that are not such a step.
func (p *predictor) typical(steps map[int32]map[int]bool, periods []float64) {
	type kind struct {
		rank  int32
		phase event.Phase
	}
	others, apart := map[kind][]float64{}, map[kind][]float64{}
	for i, c := range p.chosen {
		k := kind{c.rank, c.phase}
		if steps[c.rank][c.number] {
			continue
		}
		if others[k] = append(others[k], periods[i]); !steps[c.rank][c.number-1] {
			apart[k] = append(apart[k], periods[i])
		}
	}
	median := map[kind]float64{}
	for k, list := range others {
		if len(apart[k]) > 0 {
			list = apart[k]
		}
		slices.Sort(list)
		median[k] = (list[(len(list)-1)/2] + list[len(list)/2]) / 2
	}
	for i, c := range p.chosen {
		v, ok := median[kind{c.rank, c.phase}]
		if ok && (steps[c.rank][c.number] || steps[c.rank][c.number-1]) {
			periods[i] = v
		}
	}
}
