package sim

import (
	"slices"
	"testing"
)

// Each host cause takes its time in every step, and leaves all else as it
// is where the host runs on; switches of a thread alternate.
func TestHostCauses(t *testing.T) {
	for _, kind := range HostCauses {
		c := Default()
		c.Steps, c.Why = 6, HostCause{Kind: kind, US: 500}
		traces, truth, err := SimulateTruth(c, false)
		if err != nil {
			t.Fatal(err)
		}
		for k, r := range truth.Ranks {
			for _, s := range r.Steps {
				// What gets requests begins later, and a limit stops all until its period is over.
				if late := k > 0 && s.Number == 0 && c.Why.getting() || kind == "quota"; !late && (s.Lost < 150_000 || s.Lost > 1_500_000) {
					t.Errorf("%s: step %d of rank %d loses %d ns", kind, s.Number, k, s.Lost)
				}
			}
		}
		in := map[uint32]bool{}
		switches := []Switch{}
		for s := range traces[0].Switches.All() {
			switches = append(switches, *s)
		}
		slices.SortStableFunc(switches, func(a, b Switch) int { return int(a.At - b.At) })
		for _, s := range switches {
			if in[s.TID] == s.In {
				t.Errorf("%s: thread %d comes or leaves twice at %d", kind, s.TID, s.At)
			}
			in[s.TID] = s.In
		}
		if traces[0].Samples.Len() < 100 || traces[0].OSCalls.Len() == 0 {
			t.Errorf("%s: %d samples, %d calls", kind, traces[0].Samples.Len(), traces[0].OSCalls.Len())
		}
	}
	c := Default()
	c.Why.Kind = "nothing"
	if _, err := Simulate(c); err == nil {
		t.Error("a host cause that nobody knows is simulated")
	}
}
