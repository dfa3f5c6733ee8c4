package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// HostCause makes the host of each rank lose time after its wait for the GPU, or where it gets
// its requests, when all GPUs are idle, in a way that the operating system, the profiler or
// samples show; and records what they show of the whole run. Its zero value is none.
type HostCause struct {
	// Kind is one of
	//
	//	running      works on, the counterpart of all others
	//	lock         waits for a lock that a worker holds
	//	gil          waits for the interpreter lock, which another thread holds in a synchronisation
	//	descheduled  a busy neighbour gets the CPU, and the thread another one
	//	sleep        sleeps
	//	file         writes a file and waits for the disk
	//	jit          code is compiled
	//	profiler     the profiler works
	//	queue        the GPU's queue is said to be full
	//	gc           collects garbage, which only samples show
	//	requests     the first rank waits for requests, and the others for that one
	//	collector    waits for the interpreter lock, which another thread holds in a collection of garbage
	//	quota        all processes together have US of CPU time in each 100 ms, and stop when it is used up
	//	fetching     the first rank works where it gets them, and the others wait for it
	Kind string
	US   float64 // mean microseconds per step that loses any
	// OneIn is how many steps there are to each that loses time, 0 for one; Together says
	// that such steps come in runs of up to 8.
	OneIn    int
	Together bool
	// On is the number of the rank that loses time, from 1; 0: all of them.
	On int
	// Bursts is how many collections of garbage a step has, 0 for one.
	Bursts int
	// LongIn is how many steps there are to each that has a single collection, of ten times
	// the time, 0 for none.
	LongIn int
	// SampleUS is the distance between samples in microseconds, 0 for samples at random.
	// Jitter is by how much of that two of them may differ.
	SampleUS, Jitter float64
	// SamplerOff is the share of 20 ms in which no samples are taken, as of a sampler that the system
	// holds back.
	SamplerOff float64
}

// strikes reports whether step k loses time.
func (w *HostCause) strikes(k int) bool {
	if w.Together {
		k /= 8
	}
	return w.OneIn < 2 || k%w.OneIn == w.OneIn/2
}

// HostCauses are the kinds.
var HostCauses = []string{"running", "lock", "gil", "descheduled", "sleep", "file", "jit", "profiler", "queue", "gc", "requests", "fetching", "collector", "quota"}

// blockedIn is the call of the system that a thread is off its CPU in, by the kind of the
// cause.
var blockedIn = map[string]string{"lock": "pthread_mutex_lock", "gil": "pthread_cond_timedwait", "collector": "pthread_cond_timedwait", "sleep": "nanosleep", "file": "fsync"}

// heldUpBy is what CUPTI says held a thread up that stays on its CPU, with its
// Overhead.Kind.
var heldUpBy = map[string]struct {
	name string
	kind uint8
}{"jit": {"Driver Compiler", 2}, "profiler": {"CUPTI Buffer Flush", 3}, "queue": {"Command Buffer Full", 8}}

// The threads beside the main one that take part, by what is added to its id.
const (
	lockHolder = 5
	neighbour  = 6
	gilHolder  = 7
)

// switchCost is how long a call takes before the thread leaves its CPU, and after it comes
// back, in ns.
const switchCost = 1000

// check says what is wrong with it.
func (w *HostCause) check() error {
	if w.Kind != "" && !slices.Contains(HostCauses, w.Kind) {
		return fmt.Errorf("host cause %q is none of %v", w.Kind, HostCauses)
	}
	return nil
}

// beginHost records that the threads are on CPUs.
func (r *rank) beginHost() {
	if r.s.c.Why.Kind != "" {
		r.switches(r.now-20_000, 0, 2, true)
		r.t.OSCalls.Add(OSCall{Start: r.now - 15_000, End: r.now - 10_000, Name: r.t.String("open64"), Process: r.process, TID: r.tid})
		r.sampled = r.now
	}
}

// lose makes the host lose time, all of which the GPUs are idle.
func (r *rank) lose() {
	w := &r.s.c.Why
	if w.Kind == "quota" {
		r.throttle()
		return
	}
	if w.Kind == "" || w.getting() || !w.strikes(r.step.number) || w.On > 0 && w.On != r.index+1 {
		return
	}
	chance := r.s.chance("why", r.index, r.step.number)
	ns, bursts := w.draw(chance), w.Bursts
	if w.LongIn > 0 && r.step.number%w.LongIn == w.LongIn/2 {
		ns, bursts = 10*ns, 1
	}
	start, end := r.now, r.now+ns
	r.now, r.lostFrom, r.lostTo = end, start, end
	r.true.Lost = ns
	if call := blockedIn[w.Kind]; call != "" {
		r.blocked(call, start, end, 2)
	}
	if by, ok := heldUpBy[w.Kind]; ok {
		r.t.Overheads.Add(Overhead{Start: start, End: end, Name: r.t.String(by.name), Process: r.process, TID: r.tid, Kind: by.kind, CUPTI: true})
	}
	switch w.Kind {
	case "gc":
		r.collect(ns, int64(max(1, bursts)), chance)
	case "lock":
		r.switches(start, lockHolder, 6, true)
		r.switches(end, lockHolder, 6, false)
	case "gil":
		r.gil("Waiting for GIL", start, end, r.tid)
		r.gil("Holding GIL", start, end, r.tid+gilHolder)
		r.t.Calls.Add(Call{Start: start, End: end, Name: r.t.String(apiSync), Corr: r.id(), Process: r.process, TID: r.tid + gilHolder})
		r.true.Lost = ns // it waits all the time
	case "collector":
		r.gil("Waiting for GIL", start, end, r.tid)
		r.gil("Holding GIL", start, end, r.tid+gilHolder)
		r.rangeID++
		r.t.NVTX.Add(NVTXEvent{Start: start + 1000, End: end - 1000, Kind: NVTXStartEnd, Text: r.t.LiteralText("Python GC"), Form: Literal,
			RangeID: r.rangeID, Process: r.process, TID: r.tid + gilHolder, EndTID: r.tid + gilHolder})
		r.true.Lost = ns
	case "descheduled":
		to := int32(2 + chance.IntN(2)*4)
		r.switches(start, 0, r.cpu, false)
		r.switches(start, neighbour, r.cpu, true)
		r.switches(end, neighbour, r.cpu, false)
		r.switches(end, 0, to, true)
	}
}

// draw returns how much time a step loses, in ns.
func (w *HostCause) draw(chance *rand.Rand) int64 {
	return int64(w.US * 1e3 * max(0.3, 1+0.2*chance.NormFloat64()))
}

// getting reports whether time is lost where requests are got.
func (w *HostCause) getting() bool { return w.Kind == "requests" || w.Kind == "fetching" }

// messageNs is how long what the first rank sends is on its way to the others.
const messageNs = 3000

// loseGetting makes the hosts lose time where the first rank gets requests for all: it takes so long, and
// the others wait for what it then sends.
func (r *rank) loseGetting() {
	w, start := &r.s.c.Why, r.now
	switch {
	case !w.strikes(r.step.number):
		return
	case r.index > 0:
		r.now = max(r.now, r.s.sent+messageNs)
	default:
		r.now += w.draw(r.s.chance("why", r.index, r.step.number))
		r.s.sent = r.now
	}
	r.true.Lost, r.lostFrom, r.lostTo = r.now-start, start, r.now
	if r.off = (r.index > 0 || w.Kind == "requests") && r.now-start > 3*switchCost; r.off {
		call := "epoll_wait"
		if r.index > 0 {
			call = "recvmsg"
		}
		r.blocked(call, start, r.now, r.cpu)
	}
}

// collect makes the lost time one of several collections, with other work between them.
func (r *rank) collect(ns, bursts int64, chance *rand.Rand) {
	r.bursts = r.bursts[:0]
	for k := range bursts {
		if k > 0 {
			r.lostTo += int64(20e3 + 60e3*chance.Float64())
		} else {
			r.lostTo = r.lostFrom
		}
		r.bursts = append(r.bursts, [2]int64{r.lostTo, r.lostTo + ns/bursts})
		r.lostTo += ns / bursts
	}
	r.now, r.true.Lost = r.lostTo, ns/bursts*bursts
}

// blocked records a call in which the main thread is off its CPU but for the cost of
// leaving it, and which the step loses.
func (r *rank) blocked(call string, start, end int64, cpu int32) {
	r.offCPU(call, start, end, cpu)
	r.true.Lost = end - start - 2*switchCost
}

// await records that there is nothing to do until end, as an engine waits for requests.
func (r *rank) await(end int64) { r.offCPU("epoll_wait", r.now, end, r.cpu) }

func (r *rank) offCPU(call string, start, end int64, cpu int32) {
	r.t.OSCalls.Add(OSCall{Start: start, End: end, Name: r.t.String(call), Process: r.process, TID: r.tid})
	r.switches(start+switchCost, 0, cpu, false)
	r.switches(end-switchCost, 0, cpu, true)
}

// ownCPUs is how many CPUs of the machine each rank has for itself.
const ownCPUs = 64

// switches records that a thread, by what is added to the main one's id, came to a CPU of its
// rank's, or left it. Of the main thread it is remembered where that is.
func (r *rank) switches(at int64, thread uint32, cpu int32, in bool) {
	r.t.Switches.Add(Switch{At: at, Process: r.process, TID: r.tid + thread, CPU: ownCPUs*int32(r.index) + cpu, In: in})
	if thread == 0 {
		r.cpu = cpu
	}
}

// Microseconds between samples where the thread is in a call of CUDA, and elsewhere.
const (
	sampleInCall  = 400
	sampleOutside = 25
)

// sample records the samples since the last ones. They come at random, or at equal
// distances, far more often outside of CUDA calls than inside. In a collection all are the
// collector's.
func (r *rank) sample() {
	if r.s.c.Why.Kind == "" {
		return
	}
	chance := r.s.chance("samples", r.index, r.step.number)
	off := r.off || blockedIn[r.s.c.Why.Kind] != "" || r.s.c.Why.Kind == "descheduled" || r.s.c.Why.Kind == "quota"
	calls := r.callsSince(r.sampled)
	for {
		distance := chance.ExpFloat64() * sampleOutside
		if fixed := r.s.c.Why.SampleUS; fixed > 0 {
			distance = fixed * (1 + r.s.c.Why.Jitter*(chance.Float64()-0.5))
		}
		at := r.sampled + int64(distance*1e3)
		if at >= r.now {
			break
		}
		r.sampled = at
		if off := r.s.c.Why.SamplerOff; off > 0 && r.s.chance("off", r.index, int(at/20e6)).Float64() < off {
			continue
		}
		inLost := at >= r.lostFrom && at < r.lostTo
		inCall := slices.ContainsFunc(calls, func(c Call) bool { return at >= c.Start && at < c.End })
		if inLost && off || inCall && chance.IntN(sampleInCall/sampleOutside) > 0 {
			continue
		}
		stack := "gc_collect_main visit_decref"
		if !slices.ContainsFunc(r.bursts, func(s [2]int64) bool { return at >= s[0] && at < s[1] }) {
			stack = r.function(chance, inCall)
		}
		r.t.Samples.Add(CPUSample{At: at, Process: r.process, TID: r.tid, Stack: r.stack(stack, chance.IntN(4) == 0)})
	}
	if r.s.c.Why.SampleUS == 0 {
		r.sampled = r.now
	}
}

// callsSince returns the calls of the main thread since a time.
func (r *rank) callsSince(t int64) (calls []Call) {
	for c := range r.t.Calls.All() {
		if c.Process == r.process && c.TID == r.tid && c.Start >= t {
			calls = append(calls, *c)
		}
	}
	return calls
}

// function draws what the thread runs.
func (r *rank) function(chance *rand.Rand, inCall bool) string {
	switch u := chance.Float64(); {
	case inCall:
		return "cudaLaunchKernel"
	case u < 0.6:
		return "_PyEval_EvalFrameDefault"
	case u < 0.75:
		return "PyDict_GetItem"
	case u < 0.8:
		return "_int_malloc"
	}
	return "memcpy"
}

// modules are the files that functions are in, with a folder that no output may show.
var modules = map[byte]string{'c': "libcudart.so.12", '_': "python3.11", 'P': "python3.11", 'g': "python3.11", 'v': "python3.11", 'm': "libc.so.6"}

// stack returns a stack of a function, written with its callers first, and where deep is
// set, with all callers.
func (r *rank) stack(text string, deep bool) (stack []Frame) {
	if r.stacks == nil {
		r.stacks = map[string][]Frame{}
	}
	if deep {
		text = "_start Py_RunMain _PyEval_EvalFrameDefault " + text
	}
	if known, ok := r.stacks[text]; ok {
		return known
	}
	for _, f := range slices.Backward(strings.Fields(text)) {
		module := modules[f[0]]
		if f == "_int_malloc" {
			module = "libc.so.6"
		}
		stack = append(stack, Frame{r.t.String(f), r.t.String("/home/" + r.s.c.Secret + "user/lib/" + module)})
		if !deep {
			break
		}
	}
	r.stacks[text] = stack
	return stack
}
