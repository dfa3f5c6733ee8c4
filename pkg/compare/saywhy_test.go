package compare

import (
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/hoststate"
)

// TestSayWhys says what idle time grew by where other idle time shrank, so that the whole
// grew by less: shares are of what grew. Whys with the same words are one. Where nothing can
// be told of the whole there is advice for what can be told, and none where it shrank.
func TestSayWhys(t *testing.T) {
	row := func(why string, delta float64) IdleRow {
		return IdleRow{Row: Row{Delta: &delta, Significant: delta > 0}, Cause: "host:prepare", Why: &why}
	}
	delta, less := 1000.0, -1000.0
	c := &Comparison{
		Summary: []Row{{Name: idleTime, Delta: &delta, CannotTell: "noise"}},
		IdleWhy: []IdleRow{row("blocked:file", 1200), row("os:write", 300), row(hoststate.Running.String(), 500), row("queued", -1000)},
	}
	c.explainWhys()
	const files = "launching threads read and write files, or pipes and sockets as if they were files, in host work in prepare"
	want := []string{
		"+1.50 ms per step, 75.0 % of the idle time that grew: " + files + ".",
		"+500 µs per step, 25.0 % of the idle time that grew: launching threads run on a CPU, in host work in prepare.",
	}
	if !slices.Equal(c.Explanation, want) {
		t.Errorf("%q, want %q", c.Explanation, want)
	}
	c.adviseWhys()
	if want := []string{"HOIST (" + files + "): leave that to another thread (+1.50 ms per step)."}; !slices.Equal(c.Mitigations, want) {
		t.Errorf("%q, want %q", c.Mitigations, want)
	}
	c.Summary[0].Delta, c.Mitigations = &less, nil
	if c.adviseWhys(); c.Mitigations != nil {
		t.Errorf("%q where there is less idle time", c.Mitigations)
	}
}
