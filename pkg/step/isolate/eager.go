package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// replayed is a rank whose steps are replays of graphs.
type replayed struct{ *rank }

// eager finds by graph the forward passes that no replay ran. Such a pass is a step, as one
// that is replayed: it begins with the first kernel after what a step begins with, and is one
// where so many kernels run from there to what the next step begins with, and no replay among
// them. Where it is not clear what a step begins with, there are none.
type eager struct {
	// kernels is how many no replay ran, since what a step begins with. Elementwise ones do not
	// count: code that is compiled launches them by the thousand.
	kernels int32
	onset   openStep // what may be a step, and begins with a kernel that no replay ran
	name    string   // of that step; "" where there is none
	// first tells that the open step is such a one, before which nothing is open.
	first bool
}

// observeReplay uses a GPU row that a graph launch ran.
func (r replayed) observeReplay(b *event.Batch, k int) {
	launch, ok := b.Correlation.Get(k)
	if !ok || r.device != b.Device.Values[k] || r.ofStartup(b, k) {
		return
	}
	r.endPauseAt(k)
	boundary, fresh := false, r.context.begun(launch)
	if fresh {
		if r.launched(b, k) { // else what began belongs to this replay
			r.put(k)
			r.settleEager()
		}
		r.eager.kernels = 0
		r.settleEager()
		boundary = r.boundary(b, k)
	}
	if !r.open || boundary {
		s, text := r.stepAt(b, k)
		s.id = launch
		r.begin(k, s, text)
		return
	}
	if fresh { // another piece of the cycle
		r.step.id = launch
	}
	end := min(b.End.Values[k], r.border)
	_ = r.prolong(launch, end) || r.prolong(r.step.id, end)
}

// observeEager uses row k, a kernel that no replay ran.
func (r replayed) observeEager(b *event.Batch, k int) {
	begins := r.between(b, k)
	begins = r.launched(b, k) || begins
	e, end := &r.eager, min(b.End.Values[k], r.border)
	if (begins || !r.open) && r.rule.why == "" { // what began before the recording did is not known
		r.put(k)
		r.settleEager()
		s, text := r.stepAt(b, k)
		s.id, s.eager = none, true
		e.kernels = 0
		if e.first = !r.open; e.first {
			r.begin(k, s, text)
		} else {
			e.onset, e.name = s, text
		}
	}
	e.onset.end = max(e.onset.end, end)
	if e.first {
		r.prolong(none, end)
	}
	e.kernels += int32(b2n(b.Class.Values[k] != event.Elementwise))
}

// settleEager makes a step of what began as one if it is a forward pass, whose rows are in the
// output, and else takes it back.
func (r replayed) settleEager() {
	e := &r.eager
	switch forward := e.kernels >= step.MinForward; {
	case e.first && !forward:
		r.retract()
	case e.name != "" && forward && e.onset.start > r.step.start:
		r.endStep(e.onset.start, e.onset.start)
		r.setStep(e.onset, e.name)
	}
	e.name, e.first = "", false
}
