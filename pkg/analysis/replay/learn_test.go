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
