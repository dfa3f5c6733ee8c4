package isolate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// checkCounts warns where something else that a step has once says that there is another number
// of steps: the one that says so most.
func (r ended) checkCounts() {
	n := len(r.sizes)
	most, other := 0, ""
	say := func(count int, what string) {
		if apart := max(count, n) - min(count, n); apart > most && (float64(apart) > maxApart*float64(n) || apart > 1 && float64(apart) > maxStray*float64(n)) {
			most, other = apart, fmt.Sprintf("%d %s", count, what)
		}
	}
	shown := n + max(0, r.more) // iterations by markers
	if m := int(r.markers.ids); m > 0 && r.plan.method != step.NVTX {
		say(m, "forward-step markers")
		shown = m
	}
	r.unlikeMarkers = float64(max(n-shown, shown-n)) > (1-minCover)*float64(n)
	switch r.plan.method {
	case step.NVTX:
		say(n+r.more, "forward passes by their launches")
		if shared := int(r.markers.shared); float64(shared) < minCover*float64(n) {
			say(n+shared, "markers, counting simultaneous ones of other threads")
		}
	case step.Allreduce:
		inside := -int(r.strays)
		for _, size := range r.sizes {
			inside += int(size)
		}
		say(n+more(r.sizes, commonSize(r.sizes)), "forward passes by their all-reduce kernels")
		say(n+n*int(float64(r.strays)/(minCover*float64(max(1, inside)))), "forward passes by their all-reduce kernels")
		say(n+more(r.kernels, median(r.kernels)), "forward passes by all of their kernels")
	}
	say(max(n, r.copied), "copies of tokens from the GPU")
	if other != "" {
		r.warn("rank %d has %d steps by %s, but %s: steps may be split or merged; %s", r.id, n, r.plan.method, other, r.remedy())
	}
}

// checkUnlike warns where the steps of some ranks are as long as several of others, as those of
// two engines or of prefill and decode processes are: what is said of a step is of neither.
func (it *Isolator) checkUnlike(ranks []*rank) {
	type pace struct{ rank, ns int }
	var paces []pace
	for _, r := range ranks {
		if len(r.sizes) == 0 {
			continue
		}
		if w := (ended{r}).window(); w.segment >= 0 {
			paces = append(paces, pace{int(r.id), int(w.end-w.start) / w.steps})
		}
	}
	slices.SortFunc(paces, func(a, b pace) int { return cmp.Compare(a.ns, b.ns) })
	at, most := 0, unlike
	for k := 1; k < len(paces); k++ {
		if ratio := float64(paces[k].ns) / float64(max(1, paces[k-1].ns)); ratio > most {
			at, most = k, ratio
		}
	}
	if at == 0 {
		return
	}
	named := func(list []pace) string {
		var numbers []int
		for _, p := range list {
			numbers = append(numbers, p.rank)
		}
		slices.Sort(numbers)
		return report.Numbered(numbers)
	}
	it.opt.Warn(fmt.Sprintf("steps take up to %s on rank%s, and %s or more on rank%s: figures per step are means of unlike steps; --rank chooses ranks",
		shown(int64(paces[at-1].ns)), named(paces[:at]), shown(int64(paces[at].ns)), named(paces[at:])))
}

// remedy is what tells steps apart for certain.
func (r ended) remedy() string {
	switch {
	case r.plan.method == step.NVTX:
		return "if several threads have markers, choose those of one with --marker"
	case r.markers.ids > 0:
		return "compare with --by nvtx"
	}
	return "record the engine's forward-step ranges, or name yours with --marker"
}

// more is how many more steps there are if those with several times the usual amount of work are
// several.
func more(work []int32, usual int32) (n int) {
	for _, w := range work {
		n += max(0, parts(w, usual)-1)
	}
	return n
}

// median returns the upper median of numbers, 0 of none.
func median(numbers []int32) int32 {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Clone(numbers)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// outside counts by nvtx what a rank launches from one marker to the next. API calls come in
// the order of their start, as markers do: whether a call is made during one is seen at once.
type outside struct {
	end     int64 // latest end of the markers so far, never: none in this segment
	number  int64 // of the last marker
	now     launches
	markers []launches
}

// launches are calls that launch kernels, and graphs, during a marker and from its
// end to the next one, and how many numbers there are between those of the two.
type launches [5]int32

const (
	kernelsDuring = iota
	graphsDuring
	kernelsAfter
	graphsAfter
	skipped
)

// call counts a call that launches kernels, or a graph, and begins at t.
func (o *outside) call(class event.Class, t int64) {
	k := kernelsDuring
	if class == event.GraphLaunch {
		k = graphsDuring
	}
	if t >= o.end {
		k += kernelsAfter
	}
	o.now[k]++
}

// marker begins a marker that ends at end; one that is not fresh is a part of one before. What
// was launched before the first one of a segment is not counted.
func (o *outside) marker(end, number int64, fresh bool) {
	last := o.number
	o.number = number
	if o.end == never {
		o.now, o.end = launches{}, end
		return
	}
	if fresh {
		if last != noNumber {
			o.now[skipped] = int32(max(0, number-last-1))
		}
		o.markers = append(o.markers, o.now)
		o.now = launches{}
	}
	o.end = max(o.end, end)
}

// close ends the last marker of a segment.
func (o *outside) close() {
	if o.end != never {
		o.markers = append(o.markers, o.now)
	}
	o.end = never
}

// drains says whether less than another step is launched after the last marker.
func (o *outside) drains() bool {
	return o.now[graphsAfter] <= o.now[graphsDuring] && o.now[kernelsAfter] < max(o.now[kernelsDuring], step.MinForward)
}

// more returns how many more forward passes are launched than there are markers: less those in
// which nothing is launched, and with those after whose end so much more than usual is launched
// as is during most, of graphs where most have some; and else kernels that make a pass. Where as
// much is launched after most as during them, each has a pass without a marker if numbers of
// markers are left out as often, or if of kernels no more than a sampler's are left over.
func (o *outside) more() (n int) {
	var usual launches
	for k := range usual {
		all := make([]int32, len(o.markers))
		for i := range all {
			all[i] = o.markers[i][k]
		}
		usual[k] = median(all)
	}
	if usual == (launches{}) {
		return 0
	}
	pass := max(step.MinForward, usual[kernelsDuring])
	passes, rest := usual[kernelsAfter]/pass, usual[kernelsAfter]%pass
	if usual[graphsDuring] > 0 {
		passes, rest = usual[graphsAfter]/usual[graphsDuring], step.MinForward
	}
	if passes > 0 && passes == usual[skipped] || passes == 1 && rest < step.MinForward {
		n += int(passes) * len(o.markers)
	}
	for _, l := range o.markers {
		switch kernels := l[kernelsAfter] - usual[kernelsAfter]; {
		case l == launches{}:
			n--
		case usual[graphsDuring] > 0:
			n += parts(l[graphsAfter]-usual[graphsAfter], usual[graphsDuring])
			n += b2n(kernels >= 2*(usual[kernelsDuring]+usual[kernelsAfter])+step.MinForward)
		case usual[kernelsDuring] > usual[kernelsAfter]:
			n += parts(kernels, usual[kernelsDuring])
		}
	}
	return n
}

// parts is how many times whole something is, to the nearest.
func parts(work, whole int32) int {
	return int(math.Round(float64(max(0, work)) / float64(max(1, whole))))
}
