package sim

import (
	"math/rand/v2"
)

// Random returns a small adversarial trace, and how to write it. It has several
// processes, devices, streams and threads; equal starts, empty and overlapping kernels;
// ranges that nest, overlap, never close or begin before the session; launches without
// kernels and kernels without launches; gaps around the limits of 1 ms and 100 ms;
// missing tables and columns. It has a few hundred rows at most. The same seed gives the
// same trace.
func Random(seed uint64) (*Trace, Options) {
	g := &randomizer{r: rand.New(rand.NewPCG(seed, 0x5eed)), t: &Trace{}}
	g.session()
	for range 1 + g.r.IntN(3) {
		g.process()
	}
	g.now = g.among(-3_000_000, 0, 1_000_000, 3_000_000_000)
	steps := 1 + g.r.IntN(14)
	if g.oneIn(30) {
		steps = 0
	}
	for i := range steps {
		for p := range g.processes {
			if g.r.IntN(8) > 0 {
				g.step(&g.processes[p], i)
			}
		}
		g.now += g.among(0, 1, 1_000, 999_999, 1_000_000, 1_000_001, 99_999_999, 100_000_000, 100_000_001, 250_000_000)
	}
	return g.t, g.options()
}

// randomDrops are the columns and tables that a random export may lack. Without
// one of the others, rows would be meaningless.
var randomDrops = []string{
	"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY", "PROCESSES",
	"TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT", "META_DATA_CAPTURE",
	"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	"CUPTI_ACTIVITY_KIND_KERNEL.graphNodeId", "CUPTI_ACTIVITY_KIND_KERNEL.correlationId",
	"CUPTI_ACTIVITY_KIND_KERNEL.demangledName", "CUPTI_ACTIVITY_KIND_KERNEL.contextId",
	"CUPTI_ACTIVITY_KIND_KERNEL.graphId", "CUPTI_ACTIVITY_KIND_RUNTIME.eventClass",
	"CUPTI_ACTIVITY_KIND_MEMCPY.bytes", "NVTX_EVENTS.text", "NVTX_EVENTS.textId",
	"NVTX_EVENTS.domainId", "NVTX_EVENTS.jsonText", "NVTX_EVENTS.rangeId",
}

// randomKernels are names near the borders between classes.
var randomKernels = []string{
	collectiveNames["trtllm"], collectiveNames["nccl"], collectiveNames["vllm"],
	"void tensorrt_llm::kernels::ar_fusion::lamport_initialize_kernel<float>(int)",
	"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
	"nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
	"void flash_fwd_kernel<Flash_fwd_kernel_traits<(int)64, (int)128>>(Flash_fwd_params)",
	"void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<int>>(int, T2)",
	"kernel, with \"quotes\" and größe",
}

var randomCalls = []string{
	"cudaLaunchKernel_v7000", "cudaLaunchKernel", "cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernelExC_v11060",
	"cuLaunchKernelEx", "cuLaunchKernelEx_ptsz", "cuLaunchKernel",
}

var randomOtherCalls = []string{
	"cudaStreamSynchronize_v3020", "cudaEventSynchronize_v3020", "cuStreamSynchronize_ptsz", "cudaStreamWaitEvent_v3020",
	"cudaMemcpy_v3020", "cudaMalloc_v3020", "cuMemAlloc_v2", "cudaEventQuery_v3020", "cudaLaunchHostFunc_v10000",
	"cudaGraphInstantiate_v12000",
}

var randomRanges = []string{
	"_schedule", "_prepare_inputs", "prepare_inputs", "_prepare_tp_inputs 3", "layer 12", "layer 13", "", "a, b;\n\"c\"",
	"Holding GIL", "Waiting for GIL", "Python GC",
}

type randomizer struct {
	r         *rand.Rand
	t         *Trace
	processes []randomProcess
	now       int64
}

type randomProcess struct {
	index   int32
	pid     uint32
	devices []int32
	corr    uint32
	markers Markers
}

// among returns one of the values.
func (g *randomizer) among(values ...int64) int64 { return values[g.r.IntN(len(values))] }

// pick returns one of the names.
func (g *randomizer) pick(list []string) string { return list[g.r.IntN(len(list))] }

// oneIn reports true once in n calls on average.
func (g *randomizer) oneIn(n int) bool { return g.r.IntN(n) == 0 }

// length returns a duration in ns, often a round one so that ends coincide with starts.
func (g *randomizer) length() int64 {
	return g.among(0, 1, 1_000, 2_000, 5_000, 10_000, 50_000, g.r.Int64N(200_000))
}

// session draws the clock, which the export may lack.
func (g *randomizer) session() {
	g.t.Session.UTC = g.among(0, 1_780_000_000_000_000_000, 1_779_999_999_999_000_000)
	g.t.Session.Shift = g.among(0, 0, 0, 1_000_000, -1_000_000)
	g.t.Session.Normalize = g.oneIn(6)
	g.t.Capture.GraphMode = g.pick([]string{"", "Node", "Graph"})
	g.t.Capture.Secret = "CANARY-random"
}

// process adds a process. It may have no device, or share one with others.
func (g *randomizer) process() {
	p := randomProcess{pid: uint32(100 * (len(g.processes) + 1)), corr: uint32(g.among(0, 4))}
	p.markers = AllMarkers()[g.r.IntN(len(AllMarkers()))]
	var hw uint8
	if g.oneIn(4) {
		hw = 200 // its ids are negative in SQLite
	}
	p.index = g.t.AddProcess(Process{PID: p.pid, HW: hw, VM: uint8(g.r.IntN(2))})
	for range g.r.IntN(3) {
		p.devices = append(p.devices, int32(g.r.IntN(3)))
	}
	g.processes = append(g.processes, p)
}

// step adds one burst of work of a process.
func (g *randomizer) step(p *randomProcess, number int) {
	tid := p.pid + uint32(g.r.IntN(2))
	start := g.now
	at := start
	for range g.r.IntN(6) {
		at = g.event(p, tid, at) + g.among(0, 0, 1_000, -500, 40_000)
	}
	if at < start {
		at = start
	}
	if text := p.markers.Marker(number, int(g.among(0, 0, 1)), 7, int(g.among(0, 4, 4))); text != "" && !g.oneIn(6) {
		g.addRange(p, tid, start, at, text)
	}
	g.now = start + (at-start)*g.among(0, 1, 1)
}

// event adds one event and returns its end on the host.
func (g *randomizer) event(p *randomProcess, tid uint32, at int64) int64 {
	end := at + g.length()
	switch g.r.IntN(10) {
	case 0:
		g.addRange(p, tid, at, end, g.pick(randomRanges))
	case 1:
		g.call(p, tid, at, end, g.pick(randomOtherCalls))
	case 2:
		corr := g.call(p, tid, at, end, "cudaMemcpyAsync_v3020")
		if len(p.devices) > 0 {
			start, done := g.gpu(at)
			g.t.Copies.Add(Copy{Bytes: g.among(0, 1, 1<<40), Kind: uint8(g.among(1, 2, 8)),
				Work: Work{Start: start, End: done, Corr: corr, Stream: g.stream(), Context: 1, Process: p.index, Device: g.device(p)}})
		}
	case 3:
		g.graph(p, tid, at, end)
	case 4:
		g.t.Overheads.Add(Overhead{Start: at, End: end, Name: g.t.String("CUPTI buffer flush"), Kind: 3,
			Process: p.index, TID: tid, CUPTI: g.oneIn(2)})
	default:
		g.launch(p, tid, at, end)
	}
	return end
}

// launch adds a launch call and its kernel, or only one of them.
func (g *randomizer) launch(p *randomProcess, tid uint32, at, end int64) {
	corr := p.corr
	if !g.oneIn(9) {
		corr = g.call(p, tid, at, end, g.pick(randomCalls))
	}
	if g.oneIn(9) || len(p.devices) == 0 {
		return
	}
	start, done := g.gpu(at)
	g.kernel(p, start, done, corr, 0, g.device(p))
}

// graph adds a graph launch and what was recorded of the replay.
func (g *randomizer) graph(p *randomProcess, tid uint32, at, end int64) {
	corr := g.call(p, tid, at, end, g.pick([]string{"cudaGraphLaunch_v10000", "cuGraphLaunch_ptsz"}))
	if len(p.devices) == 0 || g.oneIn(5) {
		return
	}
	device := g.device(p)
	start, done := g.gpu(at)
	if g.oneIn(3) {
		if g.oneIn(4) {
			start, done = 0, 0
		}
		g.t.Replays.Add(Replay{Graph: 1, Exec: 2,
			Work: Work{Start: start, End: done, Corr: corr, Stream: g.stream(), Context: 1, Process: p.index, Device: device}})
		return
	}
	for i := range 1 + g.r.IntN(4) {
		g.kernel(p, start, done, corr, uint64(10+i), device)
		start = done + g.among(0, 0, 700, -200)
		done = start + g.length()
	}
}

// kernel adds a kernel.
func (g *randomizer) kernel(p *randomProcess, start, end int64, corr uint32, node uint64, device int32) {
	g.t.Kernels.Add(Kernel{Name: g.t.KernelName("", g.pick(randomKernels)),
		Work: Work{Start: start, End: end, Corr: corr, Node: node, Stream: g.stream(), Context: 1, Process: p.index, Device: device}})
}

// gpu returns when work with a given call time runs, which may be before the call.
func (g *randomizer) gpu(called int64) (start, end int64) {
	start = called + g.among(-1_000, 0, 3_000, 3_000, 20_000, 400_000)
	return start, start + g.length()
}

// stream returns the id of a stream, most often the default one.
func (g *randomizer) stream() uint32 { return uint32(g.among(7, 7, 13, 14)) }

// device returns one of the process's devices, of which there must be one.
func (g *randomizer) device(p *randomProcess) int32 { return p.devices[g.r.IntN(len(p.devices))] }

// call adds a call and returns its correlation id. Other processes use the same ids, and
// sometimes so does another call of the same process.
func (g *randomizer) call(p *randomProcess, tid uint32, start, end int64, name string) uint32 {
	if !g.oneIn(15) {
		p.corr++
	}
	g.t.Calls.Add(Call{Start: start, End: end, Name: g.t.String(name), Corr: p.corr, Process: p.index, TID: tid})
	return p.corr
}

// addRange adds a range, a mark, or a range that is never closed, with its text in any
// form.
func (g *randomizer) addRange(p *randomProcess, tid uint32, start, end int64, text string) {
	n := NVTXEvent{Start: start, End: end, Kind: NVTXPushPop, Process: p.index, TID: tid, Domain: uint32(g.r.IntN(2)),
		Form: TextForm(g.r.IntN(3))}
	n.Text = g.t.String(text)
	switch g.r.IntN(12) {
	case 0:
		n.Open = true
	case 1:
		n.Kind, n.Open = NVTXMark, true
	case 2, 3:
		n.Kind, n.RangeID, n.EndTID = NVTXStartEnd, uint64(g.t.NVTX.Len()+1), tid+1
	}
	if n.Open {
		n.End = 0
	}
	g.t.NVTX.Add(n)
}

// options draws the schema and what the export lacks.
func (g *randomizer) options() Options {
	opt := Options{
		Schema:      Schemas()[g.r.IntN(len(Schemas()))],
		EmptyTables: g.oneIn(5),
		Reduced:     g.oneIn(12),
	}
	for _, d := range randomDrops {
		if g.oneIn(25) {
			opt.Drop = append(opt.Drop, d)
		}
	}
	return opt
}
