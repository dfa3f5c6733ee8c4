// Coverage says how much of the GPU's work came out of CUDA graphs, and what was
// launched by itself that belongs into one.
//
// Coverage is the share of the kernels that start in a window which have a graph node.
// Graph launches and recorded replays (whole-graph rows, or correlations with graph
// nodes) are counted by where their first row starts; where launches outnumber replays by
// more than two and by more than a hundredth, in the window and in the whole trace, the
// recording is partial, and what looks idle may be work that was lost. (Where the host runs
// ahead, replays of the last launches begin after the window.) Kernels that should be captured are gemm, norm, allreduce,
// activation, rope and quant.

package gap

import (
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Counts is what started in a stretch of time.
type Counts struct {
	Kernels        int64 // whole-graph rows are none
	Replayed       int64 // kernels that a graph replay ran
	KernelLaunches int64 // calls that launch a kernel
	GraphLaunches  int64 // calls that launch a graph
	Recorded       int64 // graph replays that were recorded
	Whole          int64 // of them those without their kernels
}

// Add adds what started in another stretch.
func (c *Counts) Add(d *Counts) {
	c.Kernels += d.Kernels
	c.Replayed += d.Replayed
	c.KernelLaunches += d.KernelLaunches
	c.GraphLaunches += d.GraphLaunches
	c.Recorded += d.Recorded
	c.Whole += d.Whole
}

// Capturable tells whether kernels of a class, one of event's, belong into a graph.
func Capturable(class event.Class) bool { return replay.Capturable(class) }

// EagerSite is a kernel and where it was launched, by the numbers that Names knows.
type EagerSite struct {
	Name int32 // of the kernel
	Path int32 // of ranges, -1 for none
}

// Eager is kernels of one site that no graph replay ran.
type Eager struct {
	Class event.Class // -1 for none
	Count int64       // kernels
	Ns    int64       // sum of their durations
}

// Kernels adds up eager kernels by their site.
type Kernels struct {
	sites  map[EagerSite]*Eager
	recent [64]recentSite
}

// recentSite is an entry of Kernels.sites, nil where there is none yet.
type recentSite struct {
	EagerSite
	*Eager
}

// Add adds kernels of one site.
func (k *Kernels) Add(at EagerSite, class event.Class, count, ns int64) {
	recent := &k.recent[uint32(at.Name*31+at.Path)%uint32(len(k.recent))]
	if recent.Eager == nil || recent.EagerSite != at { // Else the fast path: kernels recur.
		if k.sites == nil {
			k.sites = make(map[EagerSite]*Eager)
		}
		if k.sites[at] == nil {
			k.sites[at] = &Eager{Class: class}
		}
		*recent = recentSite{at, k.sites[at]}
	}
	recent.Count += count
	recent.Ns += ns
}

// Merge adds the kernels of another.
func (k *Kernels) Merge(o *Kernels) {
	for at, e := range o.sites {
		k.Add(at, e.Class, e.Count, e.Ns)
	}
}

// Each calls f with each site, in no order in particular.
func (k *Kernels) Each(f func(EagerSite, Eager)) {
	for at, e := range k.sites {
		f(at, *e)
	}
}
