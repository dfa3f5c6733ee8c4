package isolate

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// observe uses row k, at which scan stopped; the rows from from to k are not in
// the output yet. It returns the first row that still is not.
func (r *rank) observe(b *event.Batch, from, k int) int {
	kind := b.Kind.Values[k]
	classed := b.Class.Valid.Get(k)
	switch {
	case kind == event.NVTX:
		if classed || r.plan.custom {
			return r.observeMarker(b, from, k)
		}
	case r.plan.method == step.Graph && kind.IsGPU() && isReplay(b, k):
		return replayed{r}.observeReplay(b, from, k)
	case r.plan.method == step.Graph && kind == event.Kernel && r.rule != nil:
		return replayed{r}.observeEager(b, from, k)
	case r.plan.method == step.Graph:
		r.context.host(b, k)
	case r.rule != nil && (kind != event.Kernel || !classed || b.Class.Values[k] != event.Allreduce):
		unmarked{r}.between(b, k)
	case classed:
		return r.observeCollective(b, from, k)
	}
	return from
}

// observeMarker uses an NVTX range that may be a forward-step marker.
func (r *rank) observeMarker(b *event.Batch, from, k int) int {
	text := string(b.Name.Get(k))
	counts, ok := r.plan.marker.Parse(text)
	if !ok {
		return from
	}
	number := int64(noNumber)
	if counts.HasStep {
		number = counts.Step
	}
	start, end := b.Start.Values[k], b.End.Values[k]
	thread, _ := b.Thread.Get(k)
	id, fresh := r.markers.add(start, end, number, thread, text)
	r.started = min(r.started, start)
	if r.plan.method != step.NVTX {
		return from
	}
	prolonged := !fresh && r.prolong(id, min(end, r.border))
	if !prolonged {
		from = stalling{r}.endPauseBefore(b, from, k)
	}
	r.outside.marker(end, number, fresh) // of the segment that the pause may have begun
	if prolonged {
		return from
	}
	end = min(end, r.border)
	context := counts.HasCounts && counts.Ctx > 0
	return r.begin(b, from, k, openStep{id: id, start: start, since: start, end: end, size: 1, context: context}, text)
}

// prolong moves the end of the step with the given id, if its row is still
// here, to end where that is later.
func (r *rank) prolong(id, end int64) bool {
	s := &r.step
	if !r.open {
		return false
	}
	for i := len(r.recent); s.id != id; s = &r.recent[i] {
		if i--; i < 0 {
			return false
		}
	}
	if end > s.end {
		s.end = end
		r.patch(s)
		r.extend(end)
	}
	return true
}

// lengthen moves the end of the open step to end where that is later.
func (r *rank) lengthen(end int64) {
	if end > r.step.end {
		r.step.end = end
		r.extend(end)
	}
}

// extend moves the end of the open segment to end where that is later.
func (r *rank) extend(end int64) {
	seg := &r.segments[len(r.segments)-1]
	seg.end = max(seg.end, end)
	r.limit = max(r.limit, seg.end+r.plan.segmentGap)
}

// launchRange returns the marker range that row k was launched during: its id
// and text, none and "step" where there is none; and when the host began with it, as far as
// is known, never where that is not.
func (r *rank) launchRange(b *event.Batch, k int) (id int64, text string, since int64) {
	launch, ok := b.LaunchStart.Get(k)
	if !ok {
		return none, "step", never
	}
	if m := r.markers.around(launch); m != nil {
		return m.id, m.text, m.first
	}
	return none, "step", launch
}

// observeCollective uses row k, a kernel of the class whose kernels make a step, and returns
// from, or where the rows of a step that begins with it go on. One device of the rank counts
// (r.device): the others run the same collectives. A segment that
// begins without a marker and goes on with one may have begun with another model's
// collectives, which is what retract is about.
func (r *rank) observeCollective(b *event.Batch, from, k int) int {
	device := b.Device.Values[k]
	if r.device < 0 {
		r.device = device
	}
	if device != r.device {
		return from
	}
	start, end := b.Start.Values[k], min(b.End.Values[k], r.border)
	if r.ofStartup(b, k) {
		return from
	}
	from = stalling{r}.endPauseBefore(b, from, k)
	id, text, since := r.launchRange(b, k)
	boundary := r.rule != nil && unmarked{r}.boundary(b, k)
	if id != none && r.open && r.step.id == none && r.rule == nil {
		stalling{r}.doubted(start)
		if len(r.sizes) == r.segments[len(r.segments)-1].first {
			r.retract()
		}
	}
	begins := !r.open || r.startsStep(id, start, boundary)
	if !begins {
		r.step.size++
		r.strays += int32(b2n(id == none && r.step.id != none))
		r.lengthen(end)
		return from
	}
	return r.begin(b, from, k, openStep{id: id, start: start, since: since, end: end, size: 1}, text)
}

// ofStartup says whether row k was launched in the step in which PyTorch's profiler started: its
// reader takes that step's marker away, as it includes profiler start-up, and so it is none by
// whatever method.
func (r *rank) ofStartup(b *event.Batch, k int) bool {
	if !r.startup {
		return false
	}
	launch, ok := b.LaunchStart.Get(k)
	if !ok {
		launch = b.Start.Values[k]
	}
	return launch < r.started
}

// retract takes back the step with which a segment began without a marker, where
// one with a marker follows: a draft's or a sampler's collectives, or the end of a
// step that began before the recording did. Their rows belong to no step.
func (r *rank) retract() {
	r.out.drop(r.step.at)
	r.segments = r.segments[:len(r.segments)-1]
	r.open, r.limit, r.doubts.all = false, never, nil
}

// startsStep says whether a collective that was launched during the marker range
// id and starts at the given time is not of the open step; boundary is what the
// rule for steps without markers says.
func (r *rank) startsStep(id, start int64, boundary bool) bool {
	switch {
	case id != none:
		return id != r.step.id
	case r.step.id != none:
		return false // a sampler's collective, a draft model's
	case r.rule != nil:
		return boundary
	}
	return start-r.step.end > r.plan.gap
}

// launchColumns are those that describe a launch.
const launchColumns event.Set = 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread

// copyLaunch gives a step row the launch of its first GPU row.
func copyLaunch(dst *event.Batch, to int, src *event.Batch, k int) {
	if dst.Columns&launchColumns != launchColumns {
		return
	}
	if v, ok := src.LaunchStart.Get(k); ok {
		dst.LaunchStart.Set(to, v)
	}
	if v, ok := src.LaunchEnd.Get(k); ok {
		dst.LaunchEnd.Set(to, v)
	}
	if v, ok := src.LaunchThread.Get(k); ok {
		dst.LaunchThread.Set(to, v)
	}
}

// observeReplay uses a GPU row that a graph launch ran.
func (r replayed) observeReplay(b *event.Batch, from, k int) int {
	launch, ok := b.Correlation.Get(k)
	if !ok || r.device != b.Device.Values[k] {
		return from
	}
	start, end := b.Start.Values[k], min(b.End.Values[k], r.border)
	if r.ofStartup(b, k) {
		return from
	}
	from = stalling(r).endPauseBefore(b, from, k)
	fresh := r.context.begun(launch)
	boundary := false
	if fresh {
		if unmarked(r).launched(b, k) { // else what began belongs to this replay
			from = r.endEager(b, from, k)
		}
		r.eager.kernels = 0
		r.settleEager()
		boundary = unmarked(r).boundary(b, k)
	}
	if r.open && !boundary {
		if fresh { // another piece of the cycle
			r.step.id = launch
		}
		if !r.prolong(launch, end) {
			r.lengthen(end)
		}
		return from
	}
	_, text, since := r.launchRange(b, k)
	return r.begin(b, from, k, openStep{id: launch, start: start, since: since, end: end, size: 1}, text)
}
