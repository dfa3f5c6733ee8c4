package main

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// segmentGap is the shortest time in ns between two segments in which no GPU of a rank is
// busy: the commands' default.
const segmentGap = 100_000_000

// minBenchmark is the least number of steps of a benchmark segment; half of them must
// have the common size.
const minBenchmark = 5

// trueWindow returns the iterations of a rank that its benchmark window must contain, as
// a method can see them, and those that it must not. Segments are separated by more than
// segmentGap without recorded GPU work, or by iterations that were not recorded. With
// stalls set, such a gap separates them only if there were no requests.
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

// benchmark returns the last segment with enough steps, half of them of the most frequent
// size, -1 if there is none. Of equally frequent sizes the largest counts.
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

// split returns the iterations of one segment and those of the others; -1 selects all.
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

// compareWindow says what is wrong with the benchmark window of a rank, "" if nothing is.
// A pause in which the host works can be a stall, if its work was recorded, or the end of
// a segment: either is right.
func compareWindow(method string, w foundStep, steps []sim.TrueStep) string {
	if wrongWindow(method, w, steps, true) == "" {
		return ""
	}
	return wrongWindow(method, w, steps, false)
}

// wrongWindow is compareWindow for one of the two readings: with stalls, such pauses are
// stalls.
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

// inside returns the share of an iteration that lies in a window.
func (s *trueSpan) inside(w foundStep) float64 {
	return float64(max(0, min(w.end, s.end)-max(w.start, s.start))) / float64(max(1, s.end-s.start))
}
