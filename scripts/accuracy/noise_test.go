package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestNoiseFloors runs one kind of noise on little: equal runs are rarely flagged,
// and independent steps are told something about.
func TestNoiseFloors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	all := noiseSlices("independent")
	var flagged, untold count
	for _, s := range all {
		s.run(2)
		flagged.sum(s.flagged)
		untold.sum(s.untold)
	}
	if low, _ := flagged.interval(); low > 0.05 {
		t.Errorf("flagged: %v", flagged)
	}
	if low, _ := untold.interval(); low > 0.05 {
		t.Errorf("cannot be told: %v", untold)
	}
}

// TestFewStates: where two states last as long as a run of 50 steps most pairs get no answer,
// and the intervals of the others hold the truth.
func TestFewStates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range noiseSlices("two states, 20 steps, 10 %") {
		if s.steps != 50 || s.ratio > 1 || s.ranks != 2 {
			continue
		}
		s.run(50)
		if told := s.held.of; told < 5 || told > 35 || s.held.of-s.held.n > 3 {
			t.Errorf("%v: of 50 pairs %d get an answer, %d hold the truth", s, told, s.held.n)
		}
	}
}

// TestSectionsOfDiff prints those sections of which no more is asked here.
func TestSectionsOfDiff(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, args := range [][]string{{"noise", "--pairs", "1", "--only", "drift"}, {"power", "--pairs", "1"}, {"repeats", "--pairs", "1"}, {"tails", "--pairs", "1"}} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != 0 || !strings.Contains(out.String(), "|--:|") {
			t.Errorf("%v: status %d: %s%s", args, status, out.String(), errs.String())
		}
	}
}
