package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// replayed is a rank whose steps are graph replays.
type replayed struct{ *rank }

// eager finds, for graph, the forward passes that ran without a replay. Such a pass is a
// step, like a replayed one. It begins with the first kernel after the work that begins
// a step. It is a forward pass if at least MinForward kernels, and no replay, run from
// there to the work that begins the next step. If the rule does not tell what a step
// begins with, there are none.
type eager struct {
	// kernels counts the kernels outside replays since the work that begins a step.
	// Elementwise ones do not count: compiled code launches them by the thousand.
	kernels int32
	onset   openStep // a possible step that begins with a kernel outside replays
	name    string   // of that step, "" if there is none
	// first says that the open step is such a step, and that nothing was open before it.
	first bool
}

// observeReplay processes a GPU row that a graph launch ran.
func (r replayed) observeReplay(b *event.Batch, k int) {
	launch, ok := b.Correlation.Get(k)
	if !ok || r.device != b.Device.Values[k] || r.ofStartup(b, k) {
		return
	}
	r.endPauseAt(k)
	boundary, fresh := false, r.context.begun(launch)
	if fresh {
		if r.launched(b, k) { // otherwise what began belongs to this replay
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

// observeEager processes row k, a kernel that ran outside replays.
func (r replayed) observeEager(b *event.Batch, k int) {
	begins := r.between(b, k)
	begins = r.launched(b, k) || begins
	e, end := &r.eager, min(b.End.Values[k], r.border)
	if (begins || !r.open) && r.rule.why == "" { // otherwise it is unknown what began before the recording
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

// settleEager makes the pending eager pass a step if it is a forward pass, and otherwise
// discards it. The rows of the pass must be in the output.
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
