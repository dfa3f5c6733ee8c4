package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// The state of a machine (clocks, neighbours, placement) changes all host work of a step
// by one factor. In each step it is a median over operations: of the deviation of the
// logarithm of an operation's own time from its level. The operations are those that
// occur in nearly all steps of both sides and share the factor. They are the largest
// group whose changes from run to run agree within their intervals. (Over all
// operations, if most changed, the median would lie at the edge of those that did not.)
// So a change of the machine changes this factor, and a change of an operation changes
// its time net of the factor.

// common is an operation that may share the common factor.
type common struct {
	row *Row
	// Logarithms by side and bin: of its own time, and of its whole time.
	self, all [2][]float64
	moved     stat.Difference // of self, net of the other operations
}

// commonFactor tests the common operations net of their common factor. It returns the
// row of the factor, nil if there is none.
func (t *tester) commonFactor() *Row {
	if t.target == nil || !t.Comparable {
		return nil
	}
	all := t.common()
	if len(all) < commonOperations {
		return nil
	}
	sharing := t.sharing(all)
	if len(sharing) == 0 {
		return nil
	}
	var steps [2]deviations
	var factor [2][]float64
	for k := range steps {
		steps[k] = deviationsOf(sharing, k, func(c *common) float64 { return (meanOf(c.self[0]) + meanOf(c.self[1])) / 2 })
		factor[k] = steps[k].medians()
	}
	base := 0.0
	for _, c := range all {
		base += *c.row.Self.Baseline
		d := t.compareBins(less(c.all[0], steps[0].ofOthers(c)), less(c.all[1], steps[1].ofOthers(c)))
		e := &c.row.Evidence
		e.P, e.effective, e.Unknown, c.row.Relative = number(d.P), d.Effective, "", number(100*math.Expm1(d.Delta))
		t.tell(e)
	}
	d := t.compareBins(factor[0], factor[1])
	r := &Row{Name: hostWork, Baseline: &base, Target: number(base * math.Exp(d.Delta))}
	t.difference(r, inTime(d, base))
	if r.Detectable = nil; r.CI != nil && r.CI[0] <= -base {
		r.P, r.CI, r.Unknown = nil, nil, fmt.Sprintf("it varies by too much for an interval from %d and %d runs; more would tell", t.Runs.Baseline, t.Runs.Target)
	}
	return r
}

// inTime converts a change of a logarithm to one of a time, base being the time before.
// The interval is scaled in proportion: with few degrees of freedom, the exponential of
// a bound is meaningless.
func inTime(d stat.Difference, base float64) stat.Difference {
	change := base * math.Expm1(d.Delta)
	slope := base
	if d.Delta != 0 {
		slope = change / d.Delta
	}
	d.Delta, d.Lo, d.Hi = change, slope*d.Lo, slope*d.Hi
	return d
}

// common returns the operations that occur in nearly all steps of both sides.
func (t *tester) common() (all []*common) {
	for i := range t.Operations {
		c := &common{row: &t.Operations[i]}
		a, b := t.base.rows[operations][c.row.Name], t.target.rows[operations][c.row.Name]
		if a == nil || b == nil || min(a.present, b.present) < commonSteps || !(a.parts[self].Mean > 0) || !(b.parts[self].Mean > 0) {
			continue
		}
		for k, one := range []*item{a, b} {
			c.self[k], c.all[k] = logarithms(one.selfBins), logarithms(one.bins)
		}
		all = append(all, c)
	}
	return all
}

// sharing returns the operations that share a factor: the largest group whose intervals
// contain the same change, of equally large groups the one that changed least. It is nil
// if no two agree.
func (t *tester) sharing(all []*common) (most []*common) {
	var steps [2]deviations
	for k := range steps {
		steps[k] = deviationsOf(all, k, func(c *common) float64 { return meanOf(c.self[k]) })
	}
	changes := []float64{0}
	for _, c := range all {
		c.moved = t.compareBins(less(c.self[0], steps[0].ofOthers(c)), less(c.self[1], steps[1].ofOthers(c)))
		changes = append(changes, c.moved.Delta)
	}
	slices.SortFunc(changes, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for _, change := range changes {
		agree := slices.DeleteFunc(slices.Clone(all), func(c *common) bool { return !(c.moved.Lo <= change && change <= c.moved.Hi) })
		if len(agree) > max(1, len(most)) {
			most = agree
		}
	}
	return most
}

// compareBins compares the means of one value per bin on each side.
func (t *tester) compareBins(x, y []float64) stat.Difference {
	a, b := t.base.samples.ofBins(x), t.target.samples.ofBins(y)
	return stat.Compare(&a, &b)
}

// deviations are the distances of operations from their levels, in the bins of one side.
type deviations struct {
	side  int
	level func(*common) float64
	bins  [][]float64 // of all operations, ascending, by bin
}

func deviationsOf(all []*common, side int, level func(*common) float64) deviations {
	d := deviations{side, level, make([][]float64, len(all[0].self[side]))}
	for _, c := range all {
		from := level(c)
		for b, v := range c.self[side] {
			d.bins[b] = append(d.bins[b], v-from)
		}
	}
	for b, some := range d.bins {
		d.bins[b] = slices.Sorted(slices.Values(numbers(some)))
	}
	return d
}

// medians returns the median over all operations, by bin.
func (d *deviations) medians() []float64 {
	x := make([]float64, len(d.bins))
	for b, some := range d.bins {
		x[b] = stat.Quantile(some, 0.5)
	}
	return x
}

// ofOthers returns the medians without an operation: the median operation would not vary
// net of itself.
func (d *deviations) ofOthers(c *common) []float64 {
	x, from := d.medians(), d.level(c)
	for b, v := range c.self[d.side] {
		if at, found := slices.BinarySearch(d.bins[b], v-from); found && len(d.bins[b]) > 1 {
			x[b] = stat.Quantile(slices.Concat(d.bins[b][:at], d.bins[b][at+1:]), 0.5)
		}
	}
	return x
}

// logarithms returns the logarithms of x, -Inf for 0.
func logarithms(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Log(v)
	}
	return y
}

// less returns x - y.
func less(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] - y[i]
	}
	return z
}

// numbers returns the elements of x that are neither NaN nor infinite.
func numbers(x []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

func meanOf(x []float64) float64 { return stat.Mean(numbers(x)) }
