// Package replay moves the rows of a run to where they would have been had the host, or the
// GPU, been different. Without a change every row stays where it is, to the ns.
//
// A Trace is read once, and then gone through in the order of old times, of all ranks
// together, with any number of scenarios side by side: each host thread and each stream
// carries its own new time for each of them. A first pass finds what the run says of itself
// (latencies, which record a wait for an event is for), a second one moves.
//
// # Host (thread.go)
//
// The time between two points of a thread (starts and ends of calls, ranges, calls of the operating
// system) keeps its length times its factor. Factors of changes multiply; where ranges of one
// change nest, time counts once. Changes of all host time leave calls of the operating system that
// wait, sleep, read or write as they are. A thread that launches nothing carries, after 100 us in
// which no range or call of it is open, the shift of the thread that launched last in its process:
// it was woken; forward-step ranges of such a thread mark what others do, and do not count as open.
// So does, other than SPEC 12 has it, one that launches, after 100 us in which nothing of it begins
// or ends, in no call, where calls of the operating system were not recorded and the other began to
// work and launched for the same GPU meanwhile: it handed work over (a backward pass, a copy). Not
// valid for threads that share a CPU or the interpreter lock without ranges that say so.
//
// # Units (unit.go)
//
// A unit is a row of GPU work; its predecessor is, of the rows of its stream that started earlier,
// the one with the latest end. It starts after its call by what it took to start where the host was
// last, and after its predecessor by the gap there was where the stream was (what it took to start
// is learned by the name of its call, from units that neither work of their stream nor an event
// held back). A unit of a replay that is not its first follows the latest of its replay that had
// ended; one that overlaps what it follows by more than 1 us keeps its distance to the start of
// that, times its factor; one that started late, right after the end of a unit of another stream,
// follows that one, too, where its thread made a stream wait. What none of this explains keeps its
// delay. The part of a call before it hands the work over is host time: a call that is made shorter
// starts its unit sooner. A unit whose stream was made to wait also starts after what its thread
// had launched on other streams when the latest event was recorded. Not valid for graphs that were
// recorded as a whole, which are one unit, nor for units that compete for the GPU: their lengths
// are those of the recording.
//
// # Waits (wait.go)
//
// A call that waits ends when the unit that it waits for has ended, by what it took to return then;
// what ended before it began was not waited for. Units are found by the stream, where that was
// recorded, else by the process: then, other than SPEC 12 has it, each stream of that GPU is waited for, since another
// one may be the last now, but for those on which work went on. A copy blocks where its row ends inside its call, but not, other
// than SPEC 12 has it, an asynchronous one from or to what was recorded as pinned memory; a launch
// in a full queue ends with the unit that freed it, and a queue is full where that was recorded or
// 1,016 launches wait; queries one after the other are one wait. What is inside a wait moves in
// proportion. Which record a wait for an event is for is the least age that no more than 2 % of the
// waits of its thread contradict, other than SPEC 12 has it, which asks those of the run: a rank of
// a pipeline waits for another record than the next rank does. Not valid where events of several
// streams are waited for in turn.
//
// Launching threads' waits for other threads end with what the thread of the process tree does
// whose range or call ended last before them, within 60 us; waits for the interpreter lock end when
// its holder does, and ranges about that lock wake nobody else. With Keep both take as long as they
// did: a holder that was asked for the lock would have given it up sooner, too. Threads of other ranks
// are asked in calls of class io, by which messages come. Messages between processes that no thread
// shows are not followed: such waits keep their length. Without the waits that bring tokens back a
// message comes as long after the tokens as it did: it may be made of them.
//
// # Collectives (collective.go)
//
// Kernels of one name that overlap on several GPUs and end together are one collective: all
// end when the last has arrived, by what it took since. Clocks of several reports are brought
// together first (clock.go), as package collective does. Not valid for collectives inside graphs that
// were recorded as a whole, nor where no clock makes those of a rank end with another's: they keep
// their lengths, which is said.
//
// # Host time by why (why.go), by rank and step (even.go)
//
// Changes of host time with a why ask package idle what a thread is in at each instant, as rows
// come. A limit on CPU time is found by stretches in which no thread of a process runs and that
// end at one place of a period of 100 ms. Host time is even where each rank's step takes the
// median of what the ranks' launching threads spend in it, in sum and, as far as that allows, in
// ranges of each name: a rank that is late is so somewhere, mostly where others wait for it.
//
// # Steps
//
// What a step takes is the mean over all steps of the benchmark segments, as what gaps says per step
// is: context steps and the last of a segment count, and each phase has figures of its own. (Over steady
// steps alone a change would bring another figure here than where it is a finding.) One step cannot
// tell: its figures are given, and no gain leads.
//
// # Intervals
//
// An interval is that over steps, as much wider as predictions were off on runs whose truth is
// known, and it holds both answers where the run can be read in two ways. Where steps begin and end
// with the host's ranges, a host that is let run further ahead of its GPU begins the last step of the
// run sooner, once: what that is in the mean of these steps is in the interval, and not in the
// estimate, which is of runs that go on.
//
// # For findings
//
// A finding is worth what a step becomes when its sites are treated. A caller that reads a
// stream itself keeps a Trace of it beside that, and asks once at the end:
//
//	t := replay.New(src.Header(), store)
//	… t.Add(batch) for each batch …
//	err := t.Finish(func(rank int32) *step.RankSteps { … of its own walkers, nil for none … })
//	gains, err := t.Each([]replay.Scenario{
//		{Changes: []replay.Change{replay.Wait("cudaDeviceSynchronize").At("step # > sample")}},
//		{Changes: []replay.Change{replay.Call("cudaMalloc", 0).At("step # > embed"), replay.Call("cudaFree", 0).At("")}},
//		{Changes: []replay.Change{replay.Range("", 0).At("step # > _prepare_inputs")}},
//	}, false)
//
// Names and paths are those of package idle: the ranges from the outermost on, digits folded,
// without those about the interpreter lock and the garbage collector. A treatment that is
// about no row brings 0. Treatments run side by side: a list of ten costs little more than
// one, so ask for all at once.
//
// # What stays
//
// What the GPU computes, memory, power, batch sizes, and which requests come when.
package replay
