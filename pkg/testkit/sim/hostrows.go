package sim

// Switch is a thread's arrival at a CPU, or its departure: a row of SCHED_EVENTS.
type Switch struct {
	At      int64  // ns
	Process int32  // index in Trace.Processes
	TID     uint32 // thread id
	CPU     int32  // number of the CPU
	In      bool   // the thread arrived
}

// OSCall is a call of the operating system's libraries: a row of OSRT_API.
type OSCall struct {
	Start, End int64    // ns
	Name       StringID // as the library names it
	Process    int32    // index in Trace.Processes
	TID        uint32   // thread id
}

// CPUSample is a thread that was sampled on a CPU: a row of COMPOSITE_EVENTS, with one
// row of SAMPLING_CALLCHAINS per frame.
type CPUSample struct {
	At      int64   // ns
	Process int32   // index in Trace.Processes
	TID     uint32  // thread id
	Stack   []Frame // leaf first; shared by all samples with the same stack
}

// Frame is a function in a stack.
type Frame struct {
	Symbol StringID // name of the function
	Module StringID // path of its library or program
}

var tableSwitch = table{name: "SCHED_EVENTS", columns: join(
	must("start", i64).says(nvtxStart), must("cpu", i32), must("isSchedIn", u8), maybe("globalTid", u64).says(nvtxID),
)}

var tableOSCall = table{name: "OSRT_API", columns: join(startEnd(),
	must("eventClass", u8), maybe("globalTid", u64).says(nvtxID), must("nameId", u32).says(nvtxString),
	must("returnValue", i32), must("nestingLevel", u32), must("callchainId", u32),
)}

var tableSample = table{name: "COMPOSITE_EVENTS", columns: join(
	must("id", u64).primary(), must("start", i64).says(nvtxStart), maybe("cpu", i32), maybe("threadState", u8),
	maybe("globalTid", u64).says(nvtxID), must("cpuCycles", u64),
)}

var tableSampleStack = table{name: "SAMPLING_CALLCHAINS", columns: join(
	must("id", u64), must("symbol", u32).says(nvtxString), must("module", u32).says(nvtxString), maybe("kernelMode", u8),
	maybe("unresolved", u8), maybe("unwindMethod", u8), must("stackDepth", u16),
)}

// hostRows writes what the operating system and samples show of threads.
func (e *exporter) hostRows() {
	tid := func(process int32, tid uint32) int64 { return e.trace.Processes[process].globalTid(tid) }
	rows(e, tableSwitch, &e.trace.Switches, func(w *target) func(*Switch) {
		return func(s *Switch) {
			w.Int(w.col("start"), s.At+e.offset)
			w.Int(w.col("cpu"), int64(s.CPU))
			w.Int(w.col("isSchedIn"), int64(bit(s.In)))
			w.Int(w.col("globalTid"), tid(s.Process, s.TID))
		}
	})
	rows(e, tableOSCall, &e.trace.OSCalls, func(w *target) func(*OSCall) {
		w.ints(27, "eventClass")
		w.ints(0, "returnValue", "nestingLevel", "callchainId")
		return func(c *OSCall) {
			w.Int(w.col("start"), c.Start+e.offset)
			w.Int(w.col("end"), c.End+e.offset)
			w.Int(w.col("globalTid"), tid(c.Process, c.TID))
			w.Int(w.col("nameId"), int64(c.Name))
		}
	})
	frames, id := List[sampleFrame]{}, int64(0)
	rows(e, tableSample, &e.trace.Samples, func(w *target) func(*CPUSample) {
		w.ints(1, "cpu", "threadState", "cpuCycles")
		return func(s *CPUSample) {
			id++
			w.Int(w.col("id"), id)
			w.Int(w.col("start"), s.At+e.offset)
			w.Int(w.col("globalTid"), tid(s.Process, s.TID))
			for depth, f := range s.Stack {
				frames.Add(sampleFrame{id, int64(depth), f})
			}
		}
	})
	rows(e, tableSampleStack, &frames, func(w *target) func(*sampleFrame) {
		w.ints(0, "kernelMode", "unresolved")
		w.ints(7, "unwindMethod")
		return func(f *sampleFrame) {
			w.Int(w.col("id"), f.id)
			w.Int(w.col("stackDepth"), f.depth)
			w.Int(w.col("symbol"), int64(f.Symbol))
			w.Int(w.col("module"), int64(f.Module))
		}
	})
}

// sampleFrame is a frame of a sample; depth is 0 for the leaf.
type sampleFrame struct {
	id, depth int64
	Frame
}

// bit returns 1 for true and 0 for false.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
