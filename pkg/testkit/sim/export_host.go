package sim

import (
	"slices"
	"strings"
)

// calls writes the API calls as nsys does: thread by thread, each in order of time.
func (e *exporter) calls() {
	w := e.open(tableCall, e.trace.Calls.Len())
	if w == nil {
		return
	}
	start, end, class := w.col("start"), w.col("end"), w.col("eventClass")
	tid, corr := w.col("globalTid"), w.col("correlationId")
	name, result := w.col("nameId"), w.col("returnValue")
	for _, thread := range e.callThreads() {
		w.Int(tid, thread)
		for c := range e.trace.Calls.All() {
			if e.trace.Processes[c.Process].globalTid(c.TID) != thread {
				continue
			}
			w.Int(start, c.Start+e.offset)
			w.Int(end, c.End+e.offset)
			w.Int(class, eventClass(e.trace.Text(c.Name)))
			w.orNull(corr, uint64(c.Corr))
			w.Int(name, int64(c.Name))
			w.Int(result, int64(c.Return))
			if !w.step() {
				return
			}
		}
	}
}

// callThreads returns the global ids of the threads that called CUDA, in the order of
// their first call.
func (e *exporter) callThreads() []int64 {
	var threads []int64
	last := int64(-1)
	for c := range e.trace.Calls.All() {
		id := e.trace.Processes[c.Process].globalTid(c.TID)
		if id != last && !slices.Contains(threads, id) {
			threads = append(threads, id)
		}
		last = id
	}
	return threads
}

// eventClass returns 1 for a call of the driver and 0 for one of the runtime, by its
// name.
func eventClass(api string) int64 {
	if strings.HasPrefix(api, "cu") && !strings.HasPrefix(api, "cuda") {
		return 1
	}
	return 0
}

// notes writes ranges, marks and domains. The end of a range that was never closed is
// NULL. So is the thread that ended a range if it is the one that began it.
func (e *exporter) notes() {
	rows(e, tableNVTX, &e.trace.NVTX, func(w *target) func(*NVTXEvent) {
		event, start, end, kind := w.col("eventId"), w.col("start"), w.col("end"), w.col("eventType")
		rangeID, tid, endTid, domain := w.col("rangeId"), w.col("globalTid"), w.col("endGlobalTid"), w.col("domainId")
		serial := int64(0)
		return func(n *NVTXEvent) {
			p := e.trace.Processes[n.Process]
			serial++
			w.Int(event, serial)
			w.Int(start, n.Start+e.offset)
			w.Int(end, n.End+e.offset)
			if n.Open {
				w.Null(end)
			}
			w.Int(kind, int64(n.Kind))
			w.orNull(rangeID, n.RangeID)
			w.Int(tid, p.globalTid(n.TID))
			w.Int(endTid, p.globalTid(n.EndTID))
			if n.EndTID == 0 {
				w.Null(endTid)
			}
			w.Int(domain, int64(n.Domain))
			e.nvtxText(w, n)
		}
	})
}

// nvtxText writes the text of an NVTX row to the column that its form uses.
func (e *exporter) nvtxText(w *target, n *NVTXEvent) {
	text, id, json := w.col("text"), w.col("textId"), w.col("jsonText")
	w.Null(text)
	w.Null(id)
	w.Null(json)
	if n.Text == 0 {
		return
	}
	switch n.Form {
	case Registered:
		w.Int(id, int64(n.Text))
	case Literal:
		w.Text(text, e.trace.Text(n.Text))
	case JSON:
		w.Text(json, jsonMessage(e.trace.Text(n.Text)))
	}
}

// overheads writes the profiler's own time, as reported by CUPTI and by nsys. Since 2026
// each has a table.
func (e *exporter) overheads() {
	var profiler, cupti List[Overhead]
	for o := range e.trace.Overheads.All() {
		if o.CUPTI && tableCuptiOverhead.in(e.opt.Schema) {
			cupti.Add(*o)
		} else {
			profiler.Add(*o)
		}
	}
	columns := func(w *target) func(*Overhead) {
		w.ints(0, "returnValue", "eventClass")
		start, end, tid, name, kind := w.col("start"), w.col("end"), w.col("globalTid"), w.col("nameId"), w.col("overheadType")
		return func(o *Overhead) {
			w.Int(start, o.Start+e.offset)
			w.Int(end, o.End+e.offset)
			w.Int(tid, e.trace.Processes[o.Process].globalTid(o.TID))
			w.Int(name, int64(o.Name))
			w.Int(kind, int64(o.Kind))
		}
	}
	rows(e, tableProfilerOverhead, &profiler, columns)
	rows(e, tableCuptiOverhead, &cupti, columns)
}
