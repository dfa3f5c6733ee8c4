package gap

import (
	"cmp"
	"iter"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// view is a rank seen through its window.
type view struct {
	*rank
	end      int64   // end of the window, ns: idle time up to it is tail
	from, to int     // the steps that count, to exclusive
	steps    int64   // to - from
	only     int32   // the segment of these steps, -1 for all
	total    []total // the idle time in the window
}

// views returns the ranks that have a window, in order. If a rank has no benchmark segment,
// all of its segments count, and the time between them.
func (c *Watch) views() []*view {
	var all []*view
	for _, r := range c.ranks {
		v := &view{rank: r, only: int32(r.walk.Benchmark())}
		v.from, v.to = r.walk.BenchmarkSteps()
		v.steps = int64(v.to - v.from)
		switch _, end, ok := r.walk.TraceWindow(); {
		case c.wholeTrace && ok:
			v.end = end
		case c.wholeTrace, v.steps == 0:
			continue
		default:
			v.end = v.stepsEnd()
		}
		v.total = v.totals(v.end, v.has)
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *view) int { return cmp.Compare(a.id, b.id) })
	return all
}

// stepsEnd returns the end of the segment whose steps count, or of the last one, in ns;
// never without segments.
func (v *view) stepsEnd() int64 {
	segments := v.walk.Segments
	if v.only >= 0 {
		return segments[v.only].End
	}
	if len(segments) == 0 {
		return never
	}
	return segments[len(segments)-1].End
}

// counted iterates over the steps that count, with their indices.
func (v *view) counted() iter.Seq2[int, step.Step] { return v.walk.Steps.Between(v.from, v.to) }

// inWindow reports whether step k counts.
func (v *view) inWindow(k int32) bool { return v.from <= int(k) && int(k) < v.to }

// has reports whether the window holds a scope.
func (v *view) has(s *scope) bool {
	if v.c.wholeTrace {
		return s.trace
	}
	return v.ofStep(s) || v.only < 0 && s.segment == between
}

// ofStep reports whether a scope is of steps that count.
func (v *view) ofStep(s *scope) bool { return s.segment >= 0 && (v.only < 0 || s.segment == v.only) }

// eachBin iterates over the bins in the window.
func (v *view) eachBin() iter.Seq[*bin] {
	return func(yield func(*bin) bool) {
		for _, b := range v.bins {
			if v.has(&b.scope) && !yield(b) {
				return
			}
		}
	}
}

// total is the idle time with one key in one phase; inter is set for that between steps.
type total struct {
	phase event.Phase
	key   idle.Key
	inter bool
	ns    int64
}

// totals adds up the idle time in the scopes that has accepts, in a window that ends at end.
// The order is random.
func (v *view) totals(end int64, has func(*scope) bool) (all []total) {
	sums := map[total]int64{}
	v.idle.Each(end, func(s idle.Sample) {
		if of := v.bins[v.slices[s.Slice].bin]; has(&of.scope) {
			sums[total{of.phase, s.Key, s.Inter, 0}] += s.Ns
		}
	})
	for t, ns := range sums {
		t.ns = ns
		all = append(all, t)
	}
	return all
}

// eachStepSample calls f with the idle time in the periods of the steps that count, by step k
// and key without site. f must not keep s.
func (v *view) eachStepSample(f func(k int32, s *idle.Sample)) {
	v.idle.Each(v.stepsEnd(), func(s idle.Sample) {
		if k := v.slices[s.Slice].step; k >= 0 && v.inWindow(k) {
			s.Key = v.c.sites.WithoutSite(s.Key)
			f(k, &s)
		}
	})
}

// started counts what started in the window.
func (v *view) started() (n Counts) {
	for b := range v.eachBin() {
		n.Add(&b.started)
	}
	return n
}
