package replay

import "github.com/hostbound/hostbound/pkg/trace/event"

// startStep begins a step, which starts with a row that comes next.
func (e *engine) startStep(k int32) {
	s := &e.t.steps[k]
	p := &e.processes[s.process]
	p.starts = append(p.starts, k)
	e.push(end{t: s.end, order: stepEnds, step: k})
}

// bind starts the steps that start at t with a row.
func (e *engine) bind(p *process, t int64, now []int64) {
	rest := p.starts[:0]
	for _, k := range p.starts {
		if e.t.steps[k].start != t {
			rest = append(rest, k)
			continue
		}
		e.begins(k, now)
	}
	p.starts = rest
}

// begins sets when a step begins.
func (e *engine) begins(k int32, now []int64) {
	e.steps[k] = stepTimes{start: append([]int64(nil), now...), bound: true}
	if s := &e.t.steps[k]; e.sink != nil {
		e.sink.start(s.stretch, s.ordinal, now[0])
	}
}

// missed starts steps that no row started with, by the time that rows after t come: with the
// thread that launched last.
func (e *engine) missed(p *process, t int64) {
	rest := p.starts[:0]
	for _, k := range p.starts {
		if e.t.steps[k].start >= t {
			rest = append(rest, k)
			continue
		}
		e.begins(k, e.drifted(p, e.t.steps[k].start))
	}
	p.starts = rest
}

// drifted is a time moved with the thread that launched last.
func (e *engine) drifted(p *process, t int64) []int64 {
	now := make([]int64, e.n)
	for s := range now {
		now[s] = t + e.shift(p, s)
	}
	return now
}

// endStep ends a step with the row that ends then.
func (e *engine) endStep(k int32) {
	s := &e.t.steps[k]
	p := &e.processes[s.process]
	if !e.steps[k].bound {
		e.missed(p, s.start+1)
	}
	e.steps[k].end = append([]int64(nil), e.endsAt(p, s.end)...)
	if e.sink != nil {
		e.sink.end(s.stretch, s.ordinal, e.steps[k].end[0])
	}
}

// endsAt is when what ended at t ends: a forward-step range, or a unit.
func (e *engine) endsAt(p *process, t int64) []int64 {
	if e.byRange {
		for i := range p.markers {
			if a := &p.markers[i]; a.new != nil && a.old == t {
				return a.new
			}
		}
	}
	var best *unit
	for _, st := range p.streams {
		for k := st.count - 1; k >= max(0, st.count-recent); k-- {
			if u := st.ring[k%recent]; u.end <= t && (best == nil || u.end > best.end) {
				best = u
			}
		}
	}
	if best == nil {
		return e.drifted(p, t)
	}
	ends := append([]int64(nil), e.endOf(best)...)
	for s := range ends {
		ends[s] += t - best.end
	}
	return ends
}

// finish ends what has not ended, and moves the window rows with the steps that bound them.
func (e *engine) finish() {
	for k := range e.threads {
		for th := &e.threads[k]; th.held != nil; {
			e.release(th.held)
		}
	}
	for k := range e.processes {
		e.missed(&e.processes[k], never)
	}
	e.until(never)
	if e.sink == nil {
		return
	}
	for i := range e.t.windows {
		w := &e.t.windows[i]
		start, end := e.window(w)
		e.sink.start(w.stretch, w.ordinal, start)
		e.sink.end(w.stretch, w.ordinal, end)
	}
}

// window is when a window begins and ends in the first scenario.
func (e *engine) window(w *stepRow) (start, end int64) {
	p := &e.processes[w.process]
	start, end = w.start+e.shift(p, 0), w.end+e.shift(p, 0)
	if p.latest != nil {
		end = w.end + e.endOf(p.latest)[0] - p.latest.end
	}
	found := false
	for k := range e.t.steps {
		s := &e.t.steps[k]
		if s.process != w.process || e.steps[k].start == nil || e.steps[k].end == nil {
			continue
		}
		if s.start == w.start {
			start = e.steps[k].start[0]
		}
		if s.end == w.end {
			if v := e.steps[k].end[0]; !found || v > end {
				end, found = v, true
			}
		}
	}
	return start, max(start, end)
}

// classOfSteps is the class of the units that steps begin and end with, -1 for any.
func classOfSteps(h *event.Header) event.Class {
	if h.Isolation != nil && h.Isolation.Method == "allreduce" {
		return event.Allreduce
	}
	return -1
}
