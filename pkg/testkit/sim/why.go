package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// HostCause makes the host of each rank lose time while all GPUs are idle: after its wait
// for the GPU, or when it gets requests. The operating system, the profiler or samples
// show the loss, and what they show of the whole run is recorded. The zero value loses no
// time.
type HostCause struct {
	// Kind is one of
	//
	//	running      keeps working, for comparison with all others
	//	lock         waits for a lock that a worker holds
	//	gil          waits for the GIL, which another thread holds in a synchronisation
	//	descheduled  a busy neighbour gets the CPU, and the thread continues on another
	//	sleep        sleeps
	//	file         writes a file and waits for the disk
	//	jit          code is compiled
	//	profiler     the profiler works
	//	queue        CUPTI reports that the GPU's queue is full
	//	gc           collects garbage, which only samples show
	//	requests     the first rank waits for requests, and the others for the first
	//	collector    waits for the GIL, which another thread holds in a garbage collection
	//	quota        all processes together have US of CPU time per 100 ms, and stop when it is used up
	//	fetching     the first rank works to get requests, and the others wait for it
	Kind string
	US   float64 // mean microseconds per step that loses time
	// With OneIn, one step in OneIn loses time; 0 for every step. Together makes these
	// steps come in runs of 8.
	OneIn    int
	Together bool
	// On is the number of the rank that loses time, from 1; 0 for all ranks.
	On int
	// Bursts is the number of garbage collections per step, 0 for one.
	Bursts int
	// With LongIn, one step in LongIn has a single collection of ten times the length; 0
	// for none.
	LongIn int
	// SampleUS is the distance between samples in microseconds, 0 for samples at random.
	// Jitter is the width of its random variation, as a share of it.
	SampleUS, Jitter float64
	// SamplerOff is the share of 20 ms periods without samples, as from a sampler that is
	// held back by the system.
	SamplerOff float64
}

// strikes reports whether step k loses time.
func (w *HostCause) strikes(k int) bool {
	if w.Together {
		k /= 8
	}
	return w.OneIn < 2 || k%w.OneIn == w.OneIn/2
}

// HostCauses are the kinds of HostCause.
var HostCauses = []string{"running", "lock", "gil", "descheduled", "sleep", "file", "jit", "profiler", "queue", "gc", "requests", "fetching", "collector", "quota"}

// blockedIn is the system call in which a thread is off its CPU, by the kind of cause.
var blockedIn = map[string]string{"lock": "pthread_mutex_lock", "gil": "pthread_cond_timedwait", "collector": "pthread_cond_timedwait", "sleep": "nanosleep", "file": "fsync"}

// heldUpBy is what CUPTI reports as holding up a thread that stays on its CPU, with its
// Overhead.Kind.
var heldUpBy = map[string]struct {
	name string
	kind uint8
}{"jit": {"Driver Compiler", 2}, "profiler": {"CUPTI Buffer Flush", 3}, "queue": {"Command Buffer Full", 8}}

// Further threads that take part. These numbers are added to the main thread's id.
const (
	lockHolder = 5
	neighbour  = 6
	gilHolder  = 7
)

// switchCost is the time in ns from the start of a call until the thread leaves its CPU,
// and from its return until the call ends.
const switchCost = 1000

// check returns an error if the kind is unknown.
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

// lose makes the host lose time, in which the GPUs are idle.
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
		r.true.Lost = ns // it waits for the whole time
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

// getting reports whether time is lost in getting requests.
func (w *HostCause) getting() bool { return w.Kind == "requests" || w.Kind == "fetching" }

// messageNs is the time in ns that a message of the first rank takes to the others.
const messageNs = 3000

// loseGetting makes the hosts lose time when the first rank gets requests for all. The
// others wait for what it sends.
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

// collect splits the lost time into several collections with other work between them.
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

// blocked records a call in which the main thread is off its CPU, apart from the time to
// leave it and return. The step loses that time.
func (r *rank) blocked(call string, start, end int64, cpu int32) {
	r.offCPU(call, start, end, cpu)
	r.true.Lost = end - start - 2*switchCost
}

// await records that there is nothing to do until end, as when an engine waits for
// requests.
func (r *rank) await(end int64) { r.offCPU("epoll_wait", r.now, end, r.cpu) }

func (r *rank) offCPU(call string, start, end int64, cpu int32) {
	r.t.OSCalls.Add(OSCall{Start: start, End: end, Name: r.t.String(call), Process: r.process, TID: r.tid})
	r.switches(start+switchCost, 0, cpu, false)
	r.switches(end-switchCost, 0, cpu, true)
}

// ownCPUs is the number of CPUs that each rank has for itself.
const ownCPUs = 64

// switches records that a thread arrived at one of its rank's CPUs, or left it. thread is
// added to the main thread's id. The CPU of the main thread is remembered.
func (r *rank) switches(at int64, thread uint32, cpu int32, in bool) {
	r.t.Switches.Add(Switch{At: at, Process: r.process, TID: r.tid + thread, CPU: ownCPUs*int32(r.index) + cpu, In: in})
	if thread == 0 {
		r.cpu = cpu
	}
}

// Mean microseconds between samples of a thread, in CUDA calls and outside.
const (
	sampleInCall  = 400
	sampleOutside = 25
)

// sample records the samples since the last call. They come at random or at equal
// distances, far more often outside CUDA calls than inside. During a collection all show
// the collector.
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

// callsSince returns the calls of the main thread that start at t or later.
func (r *rank) callsSince(t int64) (calls []Call) {
	for c := range r.t.Calls.All() {
		if c.Process == r.process && c.TID == r.tid && c.Start >= t {
			calls = append(calls, *c)
		}
	}
	return calls
}

// function draws the function that the thread runs.
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

// modules are the files of functions, by the first letter of their name. Their folder
// must not appear in any output.
var modules = map[byte]string{'c': "libcudart.so.12", '_': "python3.11", 'P': "python3.11", 'g': "python3.11", 'v': "python3.11", 'm': "libc.so.6"}

// stack returns a stack. In text, callers come first. Unless deep is set, only the last
// function is kept.
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
