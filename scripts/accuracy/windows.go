package main

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// segmentGap is how long no GPU of a rank is busy between two segments, ns: the
// default of the commands.
const segmentGap = 100_000_000

// minBenchmark is how many steps a benchmark segment has at least, half of them of the
// common size.
const minBenchmark = 5

// trueWindow returns the iterations of a rank that its benchmark window is to hold, as
// a method can see them, and those that it is not to hold. Between two segments no GPU
// work was recorded for longer than segmentGap, or iterations were not recorded; with stalls,
// there were no requests meanwhile.
func trueWindow(method string, steps []sim.TrueStep, stalls bool) (in, out []trueSpan) {
	var segments [][]trueSpan
	var sizes [][]int
	fresh := false
	for i := range steps {
		s := &steps[i]
		pause := i > 0 && s.First-steps[i-1].Last > segmentGap && !(stalls && s.Segment == steps[i-1].Segment)
		fresh = fresh || i == 0 || pause || s.Number > steps[i-1].Number+1
		spans := visible(method, steps[i:i+1])
		if len(spans) == 0 {
			continue
		}
		size := 1
		if method == step.Allreduce {
			size = s.Reduces
		}
		if fresh {
			segments, sizes = append(segments, nil), append(sizes, nil)
		}
		fresh = false
		k := len(segments) - 1
		segments[k], sizes[k] = append(segments[k], spans...), append(sizes[k], size)
	}
	return split(segments, benchmark(sizes))
}

// benchmark is the last segment with enough steps, half of them of the size that most
// steps have, of equally frequent sizes the largest; -1 where there is none.
func benchmark(sizes [][]int) (segment int) {
	counts, common := map[int]int{}, 0
	for _, segment := range sizes {
		for _, size := range segment {
			counts[size]++
		}
	}
	for size, n := range counts {
		if n > counts[common] || n == counts[common] && size > common {
			common = size
		}
	}
	segment = -1
	for k := range sizes {
		same := 0
		for _, size := range sizes[k] {
			same += one(size == common)
		}
		if len(sizes[k]) >= minBenchmark && 2*same >= len(sizes[k]) {
			segment = k
		}
	}
	return segment
}

// split returns the iterations of one segment and those of the others; -1 is all.
func split(segments [][]trueSpan, chosen int) (in, out []trueSpan) {
	for k := range segments {
		if k == chosen || chosen < 0 {
			in = append(in, segments[k]...)
		} else {
			out = append(out, segments[k]...)
		}
	}
	return in, out
}

// compareWindow says what is wrong with the benchmark window of a rank. A pause in which the host
// works is a stall where its work was recorded, and the end of a segment where it was not: either
// is right.
func compareWindow(method string, w foundStep, steps []sim.TrueStep) string {
	if wrongWindow(method, w, steps, true) == "" {
		return ""
	}
	return wrongWindow(method, w, steps, false)
}

// wrongWindow is compareWindow where pauses in which the host works are stalls, or are not.
func wrongWindow(method string, w foundStep, steps []sim.TrueStep, stalls bool) string {
	in, out := trueWindow(method, steps, stalls)
	missing, wanted, strange := 0, 0, 0
	for _, s := range in {
		if !s.optional {
			wanted++
			missing += one(s.inside(w) < 0.8)
		}
	}
	for _, s := range out {
		strange += one(!s.optional && s.inside(w) > 0.05)
	}
	if allowed := int(tolerance * float64(wanted)); missing > allowed || strange > allowed {
		return fmt.Sprintf("the window lacks %d of its %d iterations and has %d of others", missing, wanted, strange)
	}
	return ""
}

// inside is the share of an iteration that lies in a window.
func (s *trueSpan) inside(w foundStep) float64 {
	return float64(max(0, min(w.end, s.end)-max(w.start, s.start))) / float64(max(1, s.end-s.start))
}
