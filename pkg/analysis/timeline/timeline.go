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

// MaxEvents is how many events of a step are kept.
const MaxEvents = 1 << 16

// MaxNumbers is how many steps are kept by their number, over all ranks.
const MaxNumbers = 8

// None stands for a number that is not known.
const None = int64(math.MinInt64)

// Options say which steps to keep.
type Options struct {
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Worst is how many of the steps with the most idle time are kept, Spread how many
	// others of the first rank, by chance.
	Worst, Spread int
	// Slowest has the worst be those with the longest periods.
	Slowest bool
	// Numbers are steps that are kept in any case, MaxNumbers of them at most.
	Numbers []int64
}

// Timeline is the steps that were kept.
type Timeline struct {
	// Steps are in the order of their ranks and starts.
	Steps []*Step
	// Seen is how many steps they were chosen from.
	Seen int
}

// Step is what happened in a step of a rank.
type Step struct {
	Rank   int32       // number of the rank
	Number int64       // of the step in the stream, -1 where the stream has no steps
	Phase  event.Phase // Unknown where nothing says
	Start  int64       // ns, of its period
	Until  int64       // ns, where its period ends
	Idle   int64       // ns, over the rank's GPUs
	Asked  bool        // it is kept for its number
	Worst  int         // its place among the worst steps, from 1; 0 where it is none of them

	Names  []string // as in the trace: hostile
	Events []Event  // in the order of their start, of equal starts the longer first
	Gaps   []Gap    // in no order
	Waits  []Gap    // in collectives, likewise: the GPU is busy, and its cause is the late rank's
	Left   int      // events beyond MaxEvents, which are not here

	weight int64 // what makes it one of the worst
	refs   int   // keepers that hold it
}

// Event is a row of the trace.
type Event struct {
	Start, End  int64       // ns
	Kind        event.Kind  // as in the stream
	Class       event.Class // -1 for none
	Name        int32       // in Step.Names
	Device      int32       // of GPU rows
	Stream      int64       // of GPU rows, None where it is not known
	Thread      int64       // of host rows, None where it is not known
	Correlation int64       // of calls and GPU rows, else None
	Launch      int32       // of GPU rows the index of the launching call in Step.Events, -1 where it is not there
	Replayed    bool        // a CUDA graph ran it

	launched int64 // start of the launching call, None where it is not known
}

// Gap is a stretch of time in which a GPU is idle, or waits in a collective, for one reason.
type Gap struct {
	Device     int32  // number of the GPU that waits
	Start, End int64  // ns
	Cause      string // of section "Causes" of package idle
	Site       string // the call or kernel that it arose in, "" for none
	Path       string // the ranges around that, the outermost first, "" for none
	Late       string // of a wait in a collective: what is late, as "for rank 2"
	Why        string // why the thread did not go on (idle (hoststate.go)), "" where nobody asked
}
