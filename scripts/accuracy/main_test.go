package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestScoreboard runs the script small.
func TestScoreboard(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var out, errs bytes.Buffer
	if status := run([]string{"-pairs", "1", "-exports", "2"}, &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	for _, want := range []string{"| all | 72 |", "| 100 % |", "Through simulated exports"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestCount counts what it is said to.
func TestCount(t *testing.T) {
	c := cell{steps: 100, noise: 0.02}
	if got := c.changed(1, 2); got.changed != 6 || got.found != 6 || got.ruleFound < 4 || got.pairs != 2 || got.intervals != 26 || got.held < 20 {
		t.Errorf("twice the cost: %+v", got)
	}
	if got := c.equal(3); got.changed != 0 || got.pairs != 3 || got.alarmed != 0 || got.ruleAlarmed != 0 {
		t.Errorf("equal runs: %+v", got)
	}
}
