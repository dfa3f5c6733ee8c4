package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// chosen is a step that counts: its index among the steps of the trace, and the next
// step of its segment, which ends its period. The last step of a segment ends with the
// segment's last row.
type chosen struct {
	step, next int    // indexes of Trace.steps; next is -1 for the last of a segment
	segment    [2]int // first and last step of the segment
	lost       int64  // not recorded, ns
	rank       int32
	number     int // of the step, within its rank
	phase      event.Phase
	tokens     int64 // -1 if unknown
	steady     bool
}

// benchmark returns the steps of the benchmark segments, nil if there are none.
func (t *Trace) benchmark() (all []chosen) {
	places := make([][]int, len(t.processes))
	for k := range t.steps {
		places[t.steps[k].process] = append(places[t.steps[k].process], k)
	}
	for p, w := range t.ranks {
		if w == nil || w.Steps.Len() != len(places[p]) {
			continue
		}
		steady := w.Steady()
		from, to := w.BenchmarkSteps()
		for k, s := range w.Steps.Between(from, to) {
			c := chosen{step: places[p][k], next: -1, lost: s.Unrecorded, rank: t.processes[p], number: k, phase: s.Phase, tokens: -1}
			if s.Gen != step.Unknown && s.Ctx != step.Unknown {
				c.tokens = s.Gen + s.Ctx
			}
			if t.sampled != nil && (k == from || !t.sampled.hold(w.Steps.At(k-1).Start, s.Start, s.Until)) {
				continue
			}
			_, c.steady = slices.BinarySearch(steady, k)
			seg := &w.Segments[s.Segment]
			if k+1 < seg.First+seg.Steps {
				c.next = places[p][k+1]
			}
			c.segment = [2]int{places[p][seg.First], places[p][seg.First+seg.Steps-1]}
			all = append(all, c)
		}
	}
	return all
}

// whole returns each rank's recording as one step, for streams without steps.
func (p *predictor) whole() (all []chosen) {
	for k, rank := range p.t.processes {
		if rank < 0 {
			continue
		}
		if span := p.t.header.Span(rank); span.GPUStart != nil && span.GPUEnd != nil {
			c := chosen{step: -1 - k, rank: rank, phase: event.Unknown, tokens: -1, steady: true}
			for _, u := range span.Unrecorded {
				c.lost += max(0, min(u[1], *span.GPUEnd)-max(u[0], *span.GPUStart))
			}
			all = append(all, c)
		}
	}
	return all
}

// periods returns the periods of the chosen steps in each scenario of a pass, in ns, and
// the result of queued.
func (p *predictor) periods(e *pass) (all [][]float64, queued []float64) {
	all = make([][]float64, e.n)
	for s := range all {
		all[s] = make([]float64, len(p.chosen))
		for i, c := range p.chosen {
			if c.step < 0 {
				q := &e.procs[-1-c.step]
				if q.ends == nil { // no unit of the rank is in the stream
					continue
				}
				all[s][i] = float64(q.ends[s] - q.begins[s] - c.lost)
				continue
			}
			start := e.steps.times[c.step].start[s]
			until := int64(math.MinInt64)
			if c.next >= 0 {
				until = e.steps.times[c.next].start[s]
			} else {
				for k := c.segment[0]; k <= c.segment[1]; k++ {
					if p.t.steps[k].process == p.t.steps[c.step].process {
						until = max(until, e.steps.times[k].end[s])
					}
				}
			}
			all[s][i] = float64(until - start - c.lost)
		}
	}
	if e.steps.byRange {
		return all, p.queued(e, all)
	}
	return all, make([]float64, e.n)
}

// queued takes back what steps gained, or lost, because the host ran further ahead of
// the GPU, or less far. If steps begin and end with ranges of the host, a host without a
// wait ends long before its GPU. Work may be queued at the end of a segment, beyond what
// was queued at its beginning and in the recording. Its steps need the time for that
// work all the same. Each step gets its share back, in proportion to its gain. In a run
// as short as this one, steps would still be that much shorter. For the intervals,
// queued returns this time by scenario, in ns per step on average.
func (p *predictor) queued(e *pass, periods [][]float64) []float64 {
	share := make([][]float64, len(e.procs)) // by process: share of a step's gain, by scenario
	for q := range e.procs {
		if steps, ok := p.segment(int32(q)); ok {
			share[q] = e.steps.aheadShare(int32(q), steps)
		}
	}
	queued := make([]float64, e.n)
	for s := range periods {
		n := 0
		for i, c := range p.chosen {
			if c.step >= 0 {
				late := share[p.t.steps[c.step].process][s] * (periods[0][i] - periods[s][i])
				periods[s][i] += late
				queued[s], n = queued[s]+late, n+1
			}
		}
		queued[s] /= float64(max(n, 1))
	}
	return queued
}

// segment returns the first and the last step of a process's benchmark segment; ok is
// false without.
func (p *predictor) segment(process int32) (steps [2]int, ok bool) {
	for _, c := range p.chosen {
		if c.step >= 0 && p.t.steps[c.step].process == process {
			return c.segment, true
		}
	}
	return steps, false
}

// aheadShare returns, by scenario, the share of the gain of a process's steps (first and
// last given) that is work left for later, from 0 to 1.
func (b *bounds) aheadShare(process int32, steps [2]int) []float64 {
	share, ends := make([]float64, b.n), b.procs[process].ends
	var first, last *stepTimes
	for _, k := range b.order {
		at := &b.times[k]
		if b.t.steps[k].process != process || int(k) < steps[0] || int(k) > steps[1] || at.start == nil || at.end == nil {
			continue
		}
		if last = at; first == nil {
			first = at
		}
	}
	for s := 0; last != nil && ends != nil && s < b.n; s++ {
		gained := last.end[0] - first.start[0] - (last.end[s] - first.start[s])
		left := ends[s] - last.end[s] - (ends[0] - last.end[0])
		if lead := b.procs[process].lead; lead != nil {
			left -= lead[s] - (first.start[s] - first.start[0])
		}
		if gained != 0 {
			share[s] = min(1, max(0, float64(left)/float64(gained)))
		}
	}
	return share
}

// mean returns the mean over the chosen steps, 0 if there are none.
func (p *predictor) mean(periods []float64) float64 {
	sum := 0.0
	for _, period := range periods {
		sum += period
	}
	return sum / float64(max(len(periods), 1))
}

// typicalStep returns the rank and the number of a steady step of median length, 0 and
// -1 if there is none.
func (p *predictor) typicalStep() (rank int32, number int64) {
	var steady []int
	for i, c := range p.chosen {
		if c.steady && c.step >= 0 && c.rank == p.chosen[0].rank {
			steady = append(steady, i)
		}
	}
	if len(steady) == 0 {
		return 0, -1
	}
	slices.SortStableFunc(steady, func(a, b int) int { return cmp.Compare(p.now[a], p.now[b]) })
	c := p.chosen[steady[len(steady)/2]]
	return c.rank, p.t.steps[c.step].number
}

// interval returns the 95 % interval of a scenario's gain, us; nil if there are too few
// steps. It is the interval over steps, widened by the error of predictions, and it
// includes the results of the other readings of the run.
func (p *predictor) interval(row *predicted) *[2]float64 {
	ci := p.spread(row.periods)
	now := p.mean(p.now) / 1e3
	gain := now - p.mean(row.periods)/1e3
	if ci == nil || row.queued == 0 && row.still {
		return ci
	}
	off := offStep*now + offGain*math.Abs(gain)
	if len(row.Changes) == 0 { // steps set to the typical time: nothing is predicted from rows
		off = 0
	}
	least, most := min(0, row.queued)/1e3-off, max(0, row.queued)/1e3+off
	ci[0], ci[1] = ci[0]+least, ci[1]+most
	for _, other := range [][]float64{row.keep, row.older} {
		if v := p.otherwise(other, 1e3*(now-gain), 1e3*now); v != nil {
			ci[0], ci[1] = min(ci[0], now-*v+least), max(ci[1], now-*v+most)
		}
	}
	return ci
}

// spread returns the 95 % interval of the mean gain over steps, us; nil if there are too
// few. Ranks take part in the same steps, so the gains of the n-th step of all ranks are
// one sample. If some ranks have more steps, the mean is still that over all of them.
func (p *predictor) spread(periods []float64) *[2]float64 {
	var gains []float64
	next := map[int32]int{} // by rank
	all := 0.0
	for i, c := range p.chosen {
		k := next[c.rank]
		if next[c.rank]++; k == len(gains) {
			gains = append(gains, 0)
		}
		gains[k] += (p.now[i] - periods[i]) / 1e3
		all++
	}
	for k := range gains {
		gains[k] *= float64(len(gains)) / all
	}
	var w stat.Estimator
	zero := stat.Constant(0, len(gains), float64(len(gains)))
	gain := w.Mean(gains)
	d := stat.Compare(&zero, &gain)
	if math.IsNaN(d.Lo) || math.IsInf(d.Lo, 0) || math.IsInf(d.Hi, 0) {
		return nil
	}
	if !slices.ContainsFunc(gains, func(g float64) bool { return g < 0 }) { // no step loses, so neither does their mean: gains of a few steps are far from normal
		d.Lo = max(0, d.Lo)
	}
	return &[2]float64{d.Lo, d.Hi}
}
