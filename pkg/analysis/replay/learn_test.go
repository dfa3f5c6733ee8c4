package replay

import "testing"

// The record of the step before is as many records earlier as a step has.
func TestRecordsPerStep(t *testing.T) {
	for _, c := range []struct{ records, steps, want int }{{60, 60, 1}, {61, 60, 1}, {120, 60, 2}, {119, 60, 2}, {3, 60, 1}, {60, 0, 1}} {
		l := &learner{ages: ages{records: c.records}}
		if got := l.recordsPerStep(&Trace{steps: make([]stepRow, c.steps)}); got != c.want {
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
