package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// TestVerdictFloors: intervals of independent noise and of an autoregression hold
// the truth about as often as they say, runs whose halves disagree are borderline,
// and those far from every limit are not.
func TestVerdictFloors(t *testing.T) {
	cases.All(t)
	var sum verdictTally
	for _, noise := range []int{0, 2} {
		c := verdictCell{noise: noise, steps: 60}
		c.run(150)
		sum.idle.sum(c.tally.idle)
		sum.disagree.sum(c.tally.disagree)
		sum.clear.sum(c.tally.clear)
	}
	if sum.idle.of != 300 || sum.idle.n < 270 || sum.idle.n > 298 {
		t.Errorf("intervals hold the truth in %v", sum.idle)
	}
	if sum.disagree.of == 0 || 5*sum.disagree.n < 4*sum.disagree.of {
		t.Errorf("borderline in %v of the runs whose halves disagree", sum.disagree)
	}
	if sum.clear.of < 50 || 10*sum.clear.n > sum.clear.of {
		t.Errorf("borderline in %v of the runs far from every limit", sum.clear)
	}
}

func TestVerdictExports(t *testing.T) {
	cases.All(t)
	var out bytes.Buffer
	if err := runVerdictExports(&out, options{seeds: 2}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n| "); n != len(verdictExports)+1 {
		t.Errorf("%d rows:\n%s", n, out.String())
	}
}
