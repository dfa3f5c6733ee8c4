package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// TestScoreboard runs the script small.
func TestScoreboard(t *testing.T) {
	cases.All(t)
	var out, errs bytes.Buffer
	if status := run([]string{"diff", "-pairs", "1", "-exports", "2"}, &out, &errs); status != 0 {
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

// TestStepFloors runs every kind once and wants what the scoreboard promises:
// wrong steps are never found in silence.
func TestStepFloors(t *testing.T) {
	cases.All(t)
	var log bytes.Buffer
	b, err := countSteps(chosen(options{}), options{seeds: 1, verbose: &log})
	if err != nil {
		t.Fatal(err)
	}
	for marked, floor := range []float64{0.7, 0.9} {
		right := b.total[marked].share(rightSteps)
		if b.total[marked][wrongSilent] > 0 || float64(right.n) < floor*float64(right.of) {
			t.Errorf("markers %v: right in %v, silently wrong in %d:\n%s", marked == 1, right, b.total[marked][wrongSilent], log.String())
		}
		if b.by["pauses between requests"][marked][rightSteps] != 1 {
			t.Errorf("markers %v: that a window is short counts as a warning about its steps:\n%s", marked == 1, log.String())
		}
	}
}

// TestDecodeFloors wants the right sign of the difference of runs without
// markers, and never the wrong one.
func TestDecodeFloors(t *testing.T) {
	cases.All(t)
	for _, kind := range decodeKinds {
		tally := &decodeTally{}
		for seed := range 5 {
			tally.pair(kind, seed, nil)
		}
		if tally.err != nil || tally.wrong > 0 || !kind.prefill && tally.right < 4 {
			t.Errorf("%v: %+v", kind, tally)
		}
	}
}

// TestMethodFloors wants no two methods to put a regression in different places.
func TestMethodFloors(t *testing.T) {
	cases.All(t)
	by, err := countMethods(chosen(options{only: "decode"}), options{seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, tally := range by {
		if tally.clash.n > 0 || tally.against.n > 0 {
			t.Errorf("%s: contrary answers in %v, the other place in %v", name, tally.clash, tally.against)
		}
	}
}

// TestUsage refuses what is no section and no flag.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"nothing"}, {"--nothing"}, {"steps", "--seeds", "many"}} {
		if status := run(args, &bytes.Buffer{}, &bytes.Buffer{}); status != 2 {
			t.Errorf("%v: status %d", args, status)
		}
	}
}

// TestCovers counts steps that are right, halved, doubled, and shifted.
func TestCovers(t *testing.T) {
	var steps []sim.TrueStep
	for i := range int64(100) {
		steps = append(steps, sim.TrueStep{HostStart: 1000 * i, HostEnd: 1000*i + 800})
	}
	cases := map[string]struct {
		start, length, every int64
		n                    int
		right                bool
	}{
		"right":   {0, 800, 1000, 100, true},
		"longer":  {-100, 950, 1000, 100, true},
		"doubled": {0, 1800, 2000, 50, false},
		"halved":  {0, 400, 500, 200, false},
		"shifted": {500, 800, 1000, 99, false},
		"fewer":   {0, 800, 1000, 97, false},
		"one off": {0, 800, 1000, 99, true},
	}
	for name, c := range cases {
		var found []foundStep
		for i := range int64(c.n) {
			found = append(found, foundStep{c.start + c.every*i, c.start + c.every*i + c.length, -1, -1})
		}
		if got := compareSteps("nvtx", found, steps); got == "" != c.right {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestCompareWindow wants the last long segment in the window, and nothing else.
func TestCompareWindow(t *testing.T) {
	var steps []sim.TrueStep
	for i := range int64(110) {
		at := 1000 * i
		if i >= 50 {
			at += 200_000_000 // the 60 steps of another segment
		}
		steps = append(steps, sim.TrueStep{Number: int(i), Segment: one(i >= 50), HostStart: at, HostEnd: at + 800, First: at, Last: at + 900})
	}
	second := steps[50].First
	for name, c := range map[string]struct {
		window foundStep
		right  bool
	}{
		"right":     {foundStep{start: second, end: second + 60_000}, true},
		"one off":   {foundStep{start: second + 1000, end: second + 60_000}, true},
		"the first": {foundStep{start: 0, end: 50_000}, false},
		"both":      {foundStep{start: 0, end: second + 60_000}, false},
		"half":      {foundStep{start: second, end: second + 30_000}, false},
	} {
		if got := compareWindow("nvtx", c.window, steps); got == "" != c.right {
			t.Errorf("%s: %q", name, got)
		}
	}
	for i := range steps {
		steps[i].Segment = 0
	}
	if got := compareWindow("nvtx", foundStep{start: 0, end: second + 60_000}, steps); got != "" {
		t.Errorf("a stall: %q", got)
	}
}

// TestInterval compares with Wilson's intervals out of a table.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		count     count
		low, high float64
	}{{count{0, 20}, 0, 0.1611}, {count{20, 20}, 0.8389, 1}, {count{5, 10}, 0.2366, 0.7634}} {
		if low, high := c.count.interval(); math.Abs(low-c.low) > 1e-4 || math.Abs(high-c.high) > 1e-4 {
			t.Errorf("%v: %f to %f", c.count, low, high)
		}
	}
}

// TestNights wants that a gate is green where nothing changed, and red where much did.
func TestNights(t *testing.T) {
	cases.All(t)
	g := gate{noise: startNoises[0]}
	if err := g.run(1, 20); err != nil {
		t.Fatal(err)
	}
	if g.equal.n > 1 || g.rise.n < 19 || g.drift.n < 8 {
		t.Errorf("red: %d of 20 equal nights, %d of 20 that take 8 %% longer, %d of 10 drifts", g.equal.n, g.rise.n, g.drift.n)
	}
}
