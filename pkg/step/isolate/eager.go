package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// onset is what may be the beginning of a forward pass without a replay, in a rank whose
// steps are graph replays. Such a pass is a step, like a replayed one. It begins with the
// first kernel after the work that begins a step, if at least MinForward kernels run
// there before a replay or the work that begins the next step. If the rule does not tell
// what a step begins with, there are none.
type onset struct {
	step openStep
	name string // of the step, "" if there is no onset
	// kernels counts the kernels so far. Elementwise ones do not count: compiled code
	// launches them by the thousand.
	kernels int32
}

// observeReplay processes a GPU row that a graph launch ran.
func (r *rank) observeReplay(b *event.Batch, k int) {
	launch, ok := b.Correlation.Get(k)
	if !ok || r.device != b.Device.Values[k] || r.ofStartup(b, k) {
		return
	}
	r.endPauseAt(k)
	fresh := r.context.begun(launch)
	boundary := fresh && r.boundary(b, k)
	if fresh {
		r.onset.name = ""
	}
	if !r.open || boundary {
		s, text := r.stepAt(b, k)
		s.id = launch
		r.begin(k, s, text)
		return
	}
	if fresh { // another piece of the cycle
		r.step.id, r.step.eager = launch, false
	}
	end := min(b.End.Values[k], r.border)
	_ = r.prolong(launch, end) || r.prolong(r.step.id, end)
}

// observeEager processes row k, a kernel that ran outside replays.
func (r *rank) observeEager(b *event.Batch, k int) {
	begins := r.between(b, k)
	begins = r.launched(b, k) || begins
	o, end := &r.onset, min(b.End.Values[k], r.border)
	before := !r.open && (o.name == "" || b.Start.Values[k]-o.step.end > r.plan.segmentGap)
	if (begins || before) && r.rule.why == "" { // otherwise it is unknown what began before the recording
		o.step, o.name = r.stepAt(b, k)
		o.step.id, o.step.eager, o.kernels = none, true, 0
	}
	o.kernels += int32(b2n(b.Class.Values[k] != event.Elementwise))
	switch {
	case o.name == "" && r.open && r.step.eager:
		r.prolong(none, end)
	case o.name == "":
	case o.kernels < step.MinForward:
		o.step.end = max(o.step.end, end)
	default:
		o.step.end = max(o.step.end, end)
		r.begin(k, o.step, o.name)
		o.name, r.begins = "", false
	}
}
