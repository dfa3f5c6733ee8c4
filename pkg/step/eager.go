package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// eager finds by graph the forward passes that no replay ran. Such a pass is a step, as one
// that is replayed: it begins with the first kernel after what a step begins with, and is one
// where so many kernels run from there to the next step. Where it is not known what a step
// begins with, it is in the period of the replay before.
type eager struct {
	// kernels is how many no replay ran, since the last replay or what a step begins with.
	// Elementwise ones do not count: code that is compiled launches them by the thousand.
	kernels int32
	forward int32 // how many of them make a forward pass, 0: not known
	steps   int   // steps by a replay so far whose periods hold one
	copied  bool  // tokens are copied back before onset
	// Before the first step: how many ran, as kernels has them, since the last pause, and from when.
	before int32
	began  int64
	onset  openStep // what may be a step, and begins with a kernel that no replay ran
	name   string   // of that step; "" where there is none
}

// learn sets how many kernels make a forward pass, from how many lie between two
// replays: far more than in the periods that have few, or than in most where these have
// about as many, such as those of a draft. Where the rule was learned of other replays
// each step is taken to have as many of them as most had there.
func (e *eager) learn(between []int32, u *rule) {
	if len(between) < MinSteps { // or steps are not made of replays
		return
	}
	begins := u.at
	if len(begins) == 0 {
		per := 1
		if !u.single {
			per = int(max(1, u.usual))
		}
		for i := 0; i <= len(between); i += per {
			begins = append(begins, int32(i))
		}
	}
	var periods []int32
	for i := 1; i < len(begins); i++ {
		n := int32(0)
		for _, k := range between[begins[i-1]:begins[i]] {
			n += k
		}
		periods = append(periods, n)
	}
	if len(periods) < MinSteps {
		return
	}
	slices.Sort(periods)
	low, high := periods[len(periods)/4], periods[3*len(periods)/4]
	e.forward = minForward + min(2*low, high+2*(high-low)+minForward)
}

// isForward says whether the period of the open step holds such a forward pass.
func (e *eager) isForward() bool { return e.forward > 0 && e.kernels >= e.forward }

// replayed is a rank whose steps are replays of graphs.
type replayed struct{ *rank }

// checkEager warns where what runs before the first replay, which begins the first step, is more
// than a few steps.
func (r ended) checkEager() {
	seg := &r.segments[0]
	if late := seg.start - r.eager.began; r.eager.before >= minForward && float64(late) > maxApart*float64(seg.end-seg.start) {
		r.warn("rank %d runs %s before its first graph replay: forward passes there are in no step; %s",
			r.id, report.Counted(int(r.eager.before), "kernel"), r.remedy())
	}
}

// markEager gives the row of the open step, which ends, the class launch where no replay ran it,
// and graph_launch where its period also holds a forward pass that none did.
func (r replayed) markEager() {
	held := r.eager.name == "" && r.eager.isForward()
	r.eager.steps += b2n(held)
	switch b := r.out.at(r.step.at); {
	case !b.Columns.Has(event.ColClass):
	case held:
		b.Class.Set(r.step.at.row, event.GraphLaunch)
	case r.step.eager:
		b.Class.Set(r.step.at.row, event.Launch)
	}
}

// observeEager uses row k, a kernel that no replay ran; the rows from from on are not in the
// output. It returns the first that still is not.
func (r replayed) observeEager(b *event.Batch, from, k int) int {
	begins := unmarked(r).beginsWithKernel(b, k)
	begins = unmarked(r).hostBegins(r.context.launched(b, k)) || begins
	r.begins = r.begins || begins
	if begins && r.open {
		from = r.endEager(b, from, k, minForward)
		_, text, since := r.launchRange(b, k)
		r.eager.onset, r.eager.name = openStep{id: none, start: b.Start.Values[k], since: since, size: 1, eager: true}, text
		r.eager.kernels, r.eager.copied, r.copying = 0, r.eager.copied || r.copying, false
	}
	r.eager.onset.end = max(r.eager.onset.end, b.End.Values[k])
	r.eager.kernels += int32(b2n(b.Class.Values[k] != event.Elementwise))
	return from
}

// endEager makes a step of what began as one before row k, if it has so many kernels; the rows
// from from on are not in the output. It returns the first that still is not.
func (r replayed) endEager(b *event.Batch, from, k int, forward int32) int {
	if r.eager.name == "" || r.eager.kernels < forward {
		r.eager.name = ""
		return from
	}
	t := b.Start.Values[k]
	same := firstAt(b.Start.Values, from, k, t)
	r.add(b, from, same)
	r.out.flush(t)
	r.addEager(forward)
	return same
}

// addEager makes a step of what began as one, if it has the kernels of a forward pass: its row
// goes where these are in the output.
func (r replayed) addEager(forward int32) {
	s, name := r.eager.onset, r.eager.name
	if r.eager.name = ""; name == "" || r.eager.kernels < forward || s.start <= r.step.start {
		return
	}
	r.eager.kernels = 0
	r.copied += b2n(r.eager.copied && r.rule.copies)
	r.eager.copied = false
	r.endStep(s.start, s.start)
	s.at = r.out.insert(r.step.at, s.start)
	r.setStep(s, name)
	r.out.each(s.at, func(b *event.Batch, i int) {
		if row := r.out.at(s.at); b.Start.Values[i] == s.start && !row.LaunchStart.Valid.Get(s.at.row) {
			copyLaunch(row, s.at.row, b, i)
		}
	})
}
