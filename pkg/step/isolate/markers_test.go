package isolate

import "testing"

// However many markers come, the last ones are remembered.
func TestMarkersForgotten(t *testing.T) {
	const waiting = maxMarkers / 2 // launches
	var m markers
	for k := range int64(3 * maxMarkers) {
		m.add(1e6*k, 1e6*k+900_000, k, "step")
		if n := len(m.ranges); n > maxMarkers*9/8 {
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
