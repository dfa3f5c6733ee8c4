package layer

import (
	"fmt"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// names are those of the kernels in these tests, by number.
var names = []string{"embedding_kernel", "rms_norm", "nvjet_qkv", "fmha", "nvjet_o", "all_reduce", "argmax"}

var nameClasses = []event.Class{event.Copy, event.Norm, event.GEMM, event.Attention, event.GEMM, event.Allreduce, event.Sampling}

// stepOf returns a step that runs kernels, each of 3 us after a gap of 1 us.
func stepOf(kernels ...int32) (step []Sampled) {
	at := int64(0)
	for _, k := range kernels {
		step = append(step, Sampled{Start: at, End: at + 3000, Name: k, Class: nameClasses[k]})
		at += 4000
	}
	return step
}

func nameOf(id int32) string { return names[id] }

func TestMake(t *testing.T) {
	kernels := []int32{0}
	for range 12 {
		kernels = append(kernels, 1, 2, 3, 4, 5)
	}
	step := stepOf(append(kernels, 6)...)
	rep := Make([][]Sampled{step, step, step}, nameOf, "steady steps")
	if rep == nil || rep.Length != 5 || rep.Repetitions != 12 || rep.Layers == nil || *rep.Layers != 12 || rep.Steps != 3 {
		t.Fatalf("%+v, want 12 layers of 5 kernels in 3 steps", rep)
	}
	if rep.Prologue != 1 || rep.Epilogue != 1 || rep.Kernels[2].Name != "fmha" || rep.Kernels[2].Us != 3 || rep.Kernels[2].GapUs != 1 {
		t.Errorf("%+v, want one kernel before, one after, and fmha of 3 us third", rep)
	}
	if g := rep.Largest(); g == nil || g.Rank != 1 || rep.GapUs != 5 || rep.GapPerStep != 60 {
		t.Errorf("%+v: group %+v is the largest", rep, g)
	}
	if rep := Make([][]Sampled{step}, nameOf, OfTrace); rep == nil || rep.Layers != nil || rep.Of != OfTrace {
		t.Errorf("of a trace without steps: %+v, want a unit and no layers", rep)
	}
	if rep := Make([][]Sampled{stepOf(0, 1, 6)}, nameOf, "steady steps"); rep != nil {
		t.Errorf("nothing repeats: %+v", rep)
	}
}

// Steps are kept evenly, those with most requests only, and what turns out to be of
// another step is dropped.
func TestRecorder(t *testing.T) {
	var r Recorder
	var k Keeper
	for i := range 100 {
		r.Begin(&k, int64(min(i, 20))) // from step 20 on they have 20 requests
		r.Add(true, Sampled{Name: int32(i)})
		r.Mark()
		r.Add(true, Sampled{Name: -1})
		r.Add(false, Sampled{Name: -2})
		r.Drop()
		r.End()
	}
	if k.Gen() != 20 || len(k.Steps()) > maxSteps || len(k.Steps()) < maxSteps/2 {
		t.Fatalf("%d steps of %d requests are kept", len(k.Steps()), k.Gen())
	}
	last := int32(10)
	for _, s := range k.Steps() {
		if len(s) != 1 || s[0].Name < last {
			t.Errorf("kept %v after step %d", s, last)
		}
		last = s[0].Name
	}
	if last < 80 {
		t.Errorf("nothing is kept after step %d", last)
	}

	var trace Recorder
	for i := range 3 * traceKernels {
		trace.Add(false, Sampled{Name: int32(i)})
	}
	trace.EndTrace(&k)
	if got := k.Steps()[0]; len(got) != traceKernels || got[len(got)-1].Name != 3*traceKernels-1 {
		t.Errorf("%d kernels of a trace are kept", len(got))
	}
}

func ExampleMake() {
	kernels := []int32{0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6}
	rep := Make([][]Sampled{stepOf(kernels...)}, nameOf, "steady steps")
	fmt.Println(rep.Length, "kernels,", *rep.Layers, "layers of", rep.LayerTypes[0].Type)
	// Output: 5 kernels, 4 layers of attention
}
