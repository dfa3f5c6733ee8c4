package isolate

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// However many markers come, the last ones are remembered.
func TestMarkersForgotten(t *testing.T) {
	const waiting = maxQueued / 2 // launches
	var m markers
	for k := range int64(3 * maxQueued) {
		m.add(1e6*k, 1e6*k+900_000, k, "step")
		if n := len(m.ranges); n > maxQueued*9/8 {
			t.Fatalf("%d markers are remembered", n)
		}
		if k < waiting {
			continue
		}
		if at := m.around(1e6 * (k - waiting)); at == nil || at.id != k-waiting {
			t.Fatalf("after %d markers the one %d before is %+v", k, waiting, at)
		}
	}
}

// A number that all markers have counts no steps, and one that several have counts as one.
func TestMarkersByNumber(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		after   int // graphs that are launched after each
		want    int
	}{
		{[]int64{7, 7, 7, 7, 7, 7}, 0, 6},
		{[]int64{noNumber, noNumber, noNumber}, 0, 3},
		{[]int64{4, 5, 5, 6, 6, 7, 7}, 0, 4}, // of two threads
		{[]int64{4, 6, 8, 10}, 1, 7},         // every second one is missing
		{[]int64{4, 6, 8, 10}, 0, 4},         // every second iteration runs nothing
		{[]int64{8, 9, 0, 1, 2}, 0, 5},       // a second engine
	} {
		o := outside{end: never}
		for k, number := range c.numbers {
			o.marker(int64(k)*1e6+9e5, number, true)
			o.call(event.GraphLaunch, int64(k)*1e6)
			for range c.after {
				o.call(event.GraphLaunch, int64(k)*1e6+95e4)
			}
		}
		if o.numbers != c.want {
			t.Errorf("%d: %d steps, want %d", c.numbers, o.numbers, c.want)
		}
	}
}
