package gap

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// gpu is a device of a rank.
type gpu struct {
	*idle.GPU
	streams []*stream
	stream  *stream // of the last row

	collectives *collective.Log // with what explains waits in them; nil if not needed
	step        int             // of the last collective
}

// activity is a row of a GPU.
type activity struct {
	idle.Activity
	class  event.Class // -1: none
	launch *launch     // nil if unknown
}

// addGPU observes a kernel, a whole-graph row, a copy or a memset. Copies and memsets count
// as activity only with BusyAll, but those of a replay show that it was recorded.
func (r *rank) addGPU(b *event.Batch, i int, kind event.Kind) {
	if class, ok := b.Class.Get(i); ok && (class == event.Pinned || class == event.Pageable) {
		if l := r.calling.ring.find(b.Correlation.Values[i], b.LaunchStart.Values[i]); l != nil && r.counting() {
			r.now.calls.add(site{l.name, l.path, -1}, tally{pinned: 2*int64(b2n(class == event.Pinned)) - 1})
		}
	}
	busy := r.idle.IsActivity(b, i)
	if kind.IsCopy() && !busy && !b.GraphNode.Valid.Get(i) {
		return
	}
	a := &r.activity
	r.idle.Read(b, i, &a.Activity)
	a.class, a.launch = -1, nil
	if v, ok := b.Class.Get(i); ok {
		a.class = v
	}
	if a.LaunchStart != none {
		a.launch = r.calling.ring.find(a.Correlation, a.LaunchStart)
	}
	if a.Replayed {
		r.addReplay(a)
	}
	if kind == event.Kernel {
		r.addKernel(a)
	}
	if busy {
		r.addBusy(b.Stream.Values[i], b.Step.Valid.Get(i), a)
	}
}

// addBusy observes an activity of a stream.
func (r *rank) addBusy(stream int64, inStep bool, a *activity) {
	d := r.idle.Activity(&a.Activity)
	if r.gpu == nil || r.gpu.GPU != d {
		k := slices.IndexFunc(r.gpus, func(known *gpu) bool { return known.GPU == d })
		if k < 0 {
			k, r.gpus = len(r.gpus), append(r.gpus, &gpu{GPU: d})
		}
		r.gpu = r.gpus[k]
	}
	r.addStream(r.gpu, stream, a)
	if a.Kind == event.Kernel {
		r.addSample(int32(stream), a)
		if class := a.class; !class.IsCollective() { // not a kernel shared with other ranks
			if class < 0 || class > event.Other {
				class = event.Other
			}
			r.now.own[class] += a.End - a.Start
		}
	}
	if r.c.collective {
		r.sinceLast(r.gpu, a, inStep)
	}
}

// addReplay counts the replay of a row, at its first row.
func (r *rank) addReplay(a *activity) {
	switch {
	case a.Kind == event.Graph:
		r.now.started.Whole++
	case a.Correlation < 0 || !r.calling.replays.First(a.Correlation):
		return
	}
	r.now.started.Recorded++
}
