package replay

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Sample makes a trace of many rows keep only those of a few windows, evenly spaced over
// the run. The mean over their steps stands for the mean over all. It does nothing
// unless the header has row counts, GPU times and an isolation. Steps that a treatment
// names (Scenario.Typical) are still taken from the whole run. Call it before the first
// Add.
func (t *Trace) Sample() {
	rows, from, to := int64(0), never, -never
	for i := range t.header.Reports {
		r := &t.header.Reports[i]
		for _, n := range r.Rows {
			rows += n
		}
		if r.GPUStart != nil && r.GPUEnd != nil {
			from, to = min(from, *r.GPUStart), max(to, *r.GPUEnd)
		}
	}
	if rows <= sampleRows || from >= to || t.header.Isolation == nil || t.header.Isolation.Method == "none" {
		return
	}
	length := int64(float64(to-from) / float64(rows) * sampleRows / sampleWindows)
	for k := range int64(sampleWindows) {
		start := from + (to-from-length)*k/(sampleWindows-1)
		t.sampled = append(t.sampled, [2]int64{start, start + length})
	}
}

// windows are the times, from and to, within which rows are kept; nil for all.
type windows [][2]int64

// hold reports whether one window holds a step, from start to end, and the step before
// it, which starts at before. The replay needs that step to settle.
func (ws windows) hold(before, start, end int64) bool {
	return ws == nil || slices.ContainsFunc(ws, func(w [2]int64) bool { return w[0] <= before && start >= before && end <= w[1] })
}

// kept returns how many rows from i on, up to j, are in a window, or with ok false, in
// none.
func (ws windows) kept(b *event.Batch, i, j int) (n int, ok bool) {
	start := b.Start.Values[i]
	until := int64(never)
	for _, w := range ws {
		switch {
		case start < w[0]:
			until = min(until, w[0])
		case start < w[1]:
			ok, until = true, w[1]
		}
		if ok {
			break
		}
	}
	n, _ = slices.BinarySearchFunc(b.Start.Values[i:j], until, func(a, b int64) int { return cmp.Compare(a, b) })
	return max(n, 1), ok
}

// skip adds the step rows of a stretch, and only counts the others.
func (t *Trace) skip(b *event.Batch, i, j int, process int32) {
	for ; i < j; i++ {
		if kind := b.Kind.Values[i]; kind == event.Step || kind == event.Window {
			t.addStep(b, i, process, t.ordinal)
		}
		t.ordinal++
	}
}

// ofAll predicts the gain if the given steps took as long as the others. The mean is over
// all steps of the benchmark segments, not only over the chosen ones.
func (p *predictor) ofAll(steps map[int32]map[int]bool) Prediction {
	p = &predictor{t: p.t}
	for k, r := range p.t.ranks {
		if r == nil {
			continue
		}
		from, to := r.BenchmarkSteps()
		for n, s := range r.Steps.Between(from, to) {
			p.chosen = append(p.chosen, chosen{rank: p.t.processes[k], number: n, phase: s.Phase, tokens: -1})
			p.now = append(p.now, float64(s.Period()))
		}
	}
	row := predicted{periods: slices.Clone(p.now)}
	p.typical(steps, row.periods)
	return p.prediction(&row)
}
