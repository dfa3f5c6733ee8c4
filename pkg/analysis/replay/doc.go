// Package replay moves the rows of a run to where they would have been had the host, or the GPU,
// been different. Without a change every row stays where it is, to the ns.
//
// A Trace is read once. Then all ranks are replayed together, in the order of old times, with any
// number of scenarios side by side: each host thread and each stream carries its own new time for
// each scenario. A first pass learns what the run says of itself (latencies, and which record a
// wait for an event is for); a second pass moves the rows.
//
// # Host (thread.go)
//
// The time between two points of a thread (starts and ends of calls, ranges and OS calls) keeps its
// length times its factor. Factors of different changes multiply; where ranges of one change nest,
// time counts once. Changes of all host time do not apply to OS calls that wait, sleep, read or
// write.
//
// A thread that launches nothing takes over the shift of the thread of its process that launched
// last, once none of its own ranges or calls has been open for 100 us: that thread woke it. Its
// forward-step ranges mark what other threads do and do not count as open. Unlike in SPEC 12, this
// also applies to a thread that launches, if OS calls were not recorded: nothing of it began or
// ended for 100 us, it is in no call, and meanwhile the other thread began to work and launched for
// the same GPU. Then it had handed work over (a backward pass, a copy).
//
// Not valid for threads that share a CPU or the interpreter lock without ranges that say so.
//
// # Units (unit.go)
//
// A unit is a row of GPU work. Its predecessor is the row with the latest end among those of its
// stream that started earlier. If the host was last, the unit starts after its call, by its old
// latency; if the stream was last, after its predecessor, by their old gap. Latencies are learned
// by the name of the call, from units that neither work on their stream nor an event held back.
//
// Of a replay, every unit but the first follows the latest unit of the replay that had ended. A
// unit that overlaps what it follows by more than 1 us keeps its distance to the start of that,
// times its factor. A unit that started late, right after the end of a unit on another stream,
// follows that one, too, if its thread had made a stream wait. A unit whose stream was made to wait
// also starts after what its thread had launched on other streams when the latest event was
// recorded. A delay that none of this explains is kept.
//
// The part of a call before it hands the work over is host time: if the call gets shorter, its unit
// starts sooner.
//
// Not valid for graphs recorded as a whole, which are one unit, nor for units that compete for the
// GPU: their lengths are those of the recording.
//
// # Waits (wait.go)
//
// A call that waits ends after the unit that it waits for, by the time that it took to return. A
// unit that ended before the call began was not waited for. The unit is looked for on the stream
// that the call names, if that was recorded, else in the process: then, unlike in SPEC 12, the call
// waits for each stream of that GPU, as another one may be the last now, except for streams on which
// work went on.
//
//   - A copy blocks if its row ends inside its call. Unlike in SPEC 12, an asynchronous copy from
//     or to memory that was recorded as pinned does not.
//   - A launch into a full queue ends with the unit that freed it. A queue is full if that was
//     recorded, or if 1,016 launches wait in it.
//   - Consecutive queries are one wait.
//   - The record that a wait for an event is for has the least age that at most 2 % of its thread's
//     waits contradict. (SPEC 12 asks all waits of the run. But each rank of a pipeline waits for a
//     record of another age.)
//
// Rows inside a wait move in proportion. Not valid where events of several streams are waited for
// in turn.
//
// If a launching thread waits for another thread, its wait ends with the thread of the process tree
// whose range or call ended last before it, within 60 us. A wait for the interpreter lock ends when
// the lock's holder does, and ranges about that lock wake no other thread. With Keep both take as
// long as they did: a holder that is asked for the lock sooner would give it up sooner, too.
// Threads of other ranks count only for calls of class io, which messages come by. Messages between
// processes that no thread shows are not followed: such waits keep their length. If the waits that
// bring tokens back are left out, a message still comes as long after the tokens as it did, because
// it may be made of them.
//
// # Collectives (collective.go)
//
// Kernels of one name that overlap on several GPUs and end together are one collective. All of them
// end after the last has arrived, by the time that took. Clocks of several reports are aligned
// first (clock.go), as in package collective. Not valid for collectives inside graphs that were
// recorded as a whole, nor for those of a rank that match another's on no clock: they keep their
// lengths, and a warning says so.
//
// # Host time by why (why.go), by rank and step (even.go)
//
// For changes of host time by why, package idle is asked what a thread is in at each instant, as
// rows come. A limit on CPU time shows as stretches in which no thread of a process runs and that
// end at the same place of a period of 100 ms. To even the host time of a step over ranks, each
// takes the median of what the ranks' launching threads spend, in sum and, as far as that allows,
// in ranges of each name: a rank that is late lost its time in some place, mostly one where others
// wait for it.
//
// # Steps
//
// The time of a step is the mean over all steps of the benchmark segments, as in gaps' figures per
// step. Context steps and the last step of a segment count, and each phase has figures of its own.
// (Over steady steps alone, a change would bring one figure here and another as a finding.) A
// single step cannot tell: its figures are given, but no gain is in the headline.
//
// # Intervals
//
// An interval is that over steps, widened by the errors of predictions for runs whose truth is
// known. It holds both answers if the run can be read in two ways. If steps begin and end with
// ranges of the host, a host that may run further ahead of its GPU begins the last step of the run
// sooner, once. The share of that in the mean is part of the interval but not of the estimate,
// which is for runs that go on.
//
// # For findings
//
// The gain of a finding is the change of the step when its sites are treated. A caller that reads a
// stream itself keeps a Trace of it on the side, and asks once at the end:
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
// Names and paths are those of package idle: ranges from the outermost in, with digits folded,
// without those about the interpreter lock and the garbage collector. A treatment that matches no
// row brings 0. Treatments run side by side: ten cost little more than one, so ask for all at once.
//
// # What stays
//
// What the GPU computes, memory, power, batch sizes, and which requests come when.
package replay
