package sim

import "math"

// gpuAt has the positions of the columns that all tables of GPU work share.
type gpuAt struct{ start, end, device, context, stream, corr, pid, node int }

// gpu finds these columns; a version may lack some.
func (t *target) gpu() gpuAt {
	return gpuAt{t.col("start"), t.col("end"), t.col("deviceId"), t.col("contextId"),
		t.col("streamId"), t.col("correlationId"), t.col("globalPid"), t.col("graphNodeId")}
}

// work sets these columns.
func (t *target) work(at gpuAt, w *Work) {
	t.Int(at.start, w.Start+t.e.offset)
	t.Int(at.end, w.End+t.e.offset)
	t.Int(at.device, int64(w.Device))
	t.Int(at.context, int64(w.Context))
	t.Int(at.stream, int64(w.Stream))
	t.orNull(at.corr, uint64(w.Corr))
	t.Int(at.pid, t.e.trace.Processes[w.Process].globalPid())
	t.orNull(at.node, w.Node)
}

// kernels writes the kernels. Columns that no reader needs are the same in every row.
func (e *exporter) kernels() {
	rows(e, tableKernel, &e.trace.Kernels, func(w *target) func(*Kernel) {
		w.ints(0, "cacheConfig", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread",
			"localMemoryTotal", "clusterX", "clusterY", "clusterZ", "clusterSchedulingPolicy",
			"maxPotentialClusterSize", "maxActiveClusters", "sharedMemoryRequestedPercentage")
		w.ints(1, "launchType", "gridY", "gridZ", "blockY", "blockZ")
		w.ints(64, "registersPerThread")
		w.ints(96, "gridX")
		w.ints(256, "blockX")
		w.Text(w.col("tensorSizeMinusOneElements"), "")
		at, graph := w.gpu(), w.col("graphId")
		short, demangled, grid := w.col("shortName"), w.col("demangledName"), w.col("gridId")
		serial := int64(0)
		return func(k *Kernel) {
			w.work(at, &k.Work)
			var name kernelName
			if k.Name != 0 {
				name = e.trace.names[k.Name-1]
			}
			w.Int(short, int64(name.short))
			w.Int(demangled, int64(name.demangled))
			serial++
			w.Int(grid, serial)
			w.orNull(graph, uint64(k.Graph))
		}
	})
}

// replays writes whole-graph rows. Times of 0 are not shifted: they mean that the replay
// was not collected.
func (e *exporter) replays() {
	rows(e, tableReplay, &e.trace.Replays, func(w *target) func(*Replay) {
		at, graph, exec := w.gpu(), w.col("graphId"), w.col("graphExecId")
		return func(r *Replay) {
			w.work(at, &r.Work)
			if r.Start == 0 { // not collected
				w.Int(at.start, 0)
			}
			if r.End == 0 {
				w.Int(at.end, 0)
			}
			w.Int(graph, int64(r.Graph))
			w.Int(exec, int64(r.Exec))
		}
	})
}

// copies writes the copies, with the kind of memory at both ends.
func (e *exporter) copies() {
	rows(e, tableCopy, &e.trace.Copies, func(w *target) func(*Copy) {
		w.ints(1, "copyCount")
		at, bytes, kind := w.gpu(), w.col("bytes"), w.col("copyKind")
		src, dst := w.col("srcKind"), w.col("dstKind")
		return func(c *Copy) {
			w.work(at, &c.Work)
			w.Int(bytes, c.Bytes)
			w.Int(kind, int64(c.Kind))
			from, to := copyEnds(c.Kind)
			if c.Pageable {
				from, to = pageable(from), pageable(to)
			}
			w.Int(src, from)
			w.Int(dst, to)
		}
	})
}

// copyEnds returns the kinds of memory of a copy: 1 pinned, 2 device.
func copyEnds(kind uint8) (from, to int64) {
	switch kind {
	case 1:
		return 1, 2
	case 2:
		return 2, 1
	}
	return 2, 2
}

// pageable returns a kind of memory with pageable, 0, instead of pinned.
func pageable(kind int64) int64 {
	if kind == 1 {
		return 0
	}
	return kind
}

// fills writes the memsets.
func (e *exporter) fills() {
	rows(e, tableFill, &e.trace.Fills, func(w *target) func(*Fill) {
		w.ints(0, "value")
		w.ints(2, "memKind")
		at, bytes := w.gpu(), w.col("bytes")
		return func(f *Fill) {
			w.work(at, &f.Work)
			w.Int(bytes, f.Bytes)
		}
	})
}

// noStream is the stream that CUPTI writes for a wait for an event.
const noStream = math.MaxUint32

// syncs writes the waits. A wait for an event has no stream.
func (e *exporter) syncs() {
	rows(e, tableSync, &e.trace.Syncs, func(w *target) func(*Sync) {
		at, kind, event := w.gpu(), w.col("syncType"), w.col("eventId")
		return func(s *Sync) {
			w.work(at, &s.Work)
			if s.Kind == 1 {
				w.Int(at.stream, noStream)
			}
			w.Int(kind, int64(s.Kind))
			w.Int(event, 0)
		}
	})
}
