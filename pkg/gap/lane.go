package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/straggler"
)

// lane is a device of a rank.
type lane struct {
	*idle.Lane
	seen int64 // idle time so far, when the last gap was observed
	lead lead  // what it lost in the last wait
	// When the call began that launched its last activity; NoTime where it is not known.
	launched int64
	streams  []*stream
	stream   *stream // of the last row

	collectives *straggler.Collectives // nil where there are none
	step        int                    // of the last of them
}

// activity is a row of the GPU.
type activity struct {
	idle.Activity
	class  event.Class // -1: none
	launch *launch     // nil where it is not known
}

// addGPU observes a kernel, a whole-graph row, a copy or a memset.
// Copies count as activity under BusyAll only, but a replay's are evidence that it was
// recorded. What one row adds is the step's, the window's and the lane's.
func (r *rank) addGPU(b *event.Batch, i int, kind event.Kind) {
	busy := r.idle.IsActivity(b, i)
	if kind.IsCopy() && !busy && !b.GraphNode.Valid.Get(i) {
		return
	}
	a := &r.activity
	r.idle.Read(b, i, &a.Activity)
	a.class, a.launch = -1, nil
	if v, ok := b.Class.Get(i); ok {
		a.class = v
	}
	if a.LaunchStart != none {
		a.launch = r.ring.find(a.Correlation, a.LaunchStart)
	}
	if a.Replayed {
		r.addReplay(a)
	}
	if !kind.IsCopy() && a.LaunchStart != none && r.firstOf(a) && r.counting() {
		r.slackNow.Add(a.Start - a.LaunchEnd)
	}
	if kind == event.Kernel {
		r.addKernel(b, i, a)
	}
	f := r.openFact()
	if busy {
		r.addBusy(b.Stream.Values[i], b.Step.Valid.Get(i), a, f)
	}
	if f != nil && !kind.IsCopy() {
		f.run(a)
	}
}

// addBusy observes an activity of a stream; f is what is known of the open step, nil
// where there is none.
func (r *rank) addBusy(stream int64, inStep bool, a *activity, f *stepFact) {
	l := r.idle.Activity(&a.Activity)
	if r.lane == nil || r.lane.Lane != l {
		r.lane = r.findLane(l)
	}
	if f != nil && l.Idle != r.lane.seen {
		r.addIdle(f, r.lane, a)
	}
	r.lane.seen, r.lane.launched = l.Idle, a.LaunchStart
	r.addStream(r.lane, stream, a)
	if a.Kind == event.Kernel {
		r.addSample(int32(stream), a)
		switch collective := a.class.IsCollective(); {
		case !collective:
			r.addOwn(a)
		case inStep:
			r.addCollective(a)
		}
	}
}

// addReplay counts the replay that a row is of, at its first row.
func (r *rank) addReplay(a *activity) {
	switch {
	case a.launch != nil:
		if a.launch.recorded {
			return
		}
		a.launch.recorded = true
	case a.Correlation >= 0 && !r.replays.first(a.Correlation):
		return
	}
	r.now.Recorded++
	if a.Kind == event.Graph {
		r.now.Whole++
	}
}

// firstOf tells whether a kernel or replay is the first of its launch.
func (r *rank) firstOf(a *activity) bool {
	switch {
	case a.launch != nil:
		first := !a.launch.ran
		a.launch.ran = true
		return first
	case a.Correlation >= 0:
		return r.runs.first(a.Correlation)
	}
	return true
}

// findLane returns the lane of idle's, which may be a new one.
func (r *rank) findLane(of *idle.Lane) *lane {
	for _, l := range r.lanes {
		if l.Lane == of {
			return l
		}
	}
	l := &lane{Lane: of}
	r.lanes = append(r.lanes, l)
	return l
}
