package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// The ids that every simulated process uses.
const (
	engineDomain = 1
	gilDomain    = 2
	firstPID     = 4000
	mainStream   = 7
	graphID      = 5
	execID       = 6
	draftGraph   = 4000
	firstNode    = 1000
)

// Times of the machine, in ns.
const (
	apiToKernel   = 3200 // from the start of a launch call to the earliest start of its kernel
	graphToKernel = 14000
	eagerGap      = 900 // between two kernels that were both queued
	replayGap     = 650
	callCost      = 1300 // of a call that does little
)

// Simulate runs the configured inference and returns what nsys would have recorded, with
// all ranks in one report. The same Config gives the same Trace.
//
// Each rank has one host thread that works through the operations of a step. Each GPU has
// one queue, or one per stream. A kernel starts when its call was made and the kernel
// before it is done. A collective ends on all ranks at once.
func Simulate(c Config) (*Trace, error) {
	s, err := simulate(c, false, false)
	if err != nil {
		return nil, err
	}
	return s.traces[0], nil
}

// SimulateReports is Simulate with one report per rank. Their clocks differ as the Config
// says.
func SimulateReports(c Config) ([]*Trace, error) { return SimulateTraces(c, true) }

// SimulateTraces is SimulateTruth without keeping the truth.
func SimulateTraces(c Config, split bool) ([]*Trace, error) {
	s, err := simulate(c, split, false)
	if err != nil {
		return nil, err
	}
	return s.traces, nil
}

// simulate runs the whole simulation. With split each rank has a report of its own.
// Without told only the truth of the latest step is kept.
func simulate(c Config, split, told bool) (*simulator, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	s := &simulator{c: c, told: told}
	s.newTraces(split)
	s.addRanks()
	s.addNoise()
	s.begin()
	for i := range c.Warmup {
		s.step(s.warmup(i))
	}
	if c.Warmup > 0 {
		s.idle(int64(c.Pause * 1e6))
	}
	s.run()
	s.help()
	s.conclude()
	s.cutRanges()
	for i, t := range s.traces {
		t.shiftClock(at(c.ClockOffset, i), at(c.ClockError, i))
	}
	return s, nil
}

// at returns element i of times in us as ns, 0 if there is none.
func at(us []float64, i int) int64 {
	if i >= len(us) {
		return 0
	}
	return int64(us[i] * 1e3)
}

// run simulates the benchmark segment.
func (s *simulator) run() {
	c := s.c
	for i := 0; ; i++ {
		if c.Events > 0 && s.rows() >= c.Events || c.Events == 0 && i >= c.Steps {
			break
		}
		s.pause(i)
		s.profile(i)
		s.step(s.plan(i))
	}
	s.endProfile()
}

// rows returns the number of rows in all reports so far.
func (s *simulator) rows() int {
	n := 0
	for _, t := range s.traces {
		n += t.Rows()
	}
	return n
}

// simulator is the state of a run.
type simulator struct {
	c       Config
	traces  []*Trace
	ranks   []*rank
	devices []*device
	sent    int64 // time when the first rank has sent this step's requests
	// kernels are those of the step on all ranks, before they are sorted.
	kernels []placedKernel
	truth   Truth
	told    bool // keep the truth of all steps
	segment int
	limit   limit      // limit on the CPU time of all processes
	ranges  []recorded // stretches that were recorded, empty if all was
}

type placedKernel struct {
	trace *Trace
	k     Kernel
}

// rank is one process: its host thread's clock and what it owns. Times are in ns.
type rank struct {
	s            *simulator
	index        int
	t            *Trace
	m            model
	process      int32
	tid          uint32
	now          int64
	corr         uint32
	rangeID      uint64
	rng          *rand.Rand
	devices      []*device
	waited       int64   // end of the GPU work so far
	done         []int64 // end of each step's GPU work
	noise        *process
	factor       float64 // factor on host work in this step
	true         *TrueStep
	kernelFactor float64 // factor on kernels in this step
	holding      int64   // time since which the thread holds the GIL
	step         stepInfo

	cpu              int32      // CPU of its thread, if that is recorded
	experts          int        // layers with experts so far
	lostFrom, lostTo int64      // time that the host lost in this step
	off              bool       // it was off its CPU while getting requests
	sampled          int64      // end of the time with samples so far
	bursts           [][2]int64 // garbage collections of this step, start and end
	stacks           map[string][]Frame
}

// stepInfo describes a step.
type stepInfo struct {
	number, ctx, tokens, gen int
	eager                    bool    // no graph is replayed
	graph                    int     // batch size of its graph
	load                     float64 // factor of the batch on kernels
}

// newTraces makes one report or, with split, one per rank.
func (s *simulator) newTraces(split bool) {
	n := 1
	if split {
		n = s.c.Ranks
	}
	for range n {
		t := &Trace{}
		t.Session = Session{UTC: s.c.UTC, SystemClock: 35_255_823_190}
		t.Capture = Capture{Secret: s.c.Secret, GraphMode: "Node"}
		if s.c.Mode == Whole {
			t.Capture.GraphMode = "Graph"
		}
		s.traces = append(s.traces, t)
	}
}

// addRanks makes processes, devices and domains.
func (s *simulator) addRanks() {
	if s.c.Frontend {
		s.addFrontend()
	}
	for i := range s.c.Ranks {
		t := s.traces[i%len(s.traces)]
		pid := uint32(firstPID + 17*i)
		r := &rank{s: s, index: i, t: t, tid: pid, now: s.c.Start, corr: 1000}
		r.process = t.AddProcess(Process{PID: pid, VM: 1})
		r.m = newModel(t, &s.c, i)
		for k := range s.c.Devices {
			id := int32(i*s.c.Devices + k)
			t.GPUs = append(t.GPUs, GPU{ID: id, Name: "NVIDIA H200"})
			d := &device{rank: r, id: id}
			r.devices = append(r.devices, d)
			s.devices = append(s.devices, d)
		}
		s.ranks = append(s.ranks, r)
		s.truth.Ranks = append(s.truth.Ranks, TrueRank{Layers: r.m.depth})
		r.domain(engineDomain, "TensorRT-LLM")
		if s.c.GIL > 0 || s.c.Why.Kind == "gil" || s.c.Why.Kind == "collector" {
			r.domain(gilDomain, "GIL Trace")
		}
	}
}

// domain records the creation of an NVTX domain before the run.
func (r *rank) domain(id uint32, name string) {
	if d, _ := r.s.c.domain(); id == engineDomain && d == 0 {
		return
	}
	r.t.NVTX.Add(NVTXEvent{Start: r.now - 30_000_000, Kind: NVTXDomain, Text: r.t.LiteralText(name),
		Form: Literal, Domain: id, Process: r.process, TID: r.tid, Open: true})
}

// addFrontend adds the server process in front of the ranks. Readers must not take its
// ranges for a rank's.
func (s *simulator) addFrontend() {
	t := s.traces[0]
	p := t.AddProcess(Process{PID: firstPID - 100, VM: 1, Name: "trtllm-serve"})
	start := s.c.Start
	for i := range 40 {
		at := start + int64(i)*9_000_000
		t.NVTX.Add(NVTXEvent{Start: at, End: at + 450_000, Kind: NVTXPushPop, Text: t.String("tokenize prompt"), Process: p, TID: firstPID - 100})
		t.NVTX.Add(NVTXEvent{Start: at + 500_000, End: at + 700_000, Kind: NVTXPushPop, Text: t.String("chat_stream_post_processor"), Process: p, TID: firstPID - 99})
	}
	t.NVTX.Add(NVTXEvent{Start: start, End: start + 5_000_000, Kind: NVTXPushPop, Text: t.String("prepare_inputs"), Process: p, TID: firstPID - 100})
}

// begin loads modules and allocates memory on every rank.
func (s *simulator) begin() {
	for _, r := range s.ranks {
		r.rng = s.random(r.index, -1)
		r.beginHost()
		for range 6 {
			r.call(apiLoad, r.spread(420, 0.2))
		}
		for range 8 {
			r.call(apiMalloc, r.spread(130, 0.2))
		}
		if s.c.Overheads {
			r.overheads()
		}
	}
}

// overheads adds time of the profiler at the beginning, reported by nsys and by CUPTI.
func (r *rank) overheads() {
	start := r.now
	r.now += 260_000
	r.t.Overheads.Add(Overhead{Start: start, End: r.now, Name: r.t.String("CUPTI buffer flush"), Process: r.process, TID: r.tid, Kind: 3})
	r.t.Overheads.Add(Overhead{Start: start + 1000, End: r.now - 1000, Name: r.t.String("Lazy Function Loading"), Process: r.process, TID: r.tid, Kind: 7, CUPTI: true})
}

// random returns the source of a rank's noise in one step. Each step has its own, so a
// change in one place of a run leaves the noise elsewhere unchanged.
func (s *simulator) random(rank, step int) *rand.Rand {
	return rand.New(rand.NewPCG(s.c.Seed, uint64(rank+1)<<40+uint64(step+1)))
}

// idle lets all ranks and devices do nothing for some ns.
func (s *simulator) idle(ns int64) {
	s.segment++
	latest := int64(0)
	for _, r := range s.ranks {
		latest = max(latest, r.now, r.waited)
	}
	for _, r := range s.ranks {
		if s.c.Why.Kind != "" {
			r.await(latest + ns)
		}
		r.now = latest + ns
	}
}

// spread draws a duration in ns around a mean in microseconds; noise is its relative
// standard deviation.
func (r *rank) spread(mean, noise float64) int64 {
	return int64(mean * 1e3 * max(0.2, 1+noise*r.rng.NormFloat64()))
}

// shiftClock makes a report's clock late by offset and its session start early by the
// same amount, so that they cancel except for the error. Times are in ns.
func (t *Trace) shiftClock(offset, clockError int64) {
	t.Session.UTC += clockError - offset
	if offset == 0 {
		return
	}
	shift(&t.Kernels, offset, func(k *Kernel) (_, _ *int64) { return &k.Start, &k.End })
	shift(&t.Replays, offset, func(r *Replay) (_, _ *int64) { return &r.Start, &r.End })
	shift(&t.Copies, offset, func(c *Copy) (_, _ *int64) { return &c.Start, &c.End })
	shift(&t.Fills, offset, func(f *Fill) (_, _ *int64) { return &f.Start, &f.End })
	shift(&t.Calls, offset, func(c *Call) (_, _ *int64) { return &c.Start, &c.End })
	shift(&t.NVTX, offset, func(n *NVTXEvent) (_, _ *int64) { return &n.Start, &n.End })
	shift(&t.Syncs, offset, func(s *Sync) (_, _ *int64) { return &s.Start, &s.End })
	shift(&t.Overheads, offset, func(o *Overhead) (_, _ *int64) { return &o.Start, &o.End })
	shift(&t.OSCalls, offset, func(c *OSCall) (_, _ *int64) { return &c.Start, &c.End })
	shift(&t.Switches, offset, func(s *Switch) (_, _ *int64) { return &s.At, new(int64) })
	shift(&t.Samples, offset, func(s *CPUSample) (_, _ *int64) { return &s.At, new(int64) })
}

// shift adds offset to the start and end of rows.
func shift[T any](rows *List[T], offset int64, times func(*T) (start, end *int64)) {
	rows.Change(func(r *T) {
		start, end := times(r)
		*start += offset
		*end += offset
	})
}

// step simulates one step: the hosts up to their wait, the GPUs, then the rest of the
// hosts.
func (s *simulator) step(info stepInfo) {
	s.beginTruth(info)
	wait := slices.IndexFunc(s.c.Host, func(op HostOp) bool { return op.Role == Wait })
	from := 0
	for _, at := range s.stops(wait) {
		for _, r := range s.ranks {
			if from == 0 {
				r.begin(s.ofRank(info, r))
			}
			r.operations(from, at)
		}
		s.gpus()
		s.synchronize(at)
		from = at
	}
	for _, r := range s.ranks {
		r.operations(wait, len(s.c.Host))
		r.finish()
	}
}
