package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// outside counts by nvtx what a rank launches during its markers and between them.
// API calls come in the order of their start, as markers do: whether a call is made
// during one is seen at once.
type outside struct {
	end     int64 // latest end of the markers so far, never: none in this segment
	now     launches
	markers []launches
	threads []markerThread
	opened  int // index of the thread of the last marker, -1 where that is of several
}

// markerThread is a thread that opens markers.
type markerThread struct {
	id       int64
	markers  int  // that are of no other thread, too
	launches bool // a kernel or a graph, after its first marker
}

// launches are calls that launch kernels, and graphs, during a marker and from its
// end to the next one.
type launches struct{ kernels, graphs, kernelsAfter, graphsAfter int32 }

// call counts an API call of the given class that a thread begins at t.
func (o *outside) call(class event.Class, thread, t int64) {
	if class == event.Launch || class == event.GraphLaunch {
		for i := range o.threads {
			if o.threads[i].id == thread {
				o.threads[i].launches = true
			}
		}
	}
	switch {
	case class == event.Launch && t < o.end:
		o.now.kernels++
	case class == event.Launch:
		o.now.kernelsAfter++
	case class == event.GraphLaunch && t < o.end:
		o.now.graphs++
	case class == event.GraphLaunch:
		o.now.graphsAfter++
	}
}

// marker begins a marker of a thread that ends at end; one that is not fresh is a part of one
// before. What was launched before the first one of a segment is not counted.
func (o *outside) marker(thread, end int64, fresh bool) {
	i := slices.IndexFunc(o.threads, func(t markerThread) bool { return t.id == thread })
	if i < 0 {
		i = len(o.threads)
		o.threads = append(o.threads, markerThread{id: thread})
	}
	switch {
	case fresh:
		o.threads[i].markers++
		o.opened = i
	case o.opened >= 0 && o.opened != i: // a marker of several threads is nobody's
		o.threads[o.opened].markers--
		o.opened = -1
	}
	if o.end == never {
		o.now, o.end = launches{}, end
		return
	}
	if fresh {
		o.markers = append(o.markers, o.now)
		o.now = launches{}
	}
	o.end = max(o.end, end)
}

// drains says whether less than another step is launched after the last marker.
func (o *outside) drains() bool {
	return o.now.graphsAfter <= o.now.graphs && o.now.kernelsAfter < max(o.now.kernels, minForward)
}

// idleThreads returns how many markers are of threads that launched nothing since their first
// one, where others with markers did.
func (o *outside) idleThreads() (n int) {
	launching := false
	for _, t := range o.threads {
		launching = launching || t.launches
		n += t.markers * b2n(!t.launches)
	}
	return n * b2n(launching)
}

// minLaunches is how many launches, of graphs one, make a step at least.
const minLaunches = 8

// unmarked returns after how many markers so much more is launched than usual as
// is during most of them: graphs where there are some in most, else kernels. Where
// there are graphs in all markers those of steps without one may be lost, too: then
// kernels that make a forward pass count as well.
func (o *outside) unmarked() (n int) {
	if len(o.markers) < minPeriods {
		return 0
	}
	graphs, graphsAfter := func(l *launches) int32 { return l.graphs }, func(l *launches) int32 { return l.graphsAfter }
	kernels, kernelsAfter := func(l *launches) int32 { return l.kernels }, func(l *launches) int32 { return l.kernelsAfter }
	usual := o.quantile(0.5, kernelsAfter)
	if o.quantile(0.5, graphs) == 0 {
		whole := o.quantile(0.5, kernels)
		return o.more(kernelsAfter, usual, (7*whole+9)/10, whole >= minLaunches)
	}
	whole := o.quantile(0.5, graphs)
	n = o.more(graphsAfter, o.quantile(0.5, graphsAfter), (7*whole+9)/10, true)
	forward := 2*(o.quantile(0.5, kernels)+usual) + minForward
	return n + o.more(kernelsAfter, usual, forward, o.quantile(0.02, graphs) > 0)
}

// quantile is the number that a share of the markers is below.
func (o *outside) quantile(share float64, of func(l *launches) int32) int32 {
	counts := make([]int32, len(o.markers))
	for i := range o.markers {
		counts[i] = of(&o.markers[i])
	}
	slices.Sort(counts)
	return counts[int(share*float64(len(counts)))]
}

// more returns after how many markers there is more than usual by so much, 0 where
// that is not asked.
func (o *outside) more(after func(l *launches) int32, usual, by int32, asked bool) (n int) {
	for i := range o.markers {
		n += b2n(asked && after(&o.markers[i])-usual >= by)
	}
	return n
}

// checkMarkers warns where each step is a marker range, and some markers may be
// missing.
func (r *rank) checkMarkers() {
	if k := r.markers.inside; 50*k > len(r.sizes) {
		r.warn("%d of %d forward-step markers of rank %d lie inside another of the same text: "+
			"where each step has two, it counts twice; name one with --marker", k, r.markers.ids, r.id)
	}
	r.checkThreads()
	if k := r.outside.idleThreads(); 50*k > len(r.sizes) {
		r.warn("%d of %d forward-step markers of rank %d are of threads that launch nothing, beside one with markers that does: "+
			"they may be no steps, but counted as such; name the others with --marker", k, len(r.sizes), r.id)
	}
	n := r.unmarked
	r.lacksMarkers = 10*n > len(r.sizes)
	if 50*n > len(r.sizes) {
		r.warn("after %d of %d forward-step markers of rank %d another step's worth of kernels or graphs is launched outside of markers: "+
			"some iterations may have none", n, len(r.sizes), r.id)
	}
}

// checkThreads warns where markers of several threads overlap, or only some of them have the
// same number at once: steps of engines that share a process, or ranges beside those of the
// thread that launches.
func (r *rank) checkThreads() {
	if n := int64(r.markers.crossed); 50*n > r.markers.ids {
		r.warn("%d of %d forward-step markers of rank %d begin during one of another thread: "+
			"where these are of several engines, or copies of one another, their steps are torn; name those of one with --marker", n, r.markers.ids, r.id)
	} else if n := r.markers.shared; 50*n > r.markers.ids && 10*n < 9*r.markers.ids {
		r.warn("%d of %d forward-step markers of rank %d are one with a marker of another thread, the others are not: "+
			"where the threads are several engines, some of their steps are joined; name those of one with --marker", n, r.markers.ids, r.id)
	}
}
