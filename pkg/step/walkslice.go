package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Accumulator measures a rank along a Walker, which calls it thus:
//
//	NewWalker   Begin
//	a cut       End, Begin
//	a step row  End, EndStep of the step before (if any), Step, Begin
//	Finish      End, EndStep (if any)
//
// and hands it the rows between by Rows. So an accumulator credits what it
// measured since Begin to what the slice belongs to whenever End is called: to
// nothing (Outside), to the step Slice.Step (InStep), to a pending sum of its own
// (Pending), and besides to the trace where Slice.Trace is set. EndStep tells
// whose the pending sum is. Spans that go on after the end of a slice (a kernel,
// a range) are the accumulator's to split there.
//
// Slices are in order, without gaps, from the beginning of time to its end
// (the smallest and the largest int64); they are empty only where several steps,
// or a step and its end, are at one time. A step's first slice begins InStep at
// its start unless that was not recorded.
type Accumulator interface {
	// Rows observes rows i to j of b, at least one. All start in the slice under
	// way, in order, and none is a step or a window row.
	Rows(b *event.Batch, i, j int)
	// Begin begins a slice, End ends it at t: all rows that start before t were
	// observed, and none other. Time t of the last slice is the end of time.
	Begin(s Slice)
	End(s Slice, t int64)
	// Step begins step k of RankSteps.Steps, whose row is row i of b.
	Step(b *event.Batch, i, k int)
	// EndStep ends step k, of which everything is known now. What was Pending
	// since it began belongs to owner.
	EndStep(k int, owner Owner)
}

// Slice is a stretch of time of a rank that belongs to one thing.
type Slice struct {
	Start int64 // ns
	Place Place // what it belongs to
	// Step is the open step's index in RankSteps.Steps, -1 where Place is
	// Outside.
	Step int32
	// Trace reports whether it is in the window of the trace; never where that was
	// not asked for.
	Trace bool
	// Unrecorded tells that nothing was recorded, which puts it outside of
	// everything. What starts there all the same counts for nothing.
	Unrecorded bool
}

// Place says what a slice belongs to.
type Place uint8

const (
	Outside Place = iota // no step: before the first, or not recorded
	InStep               // the period of a step
	Pending              // after the latest end of the open segment's steps so far
)

// Owner is what pending time turns out to belong to.
type Owner uint8

const (
	NoOwner   Owner = iota // nothing: no step follows
	StepOwner              // the period of the step that ends
	GapOwner               // the gap between its segment and the next one
)

// Unknown stands for a number of requests that is not known.
const Unknown = -1

// RankSteps is the steps of a rank.
type RankSteps struct {
	Rank     int32     // its number in the stream
	Steps    Steps     // in order
	Segments []Segment // in order
	// Window is what the window row says, nil before it came.
	Window *Window
	// Unclear: the steps could not be identified, and what Steps and Segments hold is no
	// evidence.
	Unclear bool
}

// Step is a step of a rank.
type Step struct {
	// Start and End are its extent, Start and Until its period, ns. Until is not
	// known before the step has ended.
	Start, End, Until int64
	// Unrecorded is how much of the period was not recorded, ns.
	Unrecorded int64
	// Ctx and Gen are its numbers of context and generation requests, or
	// Unknown.
	Ctx, Gen int64
	Phase    event.Phase // Context, Generation or Unknown
	Segment  int32       // its index in RankSteps.Segments
	Work     Work        // where that was asked for
	// Whole tells that the period is whole: it ends where the next step of the
	// segment begins, and all of it was recorded. That of the last step of a
	// segment ends with the segment.
	Whole bool
}

// Period is the length of the step's period, ns, without what was not recorded.
func (s *Step) Period() int64 { return s.Until - s.Start - s.Unrecorded }

// Segment is a number of steps without a long idle stretch between them.
type Segment struct {
	// Number is what the stream calls it: some may be missing where rows were
	// chosen.
	Number int64
	// First is the index of its first step, Steps their number.
	First, Steps int
	// Start is that of its first step, End the latest end of its steps, ns.
	Start, End int64
	apart      int64 // how much of the time since the segment before was not recorded
}

// Window is the benchmark window of a rank.
type Window struct {
	Start, End int64 // ns
	CommonSize int64 // the most frequent size of steps
	// UnlikeMarkers tells that forward-step markers show other iterations than these, of more than
	// a tenth: of steps found by markers so many hold one more, which has none. The window row
	// has the class step then.
	UnlikeMarkers bool
	Steps         int64 // of the rank when they were identified, before any choice
	segment       int64 // number of the benchmark segment, -1: none
}

// Benchmark returns the index of the benchmark segment, -1 where there is none,
// or none whose steps the rows hold: then all steps count.
func (r *RankSteps) Benchmark() int {
	if r.Window == nil || r.Window.segment < 0 {
		return -1
	}
	return slices.IndexFunc(r.Segments, func(s Segment) bool { return s.Number == r.Window.segment })
}

// BenchmarkSteps returns the indices, from and to, of the steps that count: those
// of the benchmark segment, or all.
func (r *RankSteps) BenchmarkSteps() (from, to int) {
	if k := r.Benchmark(); k >= 0 {
		s := &r.Segments[k]
		return s.First, s.First + s.Steps
	}
	return 0, r.Steps.Len()
}

// Steady returns the indices of the steady steps: of the steps that count those
// without context requests and with the most generation requests, or where numbers
// of requests are not known all that are no context steps. Steps whose period is not whole are
// left out first, unless nothing else is left.
func (r *RankSteps) Steady() []int {
	if steady := r.steady(func(s *Step) bool { return s.Whole }); len(steady) > 0 {
		return steady
	}
	return r.steady(func(*Step) bool { return true })
}

// steady returns the steady ones among the steps that count and that keep admits.
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
