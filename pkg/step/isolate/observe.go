package isolate

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// observe uses row k, at which scan stopped.
func (r *rank) observe(b *event.Batch, k int) {
	kind, classed := b.Kind.Values[k], b.Class.Valid.Get(k)
	switch {
	case b.Start.Values[k] < r.since:
	case kind == event.NVTX:
		if classed || r.plan.custom {
			r.observeMarker(b, k)
		}
	case r.plan.method == step.Graph && kind.IsGPU() && isReplay(b, k):
		replayed{r}.observeReplay(b, k)
	case r.plan.method == step.Graph && kind == event.Kernel && r.rule != nil:
		replayed{r}.observeEager(b, k)
	case r.plan.method == step.Graph:
		r.context.host(b, k)
	case r.rule != nil && (kind != event.Kernel || !classed || b.Class.Values[k] != event.Allreduce):
		r.between(b, k)
	case classed:
		r.observeCollective(b, k)
	}
}

// observeMarker uses an NVTX range that may be a forward-step marker.
func (r *rank) observeMarker(b *event.Batch, k int) {
	text := string(b.Name.Get(k))
	counts, ok := r.plan.marker.Parse(text)
	if !ok {
		return
	}
	number := int64(noNumber)
	if counts.HasStep {
		number = counts.Step
	}
	start, end := b.Start.Values[k], b.End.Values[k]
	id, fresh := r.markers.add(start, end, number, text)
	r.started, r.marked = min(r.started, start), true
	if r.plan.method != step.NVTX {
		return
	}
	end = min(end, r.border)
	prolonged := !fresh && r.prolong(id, end)
	if !prolonged {
		r.endPauseAt(k)
	}
	r.outside.marker(end, number, fresh) // of the segment that the pause may have begun
	if !prolonged {
		context := counts.HasCounts && counts.Ctx > 0
		r.begin(k, openStep{id: id, start: start, since: start, end: end, size: 1, context: context}, text)
	}
}

// prolong moves the end of the step with the given id, if its row is still
// here, to end where that is later.
func (r *rank) prolong(id, end int64) bool {
	s := &r.step
	if s.id != id {
		i := slices.IndexFunc(r.recent, func(s openStep) bool { return s.id == id })
		if i < 0 {
			return false
		}
		s = &r.recent[i]
	}
	if end > s.end {
		s.end = end
		r.extend(end)
		if s != &r.step {
			r.patch(s)
		}
	}
	return r.open
}

// extend moves the end of the open segment to end where that is later.
func (r *rank) extend(end int64) {
	seg := &r.segments[len(r.segments)-1]
	seg.end = max(seg.end, end)
	r.limit = max(r.limit, seg.end+r.plan.segmentGap)
}

// stepAt returns the step that may begin with row k of the GPU, of the marker range that it was
// launched during, if there is one: with its id and text, else none and "step".
func (r *rank) stepAt(b *event.Batch, k int) (s openStep, text string) {
	s = openStep{id: none, start: b.Start.Values[k], end: min(b.End.Values[k], r.border), size: 1, since: never}
	launch, ok := b.LaunchStart.Get(k)
	if !ok {
		return s, "step"
	}
	if m := r.markers.around(launch); m != nil {
		s.id, s.since = m.id, m.first
		return s, m.text
	}
	s.since = launch
	return s, "step"
}

// observeCollective uses row k, a kernel of the class whose kernels make a step. One device of the
// rank counts (r.device): the others run the same collectives. A segment that
// begins without a marker and goes on with one may have begun with another model's
// collectives, which is what retract is about.
func (r *rank) observeCollective(b *event.Batch, k int) {
	if r.device < 0 {
		r.device = b.Device.Values[k]
	}
	if b.Device.Values[k] != r.device || r.ofStartup(b, k) {
		return
	}
	r.endPauseAt(k)
	s, text := r.stepAt(b, k)
	boundary := r.rule != nil && r.boundary(b, k)
	if s.id != none && r.open && r.step.id == none && r.rule == nil {
		r.decide(s.start)
		if len(r.segments[len(r.segments)-1].sizes) == 0 {
			r.retract()
		}
	}
	begins := s.id != none && s.id != r.step.id
	switch {
	case s.id != none || r.step.id != none: // a sampler's collective, a draft model's, is of the step under way
	case r.rule != nil:
		begins = boundary
	default:
		begins = s.start-r.step.end > r.plan.gap
	}
	if begins || !r.open {
		r.begin(k, s, text)
		return
	}
	r.step.size++
	r.strays += int32(b2n(s.id == none && r.step.id != none))
	r.prolong(r.step.id, s.end)
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
	r.step.at.row--
	r.segments = r.segments[:len(r.segments)-1]
	r.open, r.limit, r.doubts = false, never, doubts{}
}
