package step

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Replays of what was launched last begin after the window where the host runs ahead.
func TestLostReplays(t *testing.T) {
	for _, c := range []struct {
		calls, replays, launched, recorded int64
		want                               bool
	}{
		{0, 0, 0, 0, false}, {2, 0, 0, 0, false}, {3, 0, 0, 0, true}, {300, 298, 0, 0, false}, {304, 301, 0, 0, false}, {300, 296, 0, 0, true}, {5, 9, 0, 0, false},
		{867, 855, 901, 901, false}, {867, 855, 901, 900, false}, {867, 855, 901, 889, true},
	} {
		if got := LostReplays(c.calls, c.replays, c.launched, c.recorded); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A step is eager by its kernels, and where steps are what the host did by its calls; code is
// compiled where it is loaded, or far more kernels than usual are tried out.
func TestKinds(t *testing.T) {
	eager, replay := Work{Forward: 64, Loose: 9, Launches: 80}, Work{Loose: 5, Replayed: 70, Launches: 6, Graphs: 1}
	late := replay // the kernels of the step before run in its period
	late.Forward = 64
	tried, loads, few := replay, replay, replay
	tried.Loose, loads.Loads = 400, 1
	few.Forward, few.Replayed = MinForward-1, 0
	works := []Work{replay, replay, replay, eager, late, tried, loads, few, replay, replay, replay, replay}
	for _, method := range []string{NVTX, Allreduce} {
		for k, kind := range Kinds(works, method) {
			is := Kind{Eager: k == 3, Replays: k != 3 && k != 7, Compiles: k == 5 || k == 6}
			if k == 5 {
				is.Tried = 400
			}
			if kind != is {
				t.Errorf("%s, step %d: %+v, want %+v", method, k, kind, is)
			}
		}
	}
	works[4].Replayed = 3
	if !Kinds(works, Graph)[4].Eager || Kinds(works, NVTX)[4].Eager {
		t.Error("kernels that run late are of the step that launched them by nvtx alone")
	}
	draft, main := Work{Replayed: 90, Launches: 9, Graphs: 4}, Work{Forward: 64, Replayed: 20, Launches: 89, Graphs: 3}
	if kinds := Kinds([]Work{draft, draft, main, draft}, NVTX); !kinds[2].Eager || kinds[0].Eager {
		t.Errorf("of a draft model and its main one the latter runs eagerly: %+v", kinds)
	}
	if !forward.Has(event.GEMM) || forward.Has(event.Sampling) {
		t.Error("classes of a forward pass")
	}
}
