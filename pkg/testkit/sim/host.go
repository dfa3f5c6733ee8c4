package sim

// begin starts a step on the host. All that the step draws comes from one source, in this
// order. New draws must come last, or other runs would change their bytes.
func (r *rank) begin(info stepInfo) {
	r.step = info
	r.rng = r.s.random(r.index, info.number)
	r.kernelFactor = r.slowdown() * info.load
	if r.noise != nil {
		r.factor = r.noise.next()
		if r.s.c.Noise.Kernels {
			r.kernelFactor *= r.factor
		}
	}
	for _, d := range r.devices {
		d.dropped = r.rng.Float64() < r.s.c.Dropped
	}
	if r.s.c.GIL > 0 {
		start := r.now
		r.now += r.spread(r.s.c.GIL, 0.3)
		r.gil("Waiting for GIL", start, r.now, r.tid)
		r.gil("Holding GIL", start, r.now, r.tid+3)
		r.holding = r.now
	}
	if n := r.s.c.AllocEvery; n > 0 && info.number%n == 0 {
		r.call(apiMalloc, r.spread(95, 0.2))
		r.call(apiFree, r.spread(60, 0.2))
	}
}

// finish ends a step on the host.
func (r *rank) finish() {
	r.sample()
	if r.s.c.GIL > 0 {
		r.gil("Holding GIL", r.holding, r.now, r.tid)
	}
	// Another thread handles completed events.
	r.t.Calls.Add(Call{Start: r.now - 200_000, End: r.now - 200_000 + callCost, Name: r.t.String(apiQuery),
		Corr: r.id(), Process: r.process, TID: r.tid + 3})
}

// operations runs the host operations from one index up to another. Nested ones run
// inside their parents.
func (r *rank) operations(from, to int) {
	for i := from; i < to; i++ {
		if r.s.c.Host[i].Parent == "" {
			r.operation(i)
		}
	}
}

// operation runs one host operation and records its range: half of its own time, the
// nested operations, what its role does, and the other half.
func (r *rank) operation(i int) {
	op := &r.s.c.Host[i]
	start := r.now
	own := r.spread(op.Mean*r.factor, op.Noise)
	if r.s.c.SlowRank == r.index && op.Name == r.s.c.SlowOp {
		own += r.spread(r.s.c.Slow, op.Noise)
	}
	r.now += own / 2
	for j := i + 1; j < len(r.s.c.Host); j++ {
		if r.s.c.Host[j].Parent == op.Name {
			r.operation(j)
		}
	}
	r.suffer(op)
	switch op.Role {
	case Prepare:
		r.prepare()
	case Speculate:
		r.speculate()
	case Forward:
		r.forward()
	case Sample:
		r.launchSampling()
	case Wait:
		r.wait()
		r.lose()
	case Receive:
		r.receive(own - own/2)
	}
	r.now += own - own/2
	name := op.Name
	if op.Role == Forward {
		name = r.s.c.Markers.Marker(r.step.number+1, r.step.ctx, r.step.tokens, r.step.gen)
		r.true.HostStart, r.true.HostEnd = start, r.now
		if n := r.s.c.Engine.LostMarkers; n > 0 && r.s.chance("lost", r.index, r.step.number).Float64() < n {
			name = ""
		}
	}
	r.push(name, start)
}

// push records a range of the engine that began at start and ends now, unless its name is
// "".
func (r *rank) push(name string, start int64) {
	if name == "" {
		return
	}
	domain, form := r.s.c.domain()
	text := r.t.LiteralText
	if form == Registered {
		text = r.t.String
	}
	r.t.NVTX.Add(NVTXEvent{Start: start, End: r.now, Kind: NVTXPushPop, Text: text(name), Form: form,
		Domain: domain, Process: r.process, TID: r.tid})
}

// gil records what a thread does with the GIL, in a domain of its own as nsys does.
func (r *rank) gil(what string, start, end int64, tid uint32) {
	r.t.NVTX.Add(NVTXEvent{Start: start, End: end, Kind: NVTXPushPop, Text: r.t.String(what),
		Domain: gilDomain, Process: r.process, TID: tid})
}

// id returns a new correlation id of the process. Other processes use the same ids.
func (r *rank) id() uint32 {
	r.corr++
	return r.corr
}

// call records a call of the given length in ns, and returns its start and id.
func (r *rank) call(name string, ns int64) (start int64, corr uint32) {
	return r.callID(r.t.String(name), ns)
}

// callID is call for a name that is already interned.
func (r *rank) callID(name StringID, ns int64) (start int64, corr uint32) {
	start, corr = r.now, r.id()
	r.now += ns
	r.t.Calls.Add(Call{Start: start, End: r.now, Name: name, Corr: corr, Process: r.process, TID: r.tid})
	return start, corr
}

// launch makes the calls for some work that is not part of the forward pass.
func (d *device) launch(list []work) { d.launchAs(otherPart, list) }

// launchAs makes one call per piece of work. A launch returns when the work is queued,
// unless the queue is full or the copy is pageable.
func (d *device) launchAs(p part, list []work) {
	r := d.rank
	for _, w := range list {
		if w.expert && d == r.devices[0] {
			r.layer()
		}
		r.room(d)
		cost := r.spread(r.s.c.LaunchCost, 0.1)
		if w.pageable {
			cost = r.pageable()
		}
		start, corr := r.callID(w.api, cost)
		d.queue = append(d.queue, queued{work: w, called: start, corr: corr, part: p})
		d.called++
	}
}

// room waits until the GPU's queue has room for one more launch. It can wait only for
// work of earlier steps: that of this step has not run yet.
func (r *rank) room(d *device) {
	n := r.s.c.Engine.QueueDepth
	if i := d.called - n; n > 0 && i >= 0 && i < d.placed && d.ends[i%n] > r.now {
		r.t.Overheads.Add(Overhead{Start: r.now, End: d.ends[i%n], Name: r.t.String("Command Buffer Full"),
			Process: r.process, TID: r.tid, Kind: 8, CUPTI: true})
		r.now = d.ends[i%n]
	}
}

// prepare copies the inputs. It is also where the garbage collector runs.
func (r *rank) prepare() {
	for _, d := range r.devices {
		d.launch(r.m.inputs)
	}
	if n := r.s.c.GCEvery; n > 0 && r.step.number%n == n-1 {
		start := r.now
		r.now += r.spread(r.s.c.GC, 0.2)
		r.rangeID++
		r.t.NVTX.Add(NVTXEvent{Start: start, End: r.now, Kind: NVTXStartEnd, Text: r.t.LiteralText("Python GC"), Form: Literal,
			RangeID: r.rangeID, Process: r.process, TID: r.tid, EndTID: r.tid})
	}
}

// forward launches the model: context steps kernel by kernel, generation steps as one
// graph unless the run is eager.
func (r *rank) forward() {
	for _, d := range r.devices {
		switch {
		case r.step.ctx > 0 && r.s.c.Engine.PiecewiseContext:
			d.piecewise(r.m.context)
		case r.step.ctx > 0:
			d.launchAs(forwardPart, r.m.context)
		case r.step.eager && r.pageable() > 0:
			d.launchAs(forwardPart, r.m.copying)
		case r.step.eager:
			d.launchAs(forwardPart, r.m.layers)
		case r.s.c.Engine.Piecewise:
			d.piecewise(r.m.layers)
		default:
			d.replayGraph(0, r.m.layers)
		}
	}
}

// speculate runs the draft model, kernel by kernel or from graphs of its own.
func (r *rank) speculate() {
	if r.step.ctx > 0 {
		return
	}
	for _, d := range r.devices {
		for range r.s.c.Draft.Tokens {
			if r.step.eager {
				d.launch(r.m.draft)
			} else {
				d.replayAs(otherPart, draftGraph, r.m.draft)
			}
		}
	}
}

// replayGraph replays the graph of the forward pass; each batch size has its own.
func (d *device) replayGraph(part int, list []work) {
	d.replayAs(forwardPart, uint32(graphID+16*part+(d.rank.s.c.Batch-d.rank.step.graph)), list)
}

// replayAs makes one call for all pieces. Their node ids depend on the graph only: each
// replay of it has the same.
func (d *device) replayAs(p part, graph uint32, list []work) {
	r := d.rank
	r.room(d)
	cost := r.spread(r.s.c.GraphCost, 0.1)
	start, corr := r.call(apiGraph, cost)
	start += max(0, cost-quickGraph) // a large graph is submitted at the end of its call
	first := uint64(firstNode) + 10_000*uint64(graph-graphID)
	for i, w := range list {
		d.queue = append(d.queue, queued{work: w, called: start, corr: corr, node: first + uint64(i), graph: graph, part: p})
	}
	d.called += len(list)
}

// quickGraph is the length of a launch call, in ns, up to which a graph is submitted like
// one kernel.
const quickGraph = 100_000

// piecewise launches attention kernels individually, and replays a graph for the work
// between them.
func (d *device) piecewise(list []work) {
	from, part := 0, 0
	for i := range list {
		if list[i].attention {
			d.replayGraph(part, list[from:i])
			d.launchAs(forwardPart, list[i:i+1])
			from = i + 1
			part++
		}
	}
	d.replayGraph(part, list[from:])
}

// launchSampling launches the sampling kernels and records the event to wait for.
func (r *rank) launchSampling() {
	for _, d := range r.devices {
		d.launch(r.m.sample)
		r.call(apiRecord, callCost)
	}
}

// wait waits for the GPUs to finish this step or, with Overlap or Ahead, an earlier one.
func (r *rank) wait() {
	until := r.finishedStep()
	if r.s.c.Engine.NoWait {
		r.now = max(r.now, until+wakeUp)
		return
	}
	start := r.waitUntil(until, apiWait, 1)
	if r.s.c.GIL > 0 {
		// The GIL is released during the wait.
		r.gil("Holding GIL", r.holding, start, r.tid)
		r.holding = r.now
	}
}

// finishedStep returns the end of the step that the host waits for, 0 if there is none
// yet. In a pipeline, all stages count, since the last one samples.
func (r *rank) finishedStep() int64 {
	devices := r.devices
	if r.s.c.Engine.Pipeline > 1 {
		devices = r.s.devices
	}
	done := lastEnd(devices)
	ahead := r.s.c.Engine.Ahead
	if ahead == 0 && r.s.c.Overlap {
		ahead = 1
	}
	r.waited = done
	r.done = append(r.done, done)
	if len(r.done) <= ahead {
		return 0
	}
	return r.done[len(r.done)-1-ahead]
}

// synchronize makes a call that waits for all work of the rank's GPUs: a
// cudaDeviceSynchronize, or a copy that blocks.
func (r *rank) synchronize(f *Fault) {
	if f.Kind == FaultCopy {
		d := r.devices[0]
		at := max(lastEnd(r.devices), r.now+apiToKernel)
		d.free, d.streams[computeStream] = at+int64(f.US*1e3), at+int64(f.US*1e3)
		_, corr := r.call(apiCopy, d.free+wakeUp-r.now)
		r.t.Copies.Add(Copy{Work: Work{Start: at, End: d.free, Corr: corr, Stream: mainStream, Context: 1, Process: r.process, Device: d.id},
			Bytes: 1 << 20, Kind: 1, Pageable: true})
		return
	}
	r.waitUntil(lastEnd(r.devices), apiSync, 4)
}

// lastEnd returns the time when the queues of all devices are empty.
func lastEnd(devices []*device) (end int64) {
	for _, d := range devices {
		end = max(end, d.free)
	}
	return end
}

// wakeUp is the time in ns from the end of GPU work to the end of the call that waits for
// it.
const wakeUp = 2500

// waitUntil makes a call that waits until end, and adds the row that CUPTI writes for it.
// kind is a Sync.Kind. It returns the start of the call.
func (r *rank) waitUntil(end int64, api string, kind uint8) int64 {
	start, corr := r.call(api, max(callCost, end+wakeUp-r.now))
	r.t.Syncs.Add(Sync{Kind: kind,
		Work: Work{Start: start, End: r.now, Corr: corr, Stream: mainStream, Context: 1, Process: r.process, Device: r.devices[0].id}})
	return start
}

// receive waits for the first rank to send. rest is the part of the operation that comes
// after that.
func (r *rank) receive(rest int64) {
	if r.s.c.Why.getting() {
		r.loseGetting()
		return
	}
	if r.index == 0 {
		r.s.sent = r.now + rest
		return
	}
	r.now = max(r.now, r.s.sent-rest)
}
