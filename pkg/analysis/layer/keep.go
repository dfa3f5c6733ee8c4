package layer

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Limits of the kernels that are kept to find a repeated unit.
const (
	maxSteps     = 8       // steps of a Keeper
	maxKernels   = 1 << 15 // kernels of a step
	traceKernels = 1 << 14 // kernels of a trace without steps: the last ones are kept
)

// Sampled is a kernel of a step that was kept.
type Sampled struct {
	Start, End int64       // ns
	Name       int32       // id of its name, chosen by the caller
	Class      event.Class // -1 for none
	Stream     int32       // CUDA stream
}

// Keeper keeps the kernels of at most eight steps, spread over all offered. If steps
// differ in their generation requests, it keeps those with the most.
type Keeper struct {
	gen     int64
	offered int
	stride  int
	kept    [][]Sampled
}

// Gen returns the number of generation requests of the kept steps.
func (k *Keeper) Gen() int64 { return k.gen }

// Steps returns the kept steps. They are read-only.
func (k *Keeper) Steps() [][]Sampled { return k.kept }

// wants reports whether to keep the next step, which has gen generation requests.
func (k *Keeper) wants(gen int64) bool {
	if k.stride == 0 || gen > k.gen {
		*k = Keeper{gen: gen, stride: 1}
	}
	if gen < k.gen {
		return false
	}
	k.offered++
	return (k.offered-1)%k.stride == 0
}

// Recorder collects the kernels of one step after another, for the keepers that want
// them. Before the first step it collects the last kernels of the trace.
type Recorder struct {
	keeper  *Keeper
	kernels []Sampled
	mark    int
	stepped bool
}

// Begin begins a step with gen generation requests, and offers it to k.
func (r *Recorder) Begin(k *Keeper, gen int64) {
	r.keeper, r.kernels, r.stepped = nil, r.kernels[:0], true
	if k.wants(gen) {
		r.keeper = k
	}
}

// Add adds a kernel. inStep says whether it belongs to the step begun last.
func (r *Recorder) Add(inStep bool, s Sampled) {
	switch {
	case r.keeper != nil && inStep:
		if len(r.kernels) >= maxKernels {
			return
		}
	case !r.stepped:
		if len(r.kernels) >= 2*traceKernels {
			r.kernels = append(r.kernels[:0], r.kernels[traceKernels:]...)
		}
	default:
		return
	}
	r.kernels = append(r.kernels, s)
}

// Mark marks the current position for Drop.
func (r *Recorder) Mark() { r.mark = len(r.kernels) }

// Drop drops the kernels added since Mark, which turned out not to belong to the step.
func (r *Recorder) Drop() { r.kernels = r.kernels[:min(r.mark, len(r.kernels))] }

// End ends the step, and passes it to the keeper that wants it.
func (r *Recorder) End() {
	if r.keeper != nil && len(r.kernels) > 0 {
		k := r.keeper
		if len(k.kept) == maxSteps { // every other one stays
			for i := range maxSteps / 2 {
				k.kept[i] = k.kept[2*i]
			}
			k.kept = k.kept[:maxSteps/2]
			k.stride *= 2
		}
		k.kept = append(k.kept, slices.Clone(r.kernels))
	}
	r.keeper, r.kernels = nil, r.kernels[:0]
}

// EndTrace gives the last kernels of a trace without steps to k. The slice is the
// recorder's.
func (r *Recorder) EndTrace(k *Keeper) {
	k.kept = [][]Sampled{r.kernels[max(0, len(r.kernels)-traceKernels):]}
}
