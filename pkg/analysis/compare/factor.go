package compare

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// The state of a machine (clocks, neighbours, placement) moves all host work of a step by one
// factor. Within a run it is the median, over the operations that come in nearly all steps of
// both sides, of how far the logarithm of each one's own time in the step lies from its mean; from
// run to run it is the median of by how much those means differ. So a change of the machine
// moves this factor, and a change of an operation what is left of it without the factor. (The
// median over operations of the differences from one level for both runs would be biased
// where most operations changed: those that did not would then be at its edge in every step.)

// common are the operations that have a part in the common factor, in order.
func (t *tester) common() (rows []*Row) {
	for i := range t.Operations {
		r := &t.Operations[i]
		if a, b := t.base.rows[operations][r.Name], t.target.rows[operations][r.Name]; a != nil && b != nil &&
			min(a.present, b.present) >= commonSteps && a.self.mean > 0 && b.self.mean > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// commonFactor tests the common operations beside their common factor, and returns the row of
// that; ok is false where there is none.
func (t *tester) commonFactor() (r Row, ok bool) {
	if t.target == nil || !t.Comparable || len(t.base.samples.weight) > 1 {
		return r, false
	}
	rows := t.common()
	if len(rows) < commonOperations {
		return r, false
	}
	base := 0.0
	var self, all [2][][]float64 // by side, operation and bin
	for k, s := range t.sides() {
		for _, r := range rows {
			one := s.rows[operations][r.Name]
			self[k], all[k] = append(self[k], logarithms(one.selfBins)), append(all[k], logarithms(one.bins))
		}
	}
	moved := make([]float64, len(rows))
	for i, r := range rows {
		base += *r.Self.Baseline
		moved[i] = meanOf(self[1][i]) - meanOf(self[0][i])
	}
	// By how much the factor of each bin differs from that of the baseline.
	var factor [2][]float64
	for k := range self {
		factor[k] = factorOf(self[k], float64(k)*medianOf(moved))
	}
	for i, r := range rows {
		var of [2]stat.Estimate
		for k, s := range t.sides() {
			for b, f := range factor[k] {
				all[k][i][b] -= f
			}
			of[k] = s.samples.ofBins(all[k][i])
		}
		d := stat.Compare(&of[0], &of[1])
		r.P, r.effective, r.Unknown, r.Relative = number(d.P), d.Effective, "", number(100*math.Expm1(d.Delta))
		t.tell(&r.Evidence)
	}
	x, y := t.base.samples.ofBins(factor[0]), t.target.samples.ofBins(factor[1])
	d := stat.Compare(&x, &y)
	for _, v := range []*float64{&d.Delta, &d.Lo, &d.Hi} {
		*v = base * math.Expm1(*v)
	}
	r = Row{Name: hostWork, Baseline: &base, Target: number(base + d.Delta)}
	t.difference(&r, d)
	r.Detectable = nil
	return r, true
}

// logarithms are those of x, NaN where it is 0.
func logarithms(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		if y[i] = math.NaN(); v > 0 {
			y[i] = math.Log(v)
		}
	}
	return y
}

// numbers are those of x that are some.
func numbers(x []float64) []float64 { return slices.DeleteFunc(slices.Clone(x), math.IsNaN) }

func meanOf(x []float64) float64 { return stat.Mean(numbers(x)) }

func medianOf(x []float64) float64 {
	some := numbers(x)
	slices.Sort(some)
	return stat.Quantile(some, 0.5)
}

// factorOf is the median, in each bin, of how far operations lie from their means, with
// mean shift.
func factorOf(logs [][]float64, shift float64) []float64 {
	f, one := make([]float64, len(logs[0])), make([]float64, len(logs))
	for _, row := range logs {
		level := meanOf(row)
		for b := range row {
			row[b] -= level
		}
	}
	for b := range f {
		for i, row := range logs {
			one[i] = row[b]
		}
		f[b] = medianOf(one)
	}
	level := meanOf(f)
	for b := range f {
		f[b] += shift - level
	}
	return f
}
