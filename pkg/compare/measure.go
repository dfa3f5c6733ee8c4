package compare

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// side is all that is known of one run over the chosen steps.
type side struct {
	run     *Run
	sheet   *sheet
	figures map[string]value // summary and counts, by name
	gaps    []float64        // by position
	rows    [numSections]map[string]*item
}

// item is a row of one run.
type item struct {
	value // us a step
	self  value
	// exposed is the part of value during which lanes were idle, on average over
	// the lanes.
	exposed value
	count   float64 // a step
	steps   float64 // share of the steps it occurs in
	place   spot
}

// spot is where in a step an operation is.
type spot struct {
	parent string
	offset float64 // of its start, us
}

const us = 1e-3 // from ns

// The figures of the summary and the counts, in the order of the report.
const (
	wall     = "wall"
	busyTime = "busy"
	idleTime = "idle"
	idleIn   = "idle_in_step"
	idleOut  = "idle_inter_step"
	duration = "duration"
	gap      = "gap"
	gapP50   = "gap_p50"
	gapP90   = "gap_p90"
	gpuTime  = "gpu"

	eagerKernels  = "eager_kernels"
	graphKernels  = "graph_kernels"
	graphLaunches = "graph_launches"
)

// measure takes the figures of the chosen steps.
func measure(c choice, w weights) *side {
	s := measureFigures(c, w)
	for section := range numSections {
		s.rows[section] = s.measureRows(section)
	}
	return s
}

// measureFigures takes the figures of the chosen steps without the rows that go by
// name.
func measureFigures(c choice, w weights) *side {
	s := &side{run: c.run, sheet: newSheet(c, w), figures: map[string]value{}}
	sh := s.sheet
	for name, f := range map[string]func(*step, float64) float64{
		wall: wallOf, busyTime: busyOf, idleTime: idleOf, idleIn: idleInOf, idleOut: idleOutOf,
		duration: durationOf, gpuTime: gpuOf,
	} {
		s.figures[name] = sh.estimate(sh.each(f), us)
	}
	for name, f := range map[string]func(*step, float64) float64{
		eagerKernels: eagerOf, graphKernels: graphOf, graphLaunches: replaysOf,
	} {
		s.figures[name] = sh.estimate(sh.each(f), 1)
	}
	s.gaps = sh.each(gapOf)
	s.figures[gap] = sh.estimate(s.gaps, us)
	return s
}

// measureRows takes the figures of the rows of a section.
func (s *side) measureRows(section int) map[string]*item {
	rows := map[string]*item{}
	n := len(s.sheet.step)
	total, self, hidden, times := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for id, name := range s.run.names[section].texts {
		if !s.has(section, id) {
			continue
		}
		clear(total)
		clear(self)
		clear(hidden)
		clear(times)
		found := false
		var spots []place
		for k, r := range s.sheet.c.ranks {
			if id >= len(r.rank.sections[section]) {
				continue
			}
			row := &r.rank.sections[section][id]
			spots = append(spots, row.place)
			at := s.sheet.at[k]
			for e, st := range row.step {
				p := at[st]
				if p < 0 {
					continue
				}
				found = true
				total[p] += float64(row.ns[e])
				times[p] += float64(row.count[e])
				if section == operations || section == idleTimes {
					self[p] += float64(row.self[e])
					hidden[p] += float64(row.hidden[e])
				}
			}
		}
		if !found {
			continue
		}
		one := &item{value: s.sheet.estimate(total, us)}
		one.count, one.steps = s.average(times), s.occurrence(times)
		switch section {
		case idleTimes:
			one.self = s.sheet.estimate(self, us)
			for p := range total {
				total[p] -= self[p]
			}
			one.exposed = s.sheet.estimate(total, us)
		case operations:
			one.self = s.sheet.estimate(self, us)
			for p := range total {
				total[p] -= hidden[p] / max(1, s.sheet.lanes[p])
			}
			one.exposed = s.sheet.estimate(total, us)
			one.place = s.spot(spots)
		}
		rows[name] = one
	}
	return rows
}

// has tells whether any rank has entries of a row.
func (s *side) has(section, id int) bool {
	return slices.ContainsFunc(s.sheet.c.ranks, func(r chosen) bool {
		return id < len(r.rank.sections[section]) && len(r.rank.sections[section][id].step) > 0
	})
}

// average is the weighted mean over all positions.
func (s *side) average(x []float64) float64 {
	clear(s.sheet.all)
	for p, v := range x {
		s.sheet.all[s.sheet.group[p]].sum += v
		s.sheet.all[s.sheet.group[p]].n++
	}
	return s.sheet.mean(s.sheet.all)
}

// occurrence is the share of positions at which x is not 0.
func (s *side) occurrence(x []float64) float64 {
	n := 0
	for _, v := range x {
		if v != 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(x)))
}

// spot puts together where the ranks have an operation.
func (s *side) spot(of []place) spot {
	var sum place
	for _, p := range of {
		if p.votes > sum.votes || sum.n == 0 {
			sum.parent, sum.votes = p.parent, p.votes
		}
		sum.offset += p.offset
		sum.n += p.n
	}
	where := spot{offset: float64(sum.offset) / float64(max(1, sum.n)) * us}
	if sum.n > 0 && sum.parent >= 0 {
		where.parent = s.run.names[operations].texts[sum.parent]
	}
	return where
}

// quantile returns a quantile of x over all positions where it is there, in us;
// null where it is nowhere.
func quantile(x []float64, p float64) *float64 {
	there := slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	if len(there) == 0 {
		return nil
	}
	slices.Sort(there)
	q := stat.Quantile(there, p) * us
	return &q
}
