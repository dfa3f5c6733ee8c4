package step

import "github.com/hostbound/hostbound/pkg/event"

// look takes row k, at which scan stopped; the rows from from to k are not in the
// output yet. It returns the first row that still is not.
func (r *rank) look(b *event.Batch, from, k int) int {
	kind := b.Kind.Values[k]
	classed := b.Class.Valid.Get(k)
	switch {
	case kind == event.NVTX:
		if classed || r.plan.want[event.NVTX] == ^uint32(0) {
			return r.lookMarker(b, from, k)
		}
	case r.plan.method == Allreduce:
		if classed {
			return r.lookAllreduce(b, from, k)
		}
	case kind == event.API:
		if classed && b.Class.Values[k] == event.GraphLaunch {
			return r.beginLaunch(b, from, k)
		}
	case r.plan.gpu>>uint32(kind)&1 != 0:
		r.lookReplay(b, k)
	}
	return from
}

// lookMarker takes an NVTX range that may be a forward-step marker.
func (r *rank) lookMarker(b *event.Batch, from, k int) int {
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
	id, fresh := r.markers.add(start, end, number, text)
	if r.plan.method != NVTX {
		return from
	}
	if !fresh && r.prolong(id, end) {
		return from
	}
	from = r.begin(b, from, k, openStep{id: id, start: start, end: end, size: 1, launchStart: none}, text)
	return from
}

// prolong moves the end of the step with the given marker, if its row is still
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

// extend moves the end of the open segment to end where that is later.
func (r *rank) extend(end int64) {
	seg := &r.segments[len(r.segments)-1]
	seg.end = max(seg.end, end)
	r.limit = max(r.limit, seg.end+r.plan.segmentGap)
}

// lookAllreduce takes a kernel of class allreduce.
func (r *rank) lookAllreduce(b *event.Batch, from, k int) int {
	device := b.Device.Values[k]
	if r.device < 0 {
		r.device = device
	}
	if device != r.device {
		return from
	}
	start, end := b.Start.Values[k], b.End.Values[k]
	var m *markerRange
	if launch, ok := b.LaunchStart.Get(k); ok {
		m = r.markers.around(launch)
	}
	id, text := int64(none), "step"
	if m != nil {
		id, text = m.id, m.text
	}
	another := id != r.before
	if id == none || r.before == none {
		another = start-r.step.end > r.plan.gap
	}
	r.before = id
	if r.open && !another {
		r.step.size++
		if end > r.step.end {
			r.step.end = end
			r.extend(end)
		}
		return from
	}
	from = r.begin(b, from, k, openStep{start: start, end: end, size: 1, launchStart: none}, text)
	row := r.out.at(r.step.at)
	copyLaunch(row, r.step.at.row, b, k)
	return from
}

// launchColumns are those that tell of a launch.
const launchColumns event.Set = 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread

// copyLaunch gives a step row the launch of its first kernel.
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

// beginLaunch begins the step of a graph launch.
func (r *rank) beginLaunch(b *event.Batch, from, k int) int {
	start, end, thread := b.Start.Values[k], b.End.Values[k], b.Thread.Values[k]
	text := "step"
	if m := r.markers.around(start); m != nil {
		text = m.text
	}
	s := openStep{start: start, end: end, size: 1, launchStart: start, launchThread: thread}
	from = r.begin(b, from, k, s, text)
	row, i := r.out.at(r.step.at), r.step.at.row
	if row.Columns&launchColumns == launchColumns {
		row.LaunchStart.Set(i, start)
		row.LaunchEnd.Set(i, end)
		row.LaunchThread.Set(i, thread)
	}
	return from
}

// lookReplay takes a GPU row whose launch began when the open step did.
func (r *rank) lookReplay(b *event.Batch, k int) {
	thread, ok := b.LaunchThread.Get(k)
	if !r.open || !ok || thread != r.step.launchThread || !b.LaunchStart.Valid.Get(k) {
		return
	}
	if end := b.End.Values[k]; end > r.step.end {
		r.step.end = end
		r.extend(end)
	}
}
