package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
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
		Summary: []Row{{Name: idleTime, Delta: &delta, Unknown: "noise"}},
		IdleWhy: []IdleRow{row("blocked:file", 1200), row("os:write", 300), row(idle.Running.String(), 500), row("queued", -1000)},
	}
	c.explainWhys()
	const files = "launching threads do file I/O, or read() and write() on a pipe or socket, in host work in prepare"
	want := []string{
		"+1.50 ms per step, 75.0 % of the idle time that grew: " + files + ".",
		"+500 µs per step, 25.0 % of the idle time that grew: launching threads run on a CPU, in host work in prepare.",
	}
	if !slices.Equal(c.Explanation, want) {
		t.Errorf("%q, want %q", c.Explanation, want)
	}
	c.adviseWhys()
	if want := []string{"IO (" + files + "): move it to another thread, or check the process at the other end (+1.50 ms per step)."}; !slices.Equal(c.Mitigations, want) {
		t.Errorf("%q, want %q", c.Mitigations, want)
	}
	c.Summary[0].Delta, c.Mitigations = &less, nil
	if c.adviseWhys(); c.Mitigations != nil {
		t.Errorf("%q where there is less idle time", c.Mitigations)
	}
}

// TestBusyBesideUnknownIdle has busy time grow a little beyond the noise, and idle time by far more,
// of which nothing can be told: that busy time grew more is not said.
func TestBusyBesideUnknownIdle(t *testing.T) {
	busy, idle, all := 18.0, 594.0, 612.0
	c := &Comparison{Conclusion: GPU, Summary: []Row{
		{Name: wall, Delta: &all, Unknown: "noise"}, {Name: busyTime, Delta: &busy, Significant: true}, {Name: idleTime, Delta: &idle, Unknown: "noise"},
	}}
	c.explainBusy()
	want := []string{"Busy time grew by 18.0 µs beyond the noise. Idle time grew by more, 594 µs, for which there is no evidence: it may be the larger cause all the same."}
	if !slices.Equal(c.Explanation, want) {
		t.Errorf("%q, want %q", c.Explanation, want)
	}
	if but := c.butWall(); but != ", but whether a step takes longer cannot be told" {
		t.Errorf("headline %q", but)
	}
}

// TestTrifles says what part of the idle time that grew its causes are, where that is small.
func TestTrifles(t *testing.T) {
	for grown, want := range map[float64]int{500: 2, 15: 1} {
		ten := 10.0
		row := Row{Delta: &ten, Significant: true}
		c := &Comparison{Summary: []Row{{Name: idleTime, Delta: &grown, Significant: true}}, Idle: []IdleRow{{Row: row, Cause: "memop", InterStep: &Part{Delta: &ten}}}}
		c.explainCauses()
		if len(c.Explanation) != want || want == 2 && !strings.Contains(c.Explanation[1], "10.0 µs of the 500 µs that idle time grew by") {
			t.Errorf("idle time grew by %v: %q", grown, c.Explanation)
		}
	}
}

// TestAdviceOrder gives the advice for what grew most first, and none but that of the wait
// for an operation that waits.
func TestAdviceOrder(t *testing.T) {
	delta, copies, waited, sleeps := 1000.0, 10.0, 900.0, "blocked:sleep"
	row := func(name string, delta *float64) Row { return Row{Name: name, Delta: delta, Significant: true} }
	c := &Comparison{
		Summary:    []Row{{Name: idleTime, Delta: &delta, Significant: true}},
		Operations: []Row{row("_prepare_inputs", &delta)},
		Idle:       []IdleRow{{Row: row("memop", &copies), Cause: "memop", InterStep: &Part{Delta: &copies}}},
	}
	c.opt.Sources = DefaultSources()
	order := func() (first []string) {
		c.Mitigations = nil
		c.adviseGrown()
		for _, m := range c.Mitigations {
			name, _, _ := strings.Cut(m, " ")
			first = append(first, name)
		}
		return first
	}
	if got := order(); !slices.Equal(got, []string{"_prepare_inputs", "copies"}) {
		t.Errorf("%q", got)
	}
	c.IdleWhy = []IdleRow{{Row: row("", &waited), Cause: "host:_prepare_inputs", Why: &sleeps}}
	if got := order(); !slices.Equal(got, []string{"SLEEP", "copies"}) {
		t.Errorf("waiting: %q", got)
	}
}
