package sim

import "math"

// gpuAt is where the columns are that all tables of GPU work have.
type gpuAt struct{ start, end, device, context, stream, corr, pid int }

func (t *target) gpu() gpuAt {
	return gpuAt{t.col("start"), t.col("end"), t.col("deviceId"), t.col("contextId"),
		t.col("streamId"), t.col("correlationId"), t.col("globalPid")}
}

// work sets the columns of gpuAt.
func (t *target) work(at gpuAt, start, end int64, device int32, context, stream, corr uint32, process int32) {
	t.Int(at.start, start)
	t.Int(at.end, end)
	t.Int(at.device, int64(device))
	t.Int(at.context, int64(context))
	t.Int(at.stream, int64(stream))
	t.orNull(at.corr, uint64(corr))
	t.Int(at.pid, t.e.trace.Processes[process].globalPid())
}

func (e *exporter) kernels() {
	w := e.open(tableKernel, e.trace.Kernels.Len())
	if w == nil {
		return
	}
	w.ints(0, "cacheConfig", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread",
		"localMemoryTotal", "clusterX", "clusterY", "clusterZ", "clusterSchedulingPolicy",
		"maxPotentialClusterSize", "maxActiveClusters", "sharedMemoryRequestedPercentage")
	w.ints(1, "launchType", "gridY", "gridZ", "blockY", "blockZ")
	w.ints(64, "registersPerThread")
	w.ints(96, "gridX")
	w.ints(256, "blockX")
	w.Text(w.col("tensorSizeMinusOneElements"), "")
	at, node, graph := w.gpu(), w.col("graphNodeId"), w.col("graphId")
	short, demangled, grid := w.col("shortName"), w.col("demangledName"), w.col("gridId")
	serial := int64(0)
	for k := range e.trace.Kernels.All() {
		w.work(at, k.Start+e.offset, k.End+e.offset, k.Device, k.Context, k.Stream, k.Corr, k.Process)
		var name kernelName
		if k.Name != 0 {
			name = e.trace.names[k.Name-1]
		}
		w.Int(short, int64(name.short))
		w.Int(demangled, int64(name.demangled))
		serial++
		w.Int(grid, serial)
		w.orNull(node, k.Node)
		w.orNull(graph, uint64(k.Graph))
		if !w.step() {
			return
		}
	}
}

func (e *exporter) replays() {
	w := e.open(tableReplay, e.trace.Replays.Len())
	if w == nil {
		return
	}
	at, graph, exec := w.gpu(), w.col("graphId"), w.col("graphExecId")
	for r := range e.trace.Replays.All() {
		w.work(at, e.collected(r.Start), e.collected(r.End), r.Device, r.Context, r.Stream, r.Corr, r.Process)
		w.Int(graph, int64(r.Graph))
		w.Int(exec, int64(r.Exec))
		if !w.step() {
			return
		}
	}
}

// collected moves a time of a whole-graph row, unless it says "not collected".
func (e *exporter) collected(ns int64) int64 {
	if ns == 0 {
		return 0
	}
	return ns + e.offset
}

func (e *exporter) copies() {
	w := e.open(tableCopy, e.trace.Copies.Len())
	if w == nil {
		return
	}
	w.ints(1, "copyCount")
	at, bytes, kind, node := w.gpu(), w.col("bytes"), w.col("copyKind"), w.col("graphNodeId")
	src, dst := w.col("srcKind"), w.col("dstKind")
	for c := range e.trace.Copies.All() {
		w.work(at, c.Start+e.offset, c.End+e.offset, c.Device, c.Context, c.Stream, c.Corr, c.Process)
		w.Int(bytes, c.Bytes)
		w.Int(kind, int64(c.Kind))
		from, to := copyEnds(c.Kind)
		if c.Pageable {
			from, to = pageable(from), pageable(to)
		}
		w.Int(src, from)
		w.Int(dst, to)
		w.orNull(node, c.Node)
		if !w.step() {
			return
		}
	}
}

// copyEnds are the kinds of memory of a copy: 1 pinned, 2 device.
func copyEnds(kind uint8) (from, to int64) {
	switch kind {
	case 1:
		return 1, 2
	case 2:
		return 2, 1
	}
	return 2, 2
}

// pageable is the kind of memory where the host's is not pinned.
func pageable(kind int64) int64 {
	if kind == 1 {
		return 0
	}
	return kind
}

func (e *exporter) fills() {
	w := e.open(tableFill, e.trace.Fills.Len())
	if w == nil {
		return
	}
	w.ints(0, "value")
	w.ints(2, "memKind")
	at, bytes, node := w.gpu(), w.col("bytes"), w.col("graphNodeId")
	for f := range e.trace.Fills.All() {
		w.work(at, f.Start+e.offset, f.End+e.offset, f.Device, f.Context, f.Stream, f.Corr, f.Process)
		w.Int(bytes, f.Bytes)
		w.orNull(node, f.Node)
		if !w.step() {
			return
		}
	}
}

// noStream is what CUPTI writes as the stream of a wait for an event.
const noStream = math.MaxUint32

func (e *exporter) syncs() {
	w := e.open(tableSync, e.trace.Syncs.Len())
	if w == nil {
		return
	}
	at, kind, event := w.gpu(), w.col("syncType"), w.col("eventId")
	for s := range e.trace.Syncs.All() {
		stream := s.Stream
		if s.Kind == 1 {
			stream = noStream
		}
		w.work(at, s.Start+e.offset, s.End+e.offset, s.Device, s.Context, stream, s.Corr, s.Process)
		w.Int(kind, int64(s.Kind))
		w.Int(event, 0)
		if !w.step() {
			return
		}
	}
}
