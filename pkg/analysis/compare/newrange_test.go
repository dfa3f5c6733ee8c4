package compare_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/testkit/sim"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// TestNewRange adds a range to each step while the other operations drift by 1 %: it is found,
// and named first, from the smallest to the largest.
func TestNewRange(t *testing.T) {
	for _, us := range []float64{1960, 90, 180, 450, 810}[:cases.Few(1, 2, 5)] {
		for seed := range uint64(cases.Few(4, 2, 4)) {
			before := sim60(2*seed + 1)
			after := sim60(2*seed + 2)
			after.Host = slices.Clone(after.Host)
			for i := range after.Host {
				after.Host[i].Mean *= 0.989
			}
			after.Host = append(after.Host, sim.HostOp{Name: "new_range", Mean: us, Noise: 0.05})
			c := difference(t, before, after)
			var text strings.Builder
			fmt.Fprintf(&text, "%+.0f us: %s", us, c.Document().Title)
			r := row(t, c.Operations, "new_range")
			if *c.Direction != compare.Slower || c.Conclusion != compare.HostInterStep || r.Status != compare.New || !strings.Contains(text.String(), "host time in new_range") {
				t.Errorf("seed %d, %s; %s, %+v", seed, &text, c.Conclusion, r.Evidence)
			}
		}
	}
}
