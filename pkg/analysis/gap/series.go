package gap

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// maxSeries is how many causes are shown over time; the rest is one series.
const maxSeries = 8

// seriesReport sums up the steps that count by time and by rank, with idle time by the
// largest causes and all others. It returns nil without steps.
func (c *Watch) seriesReport(views []*view, causes []Cause) *timeline.Series {
	var shown []string
	for _, cause := range causes[:min(maxSeries, len(causes))] {
		shown = append(shown, cause.Cause)
	}
	first, last := math.MaxInt, -1
	for _, v := range views {
		if v.steps > 0 {
			first, last = min(first, v.from), max(last, v.to-1)
		}
	}
	if last < 0 {
		return nil
	}
	b := timeline.NewBuilder(first, last, min(maxSeries+1, len(causes)))
	known := map[idle.Key]int{} // index of the series that a key belongs to
	for _, v := range views {
		gpus := float64(max(len(v.gpus), 1))
		r := b.Rank(v.id, v.from, int(v.steps))
		v.eachStepSample(func(k int32, sample *idle.Sample) {
			part, ok := known[sample.Key]
			if !ok {
				key, _ := c.sites.Undivided(sample.Key)
				if part = slices.Index(shown, c.sites.CauseName(key)); part < 0 {
					part = len(shown)
				}
				known[sample.Key] = part
			}
			r.Idle(int(k), part, us(sample.Ns)/gpus)
		})
		for k, ns := range c.waits.of(v.id) {
			if v.inWindow(int32(k)) {
				r.Wait(k, us(ns)/gpus)
			}
		}
		for k, st := range v.counted() {
			r.Step(k, us(st.Period()))
		}
		r.Close()
	}
	return b.Close()
}

// seriesFigures draws the steps over time, and by rank.
func (rep *Report) seriesFigures(s *report.Section) {
	if rep.Series == nil {
		return
	}
	colors := rep.Palette()
	parts := []figure.Series{{Name: "GPU at work", Color: figure.Busy}}
	for i := range rep.Idle.Causes[:min(maxSeries, len(rep.Idle.Causes))] {
		name := rep.Idle.Causes[i].Cause
		parts = append(parts, figure.Series{Name: name, Color: colors.Color(name)})
	}
	if len(rep.Idle.Causes) > maxSeries {
		parts = append(parts, figure.Series{Name: "other causes", Color: figure.Other})
	}
	rep.Series.Document(s, parts, "by cause")
}
