package replay

import (
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The record of the step before is as many records earlier as a step has.
func TestRecordsPerStep(t *testing.T) {
	for _, c := range []struct{ records, steps, want int }{{60, 60, 1}, {61, 60, 1}, {120, 60, 2}, {119, 60, 2}, {3, 60, 1}, {60, 0, 1}} {
		l := &learner{records: []int{c.records}}
		if got := l.recordsPerStep(&Trace{steps: make([]stepRow, c.steps)}, 0); got != c.want {
			t.Errorf("%d records in %d steps: %d, want %d", c.records, c.steps, got, c.want)
		}
	}
}

// A copy that an event held back says nothing of how long copies take to start, nor does one whose
// stream was busy.
func TestLatencyWithoutWaits(t *testing.T) {
	l := newLearner(&Trace{names: names{all: make([]name, 1)}})
	busy := &unit{end: 40_000}
	for range 20 {
		l.launch(&launch{start: 10_000, streamWait: true}, &unit{start: 900_000}, nil)
		l.launch(&launch{start: 10_000}, &unit{start: 41_000}, busy)
	}
	for range 5 {
		l.launch(&launch{start: 10_000}, &unit{start: 16_000}, nil)
	}
	if h := l.late[0]; h.n != 5 || h.median() != 6000 {
		t.Errorf("of %d units: %d ns", h.n, h.median())
	}
}

// A step that begins with its first all-reduce kernel holds the first kernels of the next one's
// forward pass: what the host does between the two is of neither.
func TestPassesEndWithTokens(t *testing.T) {
	steps := []step.Step{{Start: 0, Until: 100}, {Start: 100, Until: 200}, {Start: 200, Until: 300}}
	eager := []step.Kind{{Eager: true}, {Eager: true}, {Eager: true}}
	p, o := &passes{of: make([][]forward, 1)}, &openPass{thread: -1, steps: steps, kinds: eager}
	for t := int64(0); t < 300; t += 100 {
		p.unit(o, &row{kind: event.Kernel, class: event.Allreduce, start: t, launch: t}, false)
		p.unit(o, &row{kind: event.Kernel, class: event.GEMM, start: t + 20, launch: t + 20}, false)
		p.unit(o, &row{kind: event.Memcpy, start: t + 30, launch: t + 30}, true)
		p.unit(o, &row{kind: event.Kernel, class: event.GEMM, start: t + 90, launch: t + 90}, false)
	}
	p.end(o)
	if want := []forward{{0, 20}, {90, 120}, {190, 220}}; !slices.Equal(p.of[0], want) {
		t.Errorf("passes %v, want %v", p.of[0], want)
	}
}

// Where steps are what the host did, and it runs ahead of the GPU, a pass is of the step that launched
// it, and the tokens of the step before, which come back during it, do not end it.
func TestPassesOfHostSteps(t *testing.T) {
	steps := []step.Step{{Start: 0, Until: 100}, {Start: 100, Until: 200}, {Start: 200, Until: 300}}
	kinds := []step.Kind{{Eager: true}, {}, {Eager: true}}
	p, o := &passes{of: make([][]forward, 1)}, &openPass{thread: -1, steps: steps, kinds: kinds, byHost: true}
	for t := int64(0); t < 300; t += 100 { // units start 150 later than their calls
		p.unit(o, &row{kind: event.Kernel, class: event.GEMM, start: t + 150, launch: t}, false)
		p.unit(o, &row{kind: event.Memcpy, start: t + 152, launch: t - 5}, true)
		p.unit(o, &row{kind: event.Kernel, class: event.GEMM, start: t + 170, launch: t + 20}, false)
	}
	p.end(o)
	if want := []forward{{0, 20}, {200, 220}}; !slices.Equal(p.of[0], want) {
		t.Errorf("passes %v, want %v", p.of[0], want)
	}
}

// An interval holds its estimate, also where steps lost what runs less far ahead.
func TestIntervalHoldsEstimate(t *testing.T) {
	p := &predictor{}
	for range 40 {
		p.chosen, p.now = append(p.chosen, chosen{}), append(p.now, 1e6)
	}
	for _, queued := range []float64{-9e3, 9e3} {
		ci := p.interval(&predicted{Scenario: Scenario{Changes: []Change{Graph()}}, periods: p.now, queued: queued})
		if ci == nil || ci[0] > min(0, queued/1e3) || ci[1] < max(0, queued/1e3) {
			t.Errorf("a gain of 0, of which %.0f us are queued: %v", queued/1e3, ci)
		}
	}
}

// Of ranks with unlike numbers of steps, as two engines in one report have, the interval holds the mean
// over all steps.
func TestSpreadOverUnlikeRanks(t *testing.T) {
	p := &predictor{}
	var then []float64
	sum := 0.0
	for rank, steps := range []int{60, 20} {
		for k := range steps {
			gain := float64(1000*(1+3*rank) + 10*(k%7))
			p.chosen, p.now, then = append(p.chosen, chosen{rank: int32(rank)}), append(p.now, 9000), append(then, 9000-gain)
			sum += gain / 1e3 / 80
		}
	}
	if ci := p.spread(then); ci == nil || ci[0] > sum || ci[1] < sum {
		t.Errorf("%v does not hold %.2f", ci, sum)
	}
}
