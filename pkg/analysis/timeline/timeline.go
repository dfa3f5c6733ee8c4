// Package timeline keeps everything that happened in a few steps of a run, so that it
// can be drawn: the spans of host threads, the rows of GPU streams with the calls that
// launched them, and the idle time of each GPU by cause.
//
// # Which steps
//
// A step here is one of one rank, for its period. The worst steps are those with the most
// idle time over the rank's GPUs, or the longest; of equal ones the earlier counts. They
// are taken from each rank's last segment of five steps or more, which is nearly always
// that of its benchmark window, or from all its steps if the window is another segment.
// Spread steps are drawn at random from the first rank's, always the same ones, so that
// some are typical. A stream without steps is one step of number -1: its trace. If the
// steps of a stream turn out, at its end, not to be identifiable, none are kept.
//
// # What of a step is kept
//
// The rows that start in its period, those that were open when it began, and the calls
// before it that launched what it ran: the first MaxEvents of them. Idle time is that of
// package idle, cut to the period: the parts of a GPU add up to its idle time. The parts
// of a gap are in order, unless the gap is so long that package idle knows some of its
// parts only as sums.
//
// For collectives it also keeps how long the GPU waits in them and what the late rank did
// meanwhile (package collective): the GPU is busy then, and does no work.
//
// Memory is that of the steps kept, at most about 9 MB each, and three times as many
// while the stream is read.
package timeline

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
	"math"
)

// MaxEvents is the largest number of events kept of a step.
const MaxEvents = 1 << 16

// MaxNumbers is the largest number of steps kept by number, over all ranks.
const MaxNumbers = 8

// None stands for an unknown number.
const None = int64(math.MinInt64)

// Options say which steps to keep.
type Options struct {
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Worst is the number of steps with the most idle time to keep, over all ranks.
	// Spread is the number of steps of the first rank to sample at random.
	Worst, Spread int
	// Slowest makes the longest steps the worst, instead of those with the most idle
	// time.
	Slowest bool
	// Numbers are the numbers of steps to keep in any case; at most MaxNumbers steps are
	// kept for them.
	Numbers []int64
}

// Timeline is the steps that were kept.
type Timeline struct {
	// Steps are sorted by rank, then start.
	Steps []*Step
	// Seen is the number of steps that they were chosen from.
	Seen int
}

// Step is everything that happened in a step of a rank.
type Step struct {
	Rank   int32       // number of the rank
	Number int64       // number of the step in the stream, -1 if the stream has no steps
	Phase  event.Phase // Unknown if it is not known
	Start  int64       // ns, start of its period
	Until  int64       // ns, end of its period
	Idle   int64       // ns, over the rank's GPUs
	Asked  bool        // kept for its number
	Worst  int         // place among the worst steps, from 1; 0 if it is not one

	Names  []string // as in the trace: untrusted
	Events []Event  // by start, then the longer first
	Gaps   []Gap    // idle time, in no order
	Waits  []Gap    // waits in collectives, likewise: the GPU is busy, and the cause is the late rank's
	Left   int      // number of events beyond MaxEvents, which are missing

	weight int64 // sort key of the worst
	refs   int   // number of keepers that hold it
}

// Event is a row of the trace.
type Event struct {
	Start, End  int64       // ns
	Kind        event.Kind  // as in the stream
	Class       event.Class // -1 for none
	Name        int32       // index in Step.Names
	Device      int32       // of GPU rows
	Stream      int64       // of GPU rows, None if unknown
	Thread      int64       // of host rows, None if unknown
	Correlation int64       // of calls and GPU rows, else None
	Launch      int32       // of GPU rows: index of the launch call in Step.Events; -1 if it is not there, and for host rows
	Replayed    bool        // part of a CUDA graph replay

	launched int64 // start of the launch call, None if unknown
}

// Gap is a time slice in which a GPU is idle, or waits in a collective, for one cause.
type Gap struct {
	Device     int32  // the GPU that waits
	Start, End int64  // ns
	Cause      string // as in section "Causes" of package idle
	Site       string // the call or kernel, "" for none
	Path       string // the open ranges, outermost first, "" for none
	Late       string // of a wait in a collective: what is late, such as "for rank 2"
	Why        string // why the thread was stalled (hoststate.go of package idle), "" if unknown
}
