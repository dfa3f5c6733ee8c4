package gap

import (
	"cmp"
	"iter"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// view is a rank in its window.
type view struct {
	*rank
	end      int64      // of the window: what is idle until then is tail
	segments []*segment // that the window holds; of the trace, the trace
	from, to int        // the steps that count
	steps    int64      // how many these are
	only     int32      // the segment that they are of, -1: all
	unplaced bool       // it is not known of nearly all runs on which CPU they were
}

// views returns the ranks that have a window, in order.
// Without a benchmark segment all of a rank's segments count, with the time between them.
func (c *computer) views() []*view {
	var all []*view
	for _, r := range c.ranks {
		v := &view{rank: r, only: int32(r.walk.Benchmark())}
		v.from, v.to = r.walk.BenchmarkSteps()
		v.steps = int64(v.to - v.from)
		switch _, end, ok := r.walk.TraceWindow(); {
		case c.wholeTrace && ok:
			v.end = end
			v.segments = []*segment{&r.trace}
		case c.wholeTrace, v.steps == 0:
			continue
		case v.only >= 0:
			v.segments = []*segment{&r.segments[v.only]}
		default:
			for k := range r.segments {
				v.segments = append(v.segments, &r.segments[k])
			}
			v.segments = append(v.segments, &r.between)
		}
		if !c.wholeTrace {
			v.end = v.stepsEnd()
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *view) int { return cmp.Compare(a.id, b.id) })
	return all
}

// stepsEnd is the end of the segment whose steps count, or of the last one.
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

// counted goes through the steps that count, with their indices.
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

// eachTotal calls f with the idle time in the window, by scope and site.
func (v *view) eachTotal(f func(of *scope, t *idle.Total)) {
	v.idle.EachTotal(v.end, func(t idle.Total) {
		if of := &v.scopes[t.Group]; v.has(of) {
			f(of, &t)
		}
	})
}

// eachStepTotal calls f with the idle time in the periods of the steps that count,
// by scope and site.
func (v *view) eachStepTotal(f func(of *scope, t *idle.Total)) {
	v.idle.EachTotal(v.stepsEnd(), func(t idle.Total) {
		if of := &v.scopes[t.Group]; v.ofStep(of) {
			f(of, &t)
		}
	})
}

// eachStepSample calls f with the idle time in the periods of the steps that count,
// by step; without sites.
func (v *view) eachStepSample(f func(k int32, s *idle.Sample)) {
	v.idle.Each(v.stepsEnd(), func(s idle.Sample) {
		if k := v.slices[s.Slice].step; k >= 0 && v.inWindow(k) {
			s.Key = v.c.sites.WithoutSite(s.Key)
			f(k, &s)
		}
	})
}

// started returns what started in the window.
func (v *view) started() (n Counts) {
	for k := range v.scopes {
		if v.has(&v.scopes[k]) {
			n.Add(&v.sums[k].started)
		}
	}
	return n
}

// slice is a stretch of a rank's time that belongs to one step, to the gap between
// two segments, or to nothing.
type slice struct {
	step  int32 // -1: none
	scope int32 // its index in rank.scopes
}

// scope is what windows can hold of a rank, and idle time is added up for.
type scope struct {
	segment int32       // index of the segment whose step it is, or one of the following
	phase   event.Phase // of the step, noPhase where there is none
	trace   bool        // in the window of the trace, where that was asked for
}

// scopeSum is what was measured in all slices of a scope; of one that no window holds it
// means nothing.
type scopeSum struct {
	started Counts
	ns      int64 // how long they are together
}

// What is not part of a step.
const (
	outside = -1 - iota // before the first step, after the last, or not recorded
	between             // between two segments
)

// noPhase is the phase of what is in no step.
const noPhase event.Phase = 3

// scopeOf returns the scope of a slice that begins; that of a pending one will be
// known later.
func (r *rank) scopeOf(s step.Slice) int32 {
	of := scope{segment: outside, phase: noPhase, trace: s.Trace}
	if s.Place == step.InStep {
		one := r.walk.Steps.Last()
		of.segment, of.phase = one.Segment, one.Phase
	}
	return r.scopeID(of)
}

// scopeID returns the index of a scope, which was used lately as a rule.
func (p *scoped) scopeID(s scope) int32 {
	for k := len(p.scopes) - 1; k >= 0; k-- {
		if p.scopes[k] == s {
			return int32(k)
		}
		if s.segment >= 0 && p.scopes[k].segment >= 0 && p.scopes[k].segment < s.segment {
			break
		}
	}
	p.scopes, p.sums = append(p.scopes, s), append(p.sums, scopeSum{})
	return int32(len(p.scopes) - 1)
}

// groupOf returns the group of slices of a scope: none where no window can hold them.
func (p *scoped) groupOf(id int32) int {
	if s := &p.scopes[id]; s.segment == outside && !s.trace {
		return idle.NoGroup
	}
	return int(id)
}
