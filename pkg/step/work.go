package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Work counts what ran in the period of a step, and what its host called. It serves to
// compare a step with the others ([RankSteps.Kinds]).
type Work struct {
	Forward  int32 // kernels of a forward pass that no graph replay ran
	Loose    int32 // other kernels that no graph replay ran
	Replayed int32 // kernels of graph replays
	Whole    int32 // graph replays recorded as a whole
	Launches int32 // calls that launch a kernel
	Graphs   int32 // calls that launch a graph
	Loads    int32 // calls that load code, or instantiate a captured graph
	Compiles int32 // spans in which the driver compiles or loads code
}

// Add adds the work of another time slice.
func (w *Work) Add(o *Work) {
	w.Forward += o.Forward
	w.Loose += o.Loose
	w.Replayed += o.Replayed
	w.Whole += o.Whole
	w.Launches += o.Launches
	w.Graphs += o.Graphs
	w.Loads += o.Loads
	w.Compiles += o.Compiles
}

// Put appends the fields to v, as package spill packs elements.
func (w *Work) Put(v []int64) []int64 {
	return append(v, int64(w.Forward), int64(w.Loose), int64(w.Replayed), int64(w.Whole), int64(w.Launches), int64(w.Graphs), int64(w.Loads), int64(w.Compiles))
}

// Take sets the fields from the values that Put appended.
func (w *Work) Take(v []int64) {
	*w = Work{int32(v[0]), int32(v[1]), int32(v[2]), int32(v[3]), int32(v[4]), int32(v[5]), int32(v[6]), int32(v[7])}
}

// forward are the classes of kernels of a forward pass.
var forward = event.ClassesOf(event.Allreduce, event.Attention, event.GEMM, event.MoE, event.Norm, event.RoPE, event.Activation, event.Quant)

// Kind classifies a step in comparison with the others of its rank.
type Kind struct {
	Eager   bool // its forward pass was launched kernel by kernel
	Replays bool // it replays a graph
	// Compiles says that code is compiled, loaded or tried out in the step. Tried is how
	// many kernels are tried out, 0 unless far more than usual are launched outside a
	// forward pass.
	Compiles bool
	Tried    int32
}

// Kinds classifies steps, given by their work, for the isolation method that found them.
// With nvtx, steps are what the host did. A step is eager if it launches fewer graphs
// than half of the steps that launch any, and at least MinForward more kernels. With
// other methods, or without recorded calls, what runs in its period counts. A step is
// eager if at least MinForward kernels of a forward pass run outside replays, and more
// than in replays.
func Kinds(works []Work, method string) []Kind {
	kinds := make([]Kind, len(works))
	called := slices.ContainsFunc(works, func(w Work) bool { return w.Launches+w.Graphs > 0 })
	beside := quantileOf(works, 0.5, func(w *Work) (int32, bool) { return w.Launches, w.Graphs > 0 })
	graphs := quantileOf(works, 0.5, func(w *Work) (int32, bool) { return w.Graphs, w.Graphs > 0 })
	usual := quantileOf(works, 0.9, func(w *Work) (int32, bool) { return w.Loose, true })
	for k := range works {
		w, kind := &works[k], &kinds[k]
		if kind.Eager = w.Forward >= MinForward && w.Forward > w.Replayed+w.Whole; method == NVTX && called {
			kind.Eager = w.Graphs < max(graphs, 1) && w.Launches >= beside+MinForward
		}
		kind.Replays = w.Replayed+w.Whole > 0
		if w.Loose-usual >= triedOut {
			kind.Tried = w.Loose
		}
		kind.Compiles = kind.Tried > 0 || w.Loads+w.Compiles > 0
	}
	return kinds
}

// quantileOf returns the quantile q of the values that exist, 0 if there are none.
func quantileOf(works []Work, q float64, of func(*Work) (int32, bool)) int32 {
	var values []int32
	for k := range works {
		if v, ok := of(&works[k]); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}

// Kinds classifies the steps from from up to but not including to.
func (r *RankSteps) Kinds(method string, from, to int) []Kind {
	works := make([]Work, 0, to-from)
	for _, s := range r.Steps.Between(from, to) {
		works = append(works, s.Work)
	}
	return Kinds(works, method)
}

// LostReplays reports whether so many graph replays are missing, in comparison with the
// launch calls, that the recording cannot be trusted. Calls of the last steps may be
// replayed after them. So the number missing is at most that in the whole trace:
// launched calls (0 if unknown) less recorded replays.
func LostReplays(calls, replays, launched, recorded int64) bool {
	missing := calls - replays
	if launched >= calls {
		missing = min(missing, launched-recorded)
	}
	return missing > someLost && float64(missing) > lostShare*float64(replays)
}

// worker counts the work of the open step.
type worker struct {
	pending Work             // after the latest end of the segment's steps so far
	loads   event.Memo[bool] // by call name: whether it loads code
}

// count adds rows i to j to a Work.
func (w *worker) count(b *event.Batch, i, j int, to *Work) {
	kinds := b.Kind.Values[:j]
	for ; i < j; i++ {
		switch kinds[i] {
		case event.Kernel:
			switch class, ok := b.Class.Get(i); {
			case b.GraphNode.Valid.Get(i):
				to.Replayed++
			case ok && forward.Has(class):
				to.Forward++
			default:
				to.Loose++
			}
		case event.Graph:
			to.Whole++
		case event.API:
			switch class, _ := b.Class.Get(i); class {
			case event.Launch:
				to.Launches++
			case event.GraphLaunch:
				to.Graphs++
			default:
				if w.loads.Of(&b.Name, i, loadsCode) {
					to.Loads++
				}
			}
		case event.Overhead:
			if class, ok := b.Class.Get(i); ok && class == event.Load {
				to.Compiles++
			}
		}
	}
}

// loadsCode reports whether the call of that name loads code.
func loadsCode(name []byte) bool { return cudaname.EffectOf(string(name))&cudaname.LoadsCode != 0 }
