package layer

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Limits of what is kept to look for a repeated unit.
const (
	maxSteps     = 8       // steps of a Keeper
	maxKernels   = 1 << 15 // kernels of a step
	traceKernels = 1 << 14 // kernels of a trace without steps: the last ones
)

// Sampled is a kernel of a step that was kept.
type Sampled struct {
	Start, End int64       // ns
	Name       int32       // number of its name, the caller's
	Path       int32       // number of the path of ranges it was launched in, -1 for none or not known
	Class      event.Class // -1 for none
	Stream     int32       // CUDA stream
	Replayed   bool        // the replay of a graph ran it
}

// Keeper keeps the kernels of at most eight steps, spread over all that it was offered.
// Of steps that differ in their generation requests it keeps those with the most.
type Keeper struct {
	gen     int64
	offered int
	stride  int
	kept    [][]Sampled
}

// Gen is the number of generation requests of the steps that were kept.
func (k *Keeper) Gen() int64 { return k.gen }

// Steps are the steps that were kept, to be read only.
func (k *Keeper) Steps() [][]Sampled { return k.kept }

// wants reports whether the next step, with gen generation requests, is to be kept.
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

// Recorder collects the kernels of one step after the other for the keepers that want
// them; before the first step those of the trace, of which the last ones stay.
type Recorder struct {
	keeper  *Keeper
	kernels []Sampled
	mark    int
	stepped bool
}

// Begin begins a step with gen generation requests, which k may want.
func (r *Recorder) Begin(k *Keeper, gen int64) {
	r.keeper, r.kernels, r.stepped = nil, r.kernels[:0], true
	if k.wants(gen) {
		r.keeper = k
	}
}

// Add adds a kernel; inStep reports whether it belongs to the step that was begun.
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

// Mark remembers how many kernels there are, for Drop.
func (r *Recorder) Mark() { r.mark = len(r.kernels) }

// Drop drops what was added since Mark: it turned out not to belong to the step.
func (r *Recorder) Drop() { r.kernels = r.kernels[:min(r.mark, len(r.kernels))] }

// End ends the step.
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

// EndTrace gives the kernels of a trace without steps, the last ones, to k.
func (r *Recorder) EndTrace(k *Keeper) {
	k.kept = [][]Sampled{r.kernels[max(0, len(r.kernels)-traceKernels):]}
}
