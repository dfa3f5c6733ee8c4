package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// TestNoiseFloors runs one kind of noise on little: equal runs are rarely flagged,
// and independent steps are told something about.
func TestNoiseFloors(t *testing.T) {
	cases.All(t)
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

// TestFewStates: where two states last half of a run of 50 steps most pairs get no answer.
func TestFewStates(t *testing.T) {
	cases.All(t)
	for _, s := range noiseSlices("two states, 20 steps, 10 %") {
		if s.steps != 50 || s.ratio > 1 || s.ranks != 2 {
			continue
		}
		s.run(50)
		if told := s.held.of; told < 2 || told > 35 {
			t.Errorf("%v: of 50 pairs %d get an answer, %d hold the truth", s, told, s.held.n)
		}
	}
}

// TestSectionsOfDiff prints those sections of which no more is asked here.
func TestSectionsOfDiff(t *testing.T) {
	cases.All(t)
	for _, args := range [][]string{{"noise", "--pairs", "1", "--only", "drift"}, {"power", "--pairs", "1"}, {"repeats", "--pairs", "1"}, {"tails", "--pairs", "1"}} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != 0 || !strings.Contains(out.String(), "|--:|") {
			t.Errorf("%v: status %d: %s%s", args, status, out.String(), errs.String())
		}
	}
}

// TestPages reads the answers to pairs of all kinds of noise, equal and changed, of which none
// says what its table does not; and one that does.
func TestPages(t *testing.T) {
	cases.All(t)
	for k, z := range stepNoises {
		for i, factor := range []float64{1, 1.03, 0.8, 1.6} {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(i)))
			c := compared(z.draw(rng, 60, 2, 1, slower(rng, 0.04, 3000)), z.draw(rng, 60, 2, factor, slower(rng, 0.04*float64(i), 3000)))
			if s := contradiction(c); s != "" {
				t.Errorf("%s, %v times: %s", z.name, factor, s)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	c := compared(stepNoises[0].draw(rng, 60, 2, 1, nil), stepNoises[0].draw(rng, 60, 2, 1.5, nil))
	c.Explanation = append(c.Explanation, "Operations that take less: operation a -1.00 ms.")
	if contradiction(c) == "" {
		t.Error("an operation that takes more is said to take less, and nobody notices")
	}
}

// TestPagesOfRuns reads the answers to recorded and simulated runs, whose idle time and waits have
// causes that lie between or within steps.
func TestPagesOfRuns(t *testing.T) {
	cases.All(t)
	pairs := [][2]string{}
	clean := testrun.Inflated(t, "../../testdata/h100/clean.sqlite.gz")
	for _, name := range []string{"gil", "sleep"} {
		pairs = append(pairs, [2]string{clean, testrun.Inflated(t, "../../testdata/h100/"+name+".sqlite.gz")})
	}
	c := ranksConfig(2, 1, false, 0)
	base := testrun.Simulate(t, c, false)[0]
	for _, op := range c.Host {
		slow := ranksConfig(2, 1, false, 1)
		slow.SetHost(op.Name, op.Mean+1000)
		pairs = append(pairs, [2]string{base, testrun.Simulate(t, slow, false)[0]})
	}
	if dir := os.Getenv("HOSTBOUND_TRACES"); dir != "" {
		pairs = append(pairs, [2]string{filepath.Join(dir, "sim/base.sqlite"), filepath.Join(dir, "sim/target.sqlite")})
	}
	for _, pair := range pairs {
		err := inProcess(&command.Diff, pair[:], func(p *command.Plan) error {
			result, err := p.Diff()
			if err == nil && contradiction(result) != "" {
				t.Errorf("%s, %s: %s: %s", pair[0], pair[1], result.Document().Title, contradiction(result))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
