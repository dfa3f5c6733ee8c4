package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// stepFact is what one step of a rank did, as far as findings ask.
type stepFact struct {
	forward  int32 // kernels of a forward pass that were launched by themselves
	loose    int32 // other kernels that were
	replayed int32 // kernels, or whole graphs, that were replayed
	loads    int32 // calls that load code
	compiled int32 // spans in which the driver compiled or loaded code
	launches int32 // calls that launch one kernel
	graphs   int32 // calls that launch a graph
}

// The columns of what is kept of a step.
const (
	colFact        = spill.Payload
	colOwn         = colFact + 7
	numStepColumns = colOwn + len(kernelTime{}) - spill.Payload
)

// keepStep keeps what is known of step k, of which no more comes.
func (r *rank) keepStep(k int) {
	f := &r.fact
	row := [numStepColumns]int64{
		int64(f.forward), int64(f.loose), int64(f.replayed), int64(f.loads), int64(f.compiled), int64(f.launches), int64(f.graphs),
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

// facts returns what is known of the steps that count.
func (v *view) facts() []stepFact {
	all := make([]stepFact, 0, v.steps)
	v.eachStep(columnsFrom(colFact, colOwn), func(_ int, rows spill.Rows, i int) {
		of := func(c int) int64 { return rows[colFact+c][i] }
		all = append(all, stepFact{int32(of(0)), int32(of(1)), int32(of(2)), int32(of(3)), int32(of(4)), int32(of(5)), int32(of(6))})
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
