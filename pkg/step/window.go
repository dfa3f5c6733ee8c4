package step

import (
	"fmt"
	"sort"

	"github.com/hostbound/hostbound/pkg/event"
)

// minSteps is how many steps a benchmark segment has at least.
const minSteps = 5

// window is the benchmark window of a rank.
type window struct {
	start, end int64
	size       int64 // the common size
	segment    int   // the benchmark segment, -1: none
}

// window returns the rank's benchmark window; it has steps.
func (r *rank) window() window {
	w := window{size: int64(commonSize(r.sizes)), segment: -1}
	for i, seg := range r.segments {
		steps := r.sizes[seg.first:r.lastStep(i)]
		common := 0
		for _, size := range steps {
			if int64(size) == w.size {
				common++
			}
		}
		if len(steps) >= minSteps && 2*common >= len(steps) {
			w.segment = i
		}
	}
	w.start, w.end = r.segments[0].start, r.segments[0].end
	for _, seg := range r.segments {
		w.end = max(w.end, seg.end)
	}
	if w.segment >= 0 {
		w.start, w.end = r.segments[w.segment].start, r.segments[w.segment].end
	}
	return w
}

// lastStep returns the number after that of the last step of segment i.
func (r *rank) lastStep(i int) int {
	if i+1 < len(r.segments) {
		return r.segments[i+1].first
	}
	return len(r.sizes)
}

// commonSize returns the most frequent size, the larger of equally frequent ones.
func commonSize(sizes []int32) int32 {
	counts := map[int32]int{}
	best := int32(0)
	for _, size := range sizes {
		counts[size]++
	}
	for size, n := range counts {
		if n > counts[best] || n == counts[best] && size > best {
			best = size
		}
	}
	return best
}

// addWindows makes the last batch, the window rows, and says what is odd.
func (it *Isolator) addWindows() {
	ranks := make([]*rank, 0, len(it.ranks))
	total := 0
	for _, r := range it.ranks {
		if r.id != noRank {
			ranks = append(ranks, r)
			total += len(r.sizes)
		}
	}
	if total == 0 {
		it.opt.Log("no steps at all: " + it.nothing())
		return
	}
	sort.Slice(ranks, func(i, j int) bool { return ranks[i].id < ranks[j].id })
	b := it.pool.get()
	for _, r := range ranks {
		if len(r.sizes) == 0 {
			it.opt.Log(fmt.Sprintf("rank %d has no steps", r.id))
			continue
		}
		r.addWindow(b)
	}
	it.ready = append(it.ready, b)
}

// nothing says what was looked for in vain.
func (it *Isolator) nothing() string {
	switch it.plan.method {
	case Allreduce:
		return "no rank has an all-reduce kernel"
	case NVTX:
		return "no rank has a forward-step marker"
	}
	return "no rank has a graph launch"
}

// addWindow appends the rank's window row.
func (r *rank) addWindow(b *event.Batch) {
	w := r.window()
	if w.segment < 0 {
		r.plan.log(fmt.Sprintf("rank %d has no benchmark segment (%d steps or more, half of them of the common size): taking all %d steps",
			r.id, minSteps, len(r.sizes)))
	}
	if n, m := int64(len(r.sizes)), r.markers.ids; r.plan.method == Allreduce && m > 0 && 20*max(n-m, m-n) > m {
		r.plan.log(fmt.Sprintf("rank %d has %d steps by allreduce, but %d forward-step markers: "+
			"steps may be torn or grown together, compare with --by nvtx", r.id, n, m))
	}
	i := b.AppendNulls()
	b.Kind.Set(i, event.Window)
	b.Start.Set(i, w.start)
	b.End.Set(i, w.end)
	b.Rank.Set(i, r.id)
	b.Name.SetLast("window")
	b.Step.Set(i, int64(len(r.sizes)))
	b.Size.Set(i, w.size)
	if w.segment >= 0 {
		b.Segment.Set(i, int64(w.segment))
	}
}
