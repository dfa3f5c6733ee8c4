package compare

import (
	"math"
	"testing"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// The waterfall leads from the baseline to the target.
func TestFiguresAddUp(t *testing.T) {
	samples := func(extra float64) *Run {
		one := RankSamples{Operations: map[string][]float64{"op": nil}}
		for i := range 64 {
			noise := float64(i%7) * 3
			one.Wall, one.Busy, one.Duration = append(one.Wall, 1000+extra+noise), append(one.Busy, 400+extra/4), append(one.Duration, 900)
			one.Operations["op"] = append(one.Operations["op"], 100+extra)
		}
		one.Wall[5] = 50_000 // a rare stall does not make all others one bin
		return FromSamples(Samples{Name: "run", Gen: 4, Ranks: []RankSamples{one}})
	}
	c, err := Compare(samples(0), samples(80), Options{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	s := &report.Section{}
	(&page{c}).waterfall(s)
	bars := s.Blocks[0].(*report.Drawing).Plot.(*figure.Bars).Rows
	for _, bar := range bars[1 : len(bars)-1] {
		total += bar.Parts[1] + bar.Parts[2]
	}
	if want := *c.summary(wall).Delta; math.Abs(total-want) > 1e-6 {
		t.Errorf("the changes come to %f us, want %f", total, want)
	}
}
