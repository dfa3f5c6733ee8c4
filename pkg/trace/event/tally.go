package event

import "math"

// Span is a time span in ns. It is empty if End is before Start.
type Span struct{ Start, End int64 }

// NoSpan is an empty span, the identity of Join.
var NoSpan = Span{math.MaxInt64, math.MinInt64}

// Join extends the span to cover another one.
func (s *Span) Join(o Span) { s.Start, s.End = min(s.Start, o.Start), max(s.End, o.End) }

// Since returns the span relative to origin, as headers have it; nil if it is empty.
func (s Span) Since(origin int64) (start, end *int64) {
	if s.Start > s.End {
		return nil, nil
	}
	from, to := s.Start-origin, s.End-origin
	return &from, &to
}

// Tally is what a source counts for the header: the rows of a thread, a process or a
// report. Start with NoTally, not the zero value.
type Tally struct {
	Kinds   [MaxKinds]int64   // rows by kind
	Classes [MaxClasses]int64 // rows by class
	GPU     Span              // of kernels and whole-graph rows
	Busy    Span              // the same with copies and memsets
}

// NoTally is the tally of no rows.
var NoTally = Tally{GPU: NoSpan, Busy: NoSpan}

// Join adds another tally.
func (t *Tally) Join(o *Tally) {
	for k, n := range o.Kinds {
		t.Kinds[k] += n
	}
	for c, n := range o.Classes {
		t.Classes[c] += n
	}
	t.GPU.Join(o.GPU)
	t.Busy.Join(o.Busy)
}

// Extent returns the tally as a header has it for a report, times relative to origin.
func (t *Tally) Extent(origin int64) Extent {
	e := Extent{Rows: map[string]int64{}, Classes: map[string]int64{}}
	for k, n := range t.Kinds {
		if n > 0 {
			e.Rows[Kind(k).String()] = n
		}
	}
	for _, class := range []Class{Allreduce, Launch, GraphLaunch, StepMarker} {
		e.Classes[class.String()] = t.Classes[class]
	}
	e.GPUStart, e.GPUEnd = t.GPU.Since(origin)
	e.BusyStart, e.BusyEnd = t.Busy.Since(origin)
	return e
}

// Facts returns the counted fields of a rank's facts, times relative to origin.
func (t *Tally) Facts(rank int32, origin int64) RankFacts {
	f := RankFacts{
		Rank: rank, Kernels: t.Kinds[Kernel], Graphs: t.Kinds[Graph], Allreduces: t.Classes[Allreduce],
		Markers: t.Classes[StepMarker], Launches: t.Classes[Launch], GraphLaunches: t.Classes[GraphLaunch],
	}
	f.GPUStart, f.GPUEnd = t.GPU.Since(origin)
	f.BusyStart, f.BusyEnd = t.Busy.Since(origin)
	return f
}
