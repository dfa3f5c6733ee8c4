package nsys

import (
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

func (w *reference) nvtx() {
	if !w.has(nvtxTable, "start", "end") {
		return
	}
	for n := range w.t.NVTX.All() {
		range_ := n.Kind == sim.NVTXPushPop || n.Kind == sim.NVTXStartEnd || n.Kind == 70 || n.Kind == 71
		if !range_ && w.has(nvtxTable, "eventType") || n.Open || n.End < n.Start {
			continue
		}
		r := &referenceRow{kind: event.NVTX, start: n.Start + w.offset, end: n.End + w.offset, name: w.nvtxText(n)}
		r.process = w.processID(nvtxTable, "globalTid", n.Process)
		if r.process != 0 {
			r.thread = new(int64(n.TID))
		}
		if w.has(nvtxTable, "domainId") {
			r.domain = w.domain(n.Process, n.Domain)
		}
		r.class = rangeClass(r.name)
		w.host = append(w.host, r)
	}
}

func (w *reference) nvtxText(n *sim.NVTXEvent) string {
	switch {
	case n.Text == 0:
		return ""
	case n.Form == sim.Registered:
		return w.text(nvtxTable, "textId", n.Text)
	case n.Form == sim.Literal && w.has(nvtxTable, "text"):
		return w.t.Text(n.Text)
	case n.Form == sim.JSON && w.has(nvtxTable, "jsonText"):
		return w.t.Text(n.Text)
	}
	return ""
}

// domain is the first name that a process gave a domain, whose rows say so.
func (w *reference) domain(process int32, id uint32) string {
	for n := range w.t.NVTX.All() {
		if n.Kind == sim.NVTXDomain && n.Domain == id && n.Process == process && id != 0 && w.has(nvtxTable, "eventType") {
			return w.nvtxText(n)
		}
	}
	return ""
}

// calls takes the calls thread after thread, as they are written.
func (w *reference) calls() {
	if !w.has(runtimeTable, "start", "end") {
		return
	}
	type thread struct {
		process int32
		tid     uint32
	}
	var order []thread
	byThread := map[thread][]*sim.Call{}
	for c := range w.t.Calls.All() {
		key := thread{c.Process, c.TID}
		if byThread[key] == nil {
			order = append(order, key)
		}
		byThread[key] = append(byThread[key], c)
	}
	for _, key := range order {
		for _, c := range byThread[key] {
			w.call(c)
		}
	}
}

func (w *reference) call(c *sim.Call) {
	if c.End < c.Start {
		return
	}
	r := &referenceRow{kind: event.API, table: 1, start: c.Start + w.offset, end: c.End + w.offset}
	r.name = apiName(w.text(runtimeTable, "nameId", c.Name))
	r.class = apiClass(r.name)
	r.corr = w.optional(runtimeTable, "correlationId", int64(c.Corr))
	if r.process = w.processID(runtimeTable, "globalTid", c.Process); r.process != 0 {
		r.thread = new(int64(c.TID))
	}
	w.host = append(w.host, r)
}

func (w *reference) overheads() {
	for pass, table := range []string{"PROFILER_OVERHEAD", overheadTable} {
		if !w.has(table, "start", "end") {
			continue
		}
		for o := range w.t.Overheads.All() {
			inCupti := o.CUPTI && w.has(overheadTable)
			if inCupti != (pass == 1) || o.End < o.Start {
				continue
			}
			r := &referenceRow{kind: event.Overhead, table: 7, start: o.Start + w.offset, end: o.End + w.offset, name: w.text(table, "nameId", o.Name)}
			r.class = "profiler"
			if strings.HasPrefix(r.name, "dlopen") {
				r.class = "load"
			}
			if pass == 1 {
				r.class = ""
			}
			if name := standardOverheads[int(o.Kind)]; name != "" && pass == 1 && w.has(table, "overheadType") {
				r.name, r.class = name, standardClasses[int(o.Kind)]
			}
			if r.process = w.processID(table, "globalTid", o.Process); r.process != 0 {
				r.thread = new(int64(o.TID))
			}
			w.host = append(w.host, r)
		}
	}
}

// standardOverheads are CUPTI's names.
var standardOverheads = map[int]string{2: "Driver Compiler", 3: "CUPTI Buffer Flush", 4: "CUPTI Instrumentation",
	5: "CUPTI Resource", 6: "Runtime Triggered Module Loading", 7: "Lazy Function Loading", 8: "Command Buffer Full"}

// standardClasses are the classes of CUPTI's overheads.
var standardClasses = map[int]string{2: "load", 3: "profiler", 4: "profiler", 5: "profiler", 6: "load", 7: "load", 8: "queue_full"}

// work takes all GPU rows.
func (w *reference) work() {
	for r := range w.t.Replays.All() {
		if r.End > r.Start {
			start := r.Start
			if start != 0 {
				start += w.offset
			}
			w.gpuRow(graphTable, 2, event.Graph, start, r.End+w.offset, r.Process, r.Device, r.Stream, r.Corr)
		}
	}
	for k := range w.t.Kernels.All() {
		r := w.gpuRow(kernelTable, 3, event.Kernel, k.Start+w.offset, k.End+w.offset, k.Process, k.Device, k.Stream, k.Corr)
		if r == nil {
			continue
		}
		short, demangled := w.t.KernelText(k.Name)
		if !w.has(kernelTable, "demangledName") {
			demangled = ""
		}
		if r.name = short; !w.has(kernelTable, "shortName") {
			r.name = demangled
		}
		if !w.has("StringIds") {
			r.name, demangled = "", ""
		}
		if m := compiledFor.FindStringSubmatch(demangled); m != nil {
			n, _ := strconv.Atoi(m[1])
			w.sizes[r.name] = int32(n)
		}
		r.class = kernelClass(r.name)
		r.node = w.optional(kernelTable, "graphNodeId", int64(k.Node))
	}
	copies := map[uint8]string{0: "memcpy", 1: "memcpy HtoD", 2: "memcpy DtoH", 8: "memcpy DtoD"}
	for c := range w.t.Copies.All() {
		if r := w.gpuRow(memcpyTable, 4, event.Memcpy, c.Start+w.offset, c.End+w.offset, c.Process, c.Device, c.Stream, c.Corr); r != nil {
			if r.name = copies[c.Kind]; !w.has(memcpyTable, "copyKind") {
				r.name = "memcpy"
			}
			if (c.Kind == 1 || c.Kind == 2) && w.has(memcpyTable, "copyKind", "srcKind", "dstKind") {
				if r.class = "pinned"; c.Pageable {
					r.class = "pageable"
				}
			}
			r.node = w.optional(memcpyTable, "graphNodeId", int64(c.Node))
			if w.has(memcpyTable, "bytes") {
				r.bytes = new(c.Bytes)
			}
		}
	}
	for f := range w.t.Fills.All() {
		if r := w.gpuRow(memsetTable, 5, event.Memset, f.Start+w.offset, f.End+w.offset, f.Process, f.Device, f.Stream, f.Corr); r != nil {
			r.node, r.bytes = w.optional(memsetTable, "graphNodeId", int64(f.Node)), new(f.Bytes)
		}
	}
	syncs := []string{"sync", "event sync", "stream wait event", "stream sync", "context sync"}
	for s := range w.t.Syncs.All() {
		stream := s.Stream
		if s.Kind == 1 {
			stream = 1<<32 - 1
		}
		if r := w.gpuRow(syncTable, 6, event.Sync, s.Start+w.offset, s.End+w.offset, s.Process, s.Device, stream, s.Corr); r != nil {
			r.name = syncs[s.Kind]
		}
	}
}

// gpuRow adds a GPU row, or none where the export has not got it.
func (w *reference) gpuRow(table string, order int, kind event.Kind, start, end int64, process, device int32, stream, corr uint32) *referenceRow {
	if !w.has(table, "start", "end") || end < start {
		return nil
	}
	r := &referenceRow{kind: kind, table: order, start: start, end: end, name: event.Kinds[kind], process: w.processID(table, "globalPid", process)}
	if device != 1<<31-1 && w.has(table, "deviceId") {
		r.device = new(int64(device))
	}
	if stream != 1<<32-1 && w.has(table, "streamId") {
		r.stream = new(int64(stream))
	}
	r.corr = w.optional(table, "correlationId", int64(corr))
	w.gpu = append(w.gpu, r)
	return r
}
