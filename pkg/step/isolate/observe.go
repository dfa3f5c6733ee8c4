package isolate

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// observe processes row k, at which scan stopped.
func (r *rank) observe(b *event.Batch, k int) {
	kind, classed := b.Kind.Values[k], b.Class.Valid.Get(k)
	switch {
	case b.Start.Values[k] < r.since:
	case kind == event.NVTX:
		if classed || r.plan.custom {
			r.observeMarker(b, k)
		}
	case r.plan.method == step.Graph && kind.IsGPU() && isReplay(b, k):
		r.observeReplay(b, k)
	case r.plan.method == step.Graph && kind == event.Kernel && r.rule != nil:
		r.observeEager(b, k)
	case r.plan.method == step.Graph:
		r.context.host(b, k)
	case r.rule != nil && (kind != event.Kernel || !classed || b.Class.Values[k] != event.Allreduce):
		r.between(b, k)
	case classed:
		r.observeCollective(b, k)
	}
}

// observeMarker processes an NVTX range that may be a forward-step marker.
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
	if r.plan.method != step.NVTX || end > r.until { // like one that was open when a recording ended
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

// prolong extends the step with the given id to end, if its row is still held. It
// reports whether it was, and a step is open.
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

// extend extends the open segment to end.
func (r *rank) extend(end int64) {
	seg := &r.segments[len(r.segments)-1]
	seg.end = max(seg.end, end)
	r.limit = max(r.limit, seg.end+r.plan.segmentGap)
}

// stepAt returns the step that may begin with GPU row k. If it was launched during a
// marker range, the step has that marker's id and text, else the id none and the text
// "step".
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

// observeCollective processes row k, a kernel of the class that steps are made of. Only
// one device of the rank counts (r.device), because the others run the same collectives.
// If a segment begins without a marker and continues with one, its first collectives may
// be another model's: see retract.
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
	case s.id != none || r.step.id != none: // a sampler's or a draft model's collective belongs to the current step
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

// ofStartup reports whether row k was launched in the step during which PyTorch's
// profiler started. The reader removes that step's marker, because the step includes
// profiler start-up. It is no step by any method.
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

// retract discards the step with which a segment began without a marker, if one with a
// marker follows. Such a step is a draft model's or a sampler's collectives, or the end
// of one that began before the recording. Its rows belong to no step.
func (r *rank) retract() {
	r.out.drop(r.step.at)
	r.step.at.row--
	r.segments = r.segments[:len(r.segments)-1]
	r.open, r.limit, r.doubt = false, never, nil
}
