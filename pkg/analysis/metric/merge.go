package metric

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Add adds the result of another part of the same run: other ranks, measured the same way.
// Numerators, denominators and counts add up to those of the whole.
//
// If both parts have collectives, who of one part is late for the other is unknown, so the
// metrics of waits in collectives are dropped. The median gap, the quantiles of periods and
// the intervals become null, because they need the steps of all parts side by side. Ranks of
// the other part whose numbers are taken get the next free ones. After an error the result is
// unchanged.
func (res *Result) Add(other *Result) error {
	if res.Window != other.Window || res.Method != other.Method {
		return &event.Error{
			Msg: fmt.Sprintf("cannot add metrics of window %s, steps by %q, to those of window %s, steps by %q",
				other.Window, other.Method, res.Window, res.Method),
			Advice: "measure all parts with the same options",
		}
	}
	rows, err := sumRows(res.Rows, other.Rows)
	if err != nil {
		return err
	}
	apart, err := sumRows(res.Apart, other.Apart)
	if err != nil {
		return err
	}
	warnings := append(slices.Clone(other.Warnings), noIntervals)
	if res.Collectives != nil && other.Collectives != nil {
		rows, apart = slices.DeleteFunc(rows, ofWaits), slices.DeleteFunc(apart, ofWaits)
		warnings = append(warnings, noWaits)
	}
	res.Rows, res.Apart = rows, apart
	res.addRanks(other.Ranks)
	res.addPhases(other.Phases)
	res.addSteady(other.Steady)
	res.Span = nil
	if res.Of != nil && other.Of != nil {
		res.Of = res.Of.With(other.Of)
	} else {
		res.Of = nil
	}
	if res.Source != other.Source {
		res.Source = ""
	}
	res.GPUs += other.GPUs
	res.GPUActivity = res.GPUActivity || other.GPUActivity
	res.HiddenGraphs += other.HiddenGraphs
	res.Kernels += other.Kernels
	res.Launches += other.Launches
	res.Markers += other.Markers
	res.NoSteps = res.NoSteps || other.NoSteps
	res.LostEvents = res.LostEvents || other.LostEvents
	res.StartOnly = res.StartOnly || other.StartOnly
	res.PythonFunctions += other.PythonFunctions
	res.Platform = cmp.Or(res.Platform, other.Platform)
	if res.Workload == "" || other.Workload == event.Training {
		res.Workload = other.Workload
	}
	if res.First == nil || other.First != nil && other.First.Us > res.First.Us {
		res.First = other.First
	}
	res.addPrep(other.Prep)
	res.addRequestWait(other.RequestWait)
	res.addCollectives(other.Collectives)
	for _, w := range warnings {
		if !slices.Contains(res.Warnings, w) {
			res.Warnings = append(res.Warnings, w)
		}
	}
	return nil
}

// noIntervals warns that the sum of several parts has no intervals.
const noIntervals = "parts of a run were added up, without figures per step of the whole: " +
	"ratios have no intervals, and a borderline verdict cannot be recognised"

// noWaits warns that the sum of several parts with collectives has no waits in them.
const noWaits = "parts of a run with collectives were added up, and waits between their ranks are not known: " +
	"there is no collective_wait_ratio, host_wait_ratio or host_bound_ratio. To have these, measure all reports in one call"

// ofWaits reports whether a row is of a metric that depends on waits in collectives.
func ofWaits(r Row) bool {
	return r.Metric == CollectiveWait || r.Metric == HostWait || r.Metric == HostBound
}

// addCollectives keeps the collectives of the part that has some. If both have, none are matched
// across the whole, and the result is empty.
func (res *Result) addCollectives(o *Collectives) {
	if o != nil && res.Collectives != nil {
		res.Collectives = &Collectives{}
		return
	}
	res.Collectives = cmp.Or(res.Collectives, o)
}

// addPrep keeps the preferred one of two names of input preparation.
func (res *Result) addPrep(other string) {
	for _, name := range marker.PrepNames() {
		if name == res.Prep || name == other {
			res.Prep = name
			return
		}
	}
	res.Prep = cmp.Or(res.Prep, other)
}

// addRanks adds the ranks of another part. Each part numbers its ranks from 0, so a rank whose
// number is taken gets the next free one.
func (res *Result) addRanks(others []Rank) {
	taken := make(map[int32]bool, len(res.Ranks)+len(others))
	for i := range res.Ranks {
		taken[res.Ranks[i].Rank] = true
	}
	for _, r := range others {
		for taken[r.Rank] {
			r.Rank++
		}
		taken[r.Rank] = true
		res.Ranks = append(res.Ranks, r)
	}
}

// WithApart returns the rows of a scope with the ranks whose steps could not be identified. It
// assumes that these did in the scope what they did in their windows.
func (res *Result) WithApart(scope string) ([]Row, error) {
	apart := slices.Clone(res.Apart)
	for i := range apart {
		apart[i].Scope = scope
	}
	return sumRows(slices.DeleteFunc(slices.Clone(res.Rows), func(r Row) bool { return r.Scope != scope }), apart)
}

// sumRows adds numerators and denominators, metric by metric. A scope that only one part has is
// copied. A sum that overflows is an error.
func sumRows(one, others []Row) (rows []Row, err error) {
	for _, scope := range Scopes {
		sum, parts := make([]Row, 0, len(Names)), 0
		for m, name := range Names {
			r := Row{Scope: scope, Metric: name}
			n := 0
			for _, part := range [][]Row{one, others} {
				for _, o := range part {
					if o.Scope == scope && o.Metric == name {
						if !r.add(&o) {
							return nil, fmt.Errorf("%s of scope %s does not add up: the sum takes more than 64 bits", name, scope)
						}
						n++
					}
				}
			}
			// Rows written by earlier versions may lack a metric, and so may sums without waits.
			// Then the sum lacks it, too.
			if parts = max(parts, n); n > 0 && (m < baseRows || n == parts) {
				sum = append(sum, r)
			}
		}
		if len(sum) >= baseRows {
			applicable(sum)
			rows = append(rows, sum...)
		}
	}
	return rows, nil
}

// baseRows is the number of metrics that rows of every version have.
const baseRows = 10

// add adds another row of the same metric. It reports false, and changes nothing, if a sum would
// overflow.
func (r *Row) add(o *Row) bool {
	n, d := r.Numerator+o.Numerator, r.Denominator+o.Denominator
	if (n < r.Numerator) != (o.Numerator < 0) || (d < r.Denominator) != (o.Denominator < 0) {
		return false
	}
	r.Numerator, r.Denominator = n, d
	return true
}

// addPhases adds up the steps of phases. Ranks of two parts run the same iterations, so the
// larger number of iterations counts.
func (res *Result) addPhases(others []Phase) {
	for _, o := range others {
		k := slices.IndexFunc(res.Phases, func(p Phase) bool { return p.Phase == o.Phase })
		if k < 0 {
			res.Phases = append(res.Phases, o)
			continue
		}
		p := &res.Phases[k]
		p.P50, p.P90 = nil, nil
		p.Iterations = max(p.Iterations, o.Iterations)
		p.Steps += o.Steps
		p.Replayed += o.Replayed
		p.Kernels += o.Kernels
	}
	slices.SortFunc(res.Phases, func(a, b Phase) int {
		return slices.Index(Scopes, a.Phase) - slices.Index(Scopes, b.Phase)
	})
}

// addSteady computes the means over the steps of both parts. A median does not follow from two
// medians, and the mean number of kernels needs that of both.
func (res *Result) addSteady(o *Steady) {
	switch {
	case o == nil:
	case res.Steady == nil:
		res.Steady = o
	default:
		s := res.Steady
		n := float64(s.Steps + o.Steps)
		s.Wall = (s.Wall*float64(s.Steps) + o.Wall*float64(o.Steps)) / n
		if s.Kernels != nil && o.Kernels != nil {
			s.Kernels = new((*s.Kernels*float64(s.Steps) + *o.Kernels*float64(o.Steps)) / n)
		} else {
			s.Kernels = nil
		}
		s.Steps += o.Steps
		s.GapP50 = nil
	}
}
