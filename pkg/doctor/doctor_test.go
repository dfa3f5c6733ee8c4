package doctor

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/event/eventtest"
)

// Where all that shows what threads do was recorded, nothing is said to be missing.
func TestNothingMissing(t *testing.T) {
	var rows []eventtest.Row
	for _, kind := range []event.Kind{event.Kernel, event.API, event.NVTX, event.OS, event.Run, event.Sample} {
		r := eventtest.New(kind, 0, 10, 20, "")
		if r.Thread = 1; kind == event.NVTX {
			r.Class = event.GIL
		}
		rows = append(rows, r)
	}
	for n := 3; n <= len(rows); n++ {
		d, err := Examine(eventtest.Source(eventtest.Header(rows[:n]), rows[:n], 2))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range d.Questions {
			if q.Can == Yes && (q.Instead != "" || q.record != nil) {
				t.Errorf("%d kinds: %q can be answered, and yet: %q", n, q.Question, q.Instead)
			}
			if all := n == len(rows); q.Question == "Why do launching threads not go on?" && (q.Can == Yes) != all {
				t.Errorf("%d kinds: %q: %s, %s", n, q.Question, q.Can, q.Because)
			}
		}
	}
}
