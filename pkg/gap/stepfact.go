package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/step"
)

// stepFact is what one step of a rank did, as far as findings ask.
type stepFact struct {
	idle     int64 // of all lanes, in gaps that end in the step, ns
	loadNs   int64 // in calls that load code
	forward  int32 // kernels of a forward pass that were launched by themselves
	loose    int32 // other kernels that were
	replayed int32 // kernels, or whole graphs, that were replayed
	loads    int32 // calls that load code
	compiled int32 // spans in which the driver compiled or loaded code
}

// fact returns what is known of the open step, nil where there is none.
func (r *rank) fact() *stepFact {
	if n := len(r.facts); n > 0 && r.at.Place != step.Outside {
		return &r.facts[n-1]
	}
	return nil
}

// run counts a kernel, or a replay that was recorded as a whole.
func (f *stepFact) run(a *activity) {
	switch {
	case a.Replayed:
		f.replayed++
	case inForward(a.class):
		f.forward++
	default:
		f.loose++
	}
}

// inForward tells whether kernels of the class are those of a forward pass.
func inForward(class event.Class) bool {
	switch class {
	case event.Allreduce, event.Attention, event.GEMM, event.MoE, event.Norm, event.RoPE, event.Activation, event.Quant:
		return true
	}
	return false
}

// addIdle observes the gap of a lane that has just ended.
func (r *rank) addIdle(f *stepFact, l *idle.Lane) {
	from := max(l.GapStart, r.segStart)
	if from >= l.GapEnd {
		return
	}
	f.idle += l.GapEnd - from
	k, ns, ok := r.idle.GapOpening()
	if !ok || !r.c.waits(k) {
		return
	}
	if g := r.openGroup(); g != nil {
		g.drain(k, l.GapEnd-l.GapStart-ns)
	}
}

// waits tells whether a key is of a call that waits for the GPU.
func (c *computer) waits(k idle.Key) bool {
	for int(k) >= len(c.waiting) {
		c.waiting = append(c.waiting, make([]int8, max(64, len(c.waiting)))...)
	}
	if c.waiting[k] == 0 {
		c.waiting[k] = -1
		if cause := c.sites.Cause(k); cause == idle.Sync || cause == idle.Memop {
			c.waiting[k] = 1
		}
	}
	return c.waiting[k] > 0
}

// drain is idle time after a wait for the GPU, until the next work comes that the
// waiting thread launched.
type drain struct{ count, ns int64 }

func (g *group) drain(k idle.Key, ns int64) {
	if g.drains == nil {
		g.drains = make(map[idle.Key]*drain)
	}
	d := g.drains[k]
	if d == nil {
		d = &drain{}
		g.drains[k] = d
	}
	d.count++
	d.ns += ns
}

// addOverhead observes a span of the driver's or the profiler's own work.
func (r *rank) addOverhead(b *event.Batch, i int) {
	if f := r.fact(); f != nil && compiles(string(b.Name.Get(i))) {
		f.compiled++
	}
}

// compiles tells whether an overhead is that of making or loading code.
func compiles(name string) bool {
	return strings.Contains(name, "Compiler") || strings.Contains(name, "Loading")
}
