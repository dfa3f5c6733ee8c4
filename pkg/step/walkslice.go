package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Accumulator measures a rank along a Walker, which calls it in this order:
//
//	NewWalker   Begin
//	a cut       End, Begin
//	a step row  End, EndStep of the step before (if any), Step, Begin
//	Finish      End, EndStep (if any)
//
// and passes it the rows in between by Rows. At each End, an accumulator attributes what
// it measured since Begin. It goes to nothing (Outside), to the step Slice.Step
// (InStep), or to a pending sum of its own (Pending). It also goes to the trace if
// Slice.Trace is set. EndStep says who owns the pending sum. The accumulator must split
// spans that extend beyond the end of a slice (a kernel, a range) there.
//
// Slices are in order, without gaps, from the smallest to the largest int64. They are
// empty only where several steps, or a step and its end, coincide. The first slice of a
// step is InStep and begins at its start, unless that was not recorded.
type Accumulator interface {
	// Rows observes rows i to j of b, at least one. All start in the current slice, in
	// order. None is a step or a window row.
	Rows(b *event.Batch, i, j int)
	// Begin begins a slice and End ends it at t: exactly the rows that start before t
	// have been observed. For the last slice t is the largest int64.
	Begin(s Slice)
	End(s Slice, t int64)
	// Step begins step k of RankSteps.Steps. Its row is row i of b.
	Step(b *event.Batch, i, k int)
	// EndStep ends step k, which is then complete. What was Pending since it began
	// belongs to owner.
	EndStep(k int, owner Owner)
}

// Slice is a stretch of time of a rank with one attribution.
type Slice struct {
	Start int64 // ns
	Place Place // its attribution
	// Step is the index of the open step in RankSteps.Steps, -1 if Place is Outside.
	Step int32
	// Trace reports whether it is in the trace window; false unless WalkOptions.Trace is
	// set.
	Trace bool
	// Unrecorded says that nothing was recorded; Place is then Outside. Rows that start
	// in it all the same do not count.
	Unrecorded bool
}

// Place is the attribution of a slice.
type Place uint8

const (
	Outside Place = iota // no step: before the first, or not recorded
	InStep               // the period of a step
	Pending              // after the latest end of the open segment's steps so far
)

// Owner is what pending time turned out to belong to.
type Owner uint8

const (
	NoOwner   Owner = iota // nothing: no step follows
	StepOwner              // the period of the step that ends
	GapOwner               // the gap between its segment and the next one
)

// Unknown stands for an unknown number of requests.
const Unknown = -1

// RankSteps are the steps of a rank.
type RankSteps struct {
	Rank     int32     // its number in the stream
	Steps    Steps     // in order
	Segments []Segment // in order
	// Window is the window row, nil before it has come.
	Window *Window
	// Unclear says that the steps could not be identified: Steps and Segments must not
	// be used as evidence.
	Unclear bool
}

// Step is a step of a rank.
type Step struct {
	// Start to End is the extent, Start to Until the period, ns. Until is not known
	// before the step has ended.
	Start, End, Until int64
	// Unrecorded is how much of the period was not recorded, ns.
	Unrecorded int64
	// Ctx and Gen are the numbers of context and generation requests, or Unknown.
	Ctx, Gen int64
	Phase    event.Phase // Context, Generation or Unknown
	Segment  int32       // index in RankSteps.Segments
	Work     Work        // zero unless WalkOptions.Work
	// Whole says that the period ends where the next step of the segment begins, and all
	// of it was recorded. The period of the last step of a segment ends with the segment
	// and is not whole.
	Whole bool
}

// Period returns the length of the period, ns, without unrecorded time.
func (s *Step) Period() int64 { return s.Until - s.Start - s.Unrecorded }

// Segment is a sequence of steps without a long idle stretch between them.
type Segment struct {
	// Number is its number in the stream. Numbers may be missing if rows were filtered.
	Number int64
	// First is the index of its first step, Steps the number of steps.
	First, Steps int
	// Start is the start of its first step, End the latest end of its steps, ns.
	Start, End int64
	apart      int64 // unrecorded time since the end of the segment before, ns
}

// Window is the benchmark window of a rank.
type Window struct {
	Start, End int64 // ns
	CommonSize int64 // the most frequent Size of steps
	// UnlikeMarkers says that forward-step markers, or what is launched between them,
	// show other iterations than more than a tenth of these steps. The window row then
	// has the class step.
	UnlikeMarkers bool
	Steps         int64 // number of the rank's steps when they were identified, before any filter
	segment       int64 // number of the benchmark segment, -1 for none
}

// Benchmark returns the index of the benchmark segment, -1 if there is none or its steps
// were filtered out: then all steps count.
func (r *RankSteps) Benchmark() int {
	if r.Window == nil || r.Window.segment < 0 {
		return -1
	}
	return slices.IndexFunc(r.Segments, func(s Segment) bool { return s.Number == r.Window.segment })
}

// BenchmarkSteps returns the range of indices, from inclusive, to exclusive, of the
// steps that count: those of the benchmark segment, or all.
func (r *RankSteps) BenchmarkSteps() (from, to int) {
	if k := r.Benchmark(); k >= 0 {
		s := &r.Segments[k]
		return s.First, s.First + s.Steps
	}
	return 0, r.Steps.Len()
}

// Steady returns the indices of the steady steps. Of the steps that count these are the
// ones without context requests and with the most generation requests, or if numbers are
// unknown, all but context steps. Steps whose period is not whole are used only if no
// others are left.
func (r *RankSteps) Steady() []int {
	if steady := r.steady(func(s *Step) bool { return s.Whole }); len(steady) > 0 {
		return steady
	}
	return r.steady(func(*Step) bool { return true })
}

// steady returns the steady steps among the steps that count and for which keep returns
// true.
func (r *RankSteps) steady(keep func(*Step) bool) (steady []int) {
	from, to := r.BenchmarkSteps()
	counted, most := false, int64(Unknown)
	for _, s := range r.Steps.Between(from, to) {
		if keep(&s) {
			counted = counted || s.Ctx != Unknown
			if s.Ctx == 0 {
				most = max(most, s.Gen)
			}
		}
	}
	for i, s := range r.Steps.Between(from, to) {
		if keep(&s) && (counted && s.Ctx == 0 && s.Gen == most || !counted && s.Phase != event.Context) {
			steady = append(steady, i)
		}
	}
	return steady
}
