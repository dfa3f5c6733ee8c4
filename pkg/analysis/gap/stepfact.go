package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// stepFact is what one step of a rank did, as far as findings ask.
type stepFact struct {
	// idle is of all GPUs, in gaps that end in the step, ns. Here and below it is without what
	// launching threads had lost their CPUs for, which is AFFINITY's.
	idle     int64
	loadNs   int64 // in calls that load code
	forward  int32 // kernels of a forward pass that were launched by themselves
	loose    int32 // other kernels that were
	replayed int32 // kernels, or whole graphs, that were replayed
	loads    int32 // calls that load code
	compiled int32 // spans in which the driver compiled or loaded code
	launches int32 // calls that launch one kernel
	graphs   int32 // calls that launch a graph

	// within is the idle time before kernels that were launched by themselves, until their
	// launch returned, and between the first and the last of the forward pass on their GPU:
	// what a graph of it would not have, ns.
	within int64
	// calls is of the idle time before kernels of the forward pass that were launched by
	// themselves what lies in the calls that launched them, ns.
	calls int64
}

// pass is the forward pass of a GPU in a step, as far as kernels that were launched by
// themselves run it.
type pass struct {
	// open is idle time that is within it if another kernel follows, ns; begun tells that
	// there was a first.
	open  int64
	begun bool
	// longest is that of the parts of what is within. A step that begins with an all-reduce
	// kernel ends with the first kernels of the next pass, before which the time between
	// passes lies: it is one of the parts, as a rule this one. (On another GPU the kernel may
	// begin before the step.)
	longest int64
	// apart is the time between two passes that markers have shown, which is none of the parts.
	apart int64
}

// The columns of what is kept of a step.
const (
	colSlack       = spill.Payload
	colFact        = colSlack + 5
	colOwn         = colFact + 11
	numStepColumns = colOwn + len(kernelTime{}) - spill.Payload
)

// keepStep keeps what is known of step k, of which no more comes.
func (r *rank) keepStep(k int, s Step) {
	f := &r.fact
	for _, d := range r.gpus {
		if r.c.method == step.Allreduce && d.pass.longest > d.pass.apart {
			f.within -= d.pass.longest
		}
		d.pass = pass{}
	}
	row := [numStepColumns]int64{
		s.Launches, s.Near, s.Min, s.P10, s.P50,
		f.idle, f.loadNs, int64(f.forward), int64(f.loose), int64(f.replayed), int64(f.loads), int64(f.compiled),
		int64(f.launches), int64(f.graphs), f.within, f.calls,
	}
	copy(row[colOwn-spill.Payload:], r.own[:])
	r.kept.Add(int64(k), row[:]...)
}

// eachStep calls f with some columns of what was kept of the steps that count.
func (v *view) eachStep(columns uint64, f func(k int, rows spill.Rows, i int)) {
	v.kept.Each(columns, func(rows spill.Rows) {
		for i, k := range rows[spill.Key] {
			if v.inWindow(int32(k)) {
				f(int(k), rows, i)
			}
		}
	})
}

// slackOf returns the launch slack of the step in row i.
func slackOf(rows spill.Rows, i int) Step {
	of := func(c int) int64 { return rows[colSlack+c][i] }
	return Step{Launches: of(0), Near: of(1), Min: of(2), P10: of(3), P50: of(4)}
}

// facts returns what is known of the steps that count.
func (v *view) facts() []stepFact {
	all := make([]stepFact, 0, v.steps)
	v.eachStep(columnsFrom(colFact, colOwn), func(_ int, rows spill.Rows, i int) {
		of := func(c int) int64 { return rows[colFact+c][i] }
		all = append(all, stepFact{
			idle: of(0), loadNs: of(1), forward: int32(of(2)), loose: int32(of(3)), replayed: int32(of(4)), loads: int32(of(5)), compiled: int32(of(6)),
			launches: int32(of(7)), graphs: int32(of(8)), within: of(9), calls: of(10),
		})
	})
	return all
}

// columnsFrom is the set of the columns from one to before another.
func columnsFrom(from, to int) uint64 { return 1<<to - 1<<from }

// openFact returns what is known of the open step, nil where there is none.
func (r *rank) openFact() *stepFact {
	if r.walk.Steps.Len() > 0 && r.at.Place != step.Outside {
		return &r.fact
	}
	return nil
}

// run counts a kernel, or a replay that was recorded as a whole, after the gap that it ends.
func (f *stepFact) run(p *pass, a *activity) {
	switch {
	case a.Replayed:
		f.replayed++
		p.begun = false
	case inForward(a.class):
		f.forward++
		if p.begun {
			f.within, p.longest = f.within+p.open, max(p.longest, p.open)
		}
		p.begun, p.open = true, 0
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

// addIdle observes the gap of a GPU that a has just ended.
func (r *rank) addIdle(f *stepFact, d *gpu, a *activity) {
	from := max(d.GapStart, r.segStart)
	if from >= d.GapEnd {
		return
	}
	lost := r.idle.GapLost()
	f.idle += max(0, d.GapEnd-from-lost)
	if r.idle.GapInter() { // What came before is of the last pass, of which kernels may run in this step.
		d.pass.begun, d.pass.apart = false, d.GapEnd-from
	}
	if !a.Replayed && a.LaunchStart != none {
		d.pass.open += max(0, min(d.GapEnd, a.LaunchEnd)-from-lost)
		if inForward(a.class) {
			f.calls += max(0, min(d.GapEnd, a.LaunchEnd)-max(from, a.LaunchStart)-lost)
		}
	}
	r.addDrain(d, a)
}

// addOverhead observes a span of the driver's or the profiler's own work.
func (r *rank) addOverhead(b *event.Batch, i int) {
	if f := r.openFact(); f != nil && compiles(string(b.Name.Get(i))) {
		f.compiled++
	}
}

// compiles tells whether an overhead is that of making or loading code.
func compiles(name string) bool {
	return strings.Contains(name, "Compiler") || strings.Contains(name, "Loading")
}
