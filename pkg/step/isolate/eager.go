package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// eager finds by graph the forward passes that no replay ran. Such a pass is a step, as one
// that is replayed: it begins with the first kernel after what a step begins with, and is one
// where so many kernels run from there to what the next step begins with, and no replay among
// them. Where it is not clear what a step begins with, there are none.
type eager struct {
	// kernels is how many no replay ran, since what a step begins with. Elementwise ones do not
	// count: code that is compiled launches them by the thousand.
	kernels int32
	copied  bool     // tokens are copied back before onset
	onset   openStep // what may be a step, and begins with a kernel that no replay ran
	name    string   // of that step; "" where there is none
	// first tells that the open step is such a one, before which nothing is open.
	first bool
}

// replayed is a rank whose steps are replays of graphs.
type replayed struct{ *rank }

// isForward reports whether a forward pass ran since what a step begins with.
func (e *eager) isForward() bool { return e.kernels >= step.MinForward }

// markEager gives the row of the open step, which ends, the class launch where no replay ran it.
func (r replayed) markEager() {
	if b := r.out.at(r.step.at); r.step.eager && b.Columns.Has(event.ColClass) {
		b.Class.Set(r.step.at.row, event.Launch)
	}
}

// observeEager uses row k, a kernel that no replay ran; the rows from from on are not in the
// output. It returns the first that still is not.
func (r replayed) observeEager(b *event.Batch, from, k int) int {
	begins := unmarked(r).between(b, k)
	begins = unmarked(r).launched(b, k) || begins
	end := min(b.End.Values[k], r.border)
	if (begins || !r.open) && r.rule.why == "" { // what began before the recording did is not known
		from = r.endEager(b, from, k)
		_, text, since := r.launchRange(b, k)
		s := openStep{id: none, start: b.Start.Values[k], since: since, end: end, size: 1, eager: true}
		r.eager.kernels, r.eager.copied, r.copying = 0, r.eager.copied || r.copying, false
		if r.eager.first = !r.open; r.eager.first {
			from = r.begin(b, from, k, s, text)
		} else {
			r.eager.onset, r.eager.name = s, text
		}
	}
	r.eager.onset.end = max(r.eager.onset.end, end)
	if r.eager.first {
		r.lengthen(end)
	}
	r.eager.kernels += int32(b2n(b.Class.Values[k] != event.Elementwise))
	return from
}

// endEager settles what began as a step before row k; the rows from from on are not in the
// output. It returns the first that still is not.
func (r replayed) endEager(b *event.Batch, from, k int) int {
	if r.eager.name != "" && r.eager.isForward() {
		from = r.addBefore(b, from, k)
		r.out.flush(b.Start.Values[k])
	}
	r.settleEager()
	return from
}

// settleEager makes a step of what began as one if it is a forward pass, whose rows are in the
// output, and else takes it back.
func (r replayed) settleEager() {
	switch {
	case r.eager.name != "" && r.eager.isForward():
		r.addEager()
	case r.eager.first && !r.eager.isForward():
		r.retract()
	}
	r.eager.name, r.eager.first = "", false
}

// addEager makes a step of what began as one: its row goes where its kernels are in the output.
func (r replayed) addEager() {
	s, name := r.eager.onset, r.eager.name
	if s.start <= r.step.start {
		return
	}
	r.copied += b2n(r.eager.copied && r.rule.copies)
	r.eager.copied = false
	r.endStep(s.start, s.start)
	s.at = r.out.insert(r.step.at, s.start, name)
	r.setStep(s)
	r.out.each(s.at, func(b *event.Batch, i int) {
		if row := r.out.at(s.at); b.Start.Values[i] == s.start && !row.LaunchStart.Valid.Get(s.at.row) {
			copyLaunch(row, s.at.row, b, i)
		}
	})
}
