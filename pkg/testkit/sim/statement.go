package sim

// statement parses one line.
func (p *textParser) statement(l *textLine) {
	verb := l.word("statement")
	switch verb {
	case "schema":
		p.schema(l)
	case "drop":
		p.opt.Drop = append(p.opt.Drop, l.word("table"))
	case "mode":
		p.t.Capture.GraphMode = l.word("mode")
	case "session":
		p.session(l)
	case "secret":
		p.t.Capture.Secret = l.word("text")
	case "gpu":
		id := l.number(l.word("id"), "gpu", 31)
		p.t.GPUs = append(p.t.GPUs, GPU{ID: int32(id), Name: l.word("name")})
	case "process":
		p.chooseProcess(l)
	default:
		p.row(verb, l)
	}
}

// row parses a statement about an event in a process.
func (p *textParser) row(verb string, l *textLine) {
	add, ok := textRows[verb]
	switch {
	case !ok:
		l.fail("%q is no statement", verb)
	case p.process < 0:
		l.fail("%s before the first process", verb)
	default:
		add(p, l)
	}
}

// textRows are the statements about events.
var textRows = map[string]func(*textParser, *textLine){
	"domain":   (*textParser).domain,
	"range":    (*textParser).nvtxRange,
	"mark":     (*textParser).mark,
	"api":      (*textParser).api,
	"kernel":   (*textParser).kernel,
	"graph":    (*textParser).replay,
	"memcpy":   (*textParser).memcpy,
	"memset":   (*textParser).memset,
	"sync":     (*textParser).sync,
	"overhead": (*textParser).overhead,
}

// schema parses how to write the trace.
func (p *textParser) schema(l *textLine) {
	v, err := ParseSchema(l.word("version"))
	if err != nil {
		l.fail("%w", err)
	}
	p.opt.Schema = v
	p.opt.Reduced = l.flag("reduced")
	p.opt.EmptyTables = l.flag("empty-tables")
}

// session parses the clock. Without this statement, the export has no session start.
func (p *textParser) session(l *textLine) {
	p.t.Session = Session{
		UTC:         l.signed("utc", 64),
		SystemClock: l.signed("clock", 64),
		Shift:       l.duration(l.option("shift", "0"), "shift"),
		Normalize:   l.flag("normalize"),
	}
}

// chooseProcess makes a process that of the lines below. For a known process, the options
// have no effect.
func (p *textParser) chooseProcess(l *textLine) {
	pid := uint32(l.number(l.word("pid"), "pid", 24))
	proc := Process{PID: pid, Name: l.option("name", ""), HW: uint8(l.id("hw", 8, 0)), VM: uint8(l.id("vm", 8, 1))}
	if l.err != nil {
		return
	}
	if _, seen := p.pids[pid]; !seen {
		p.pids[pid] = p.t.AddProcess(proc)
	}
	p.process = p.pids[pid]
}

// tid takes an option that is a thread id of 24 bits, with a default.
func (p *textParser) tid(l *textLine, name string, missing uint32) uint32 {
	return uint32(l.id(name, 24, uint64(missing)))
}

// mainThread returns the id of the main thread, which is that of the process.
func (p *textParser) mainThread() uint32 { return p.t.Processes[p.process].PID }

// domain parses the registration of an NVTX domain.
func (p *textParser) domain(l *textLine) {
	id := l.number(l.word("id"), "domain", 32)
	p.t.NVTX.Add(NVTXEvent{
		Start: l.duration(l.option("at", "0"), "at"), Open: true, Kind: NVTXDomain,
		Text: p.t.LiteralText(l.word("name")), Form: Literal, Domain: uint32(id),
		Process: p.process, TID: p.tid(l, "tid", p.mainThread()),
	})
}

// nvtx parses what ranges and marks have in common, and adds the row.
func (p *textParser) nvtx(l *textLine, n NVTXEvent) {
	text := l.word("text")
	switch {
	case l.flag("literal"):
		n.Form, n.Text = Literal, p.t.LiteralText(text)
	case l.flag("json"):
		n.Form, n.Text = JSON, p.t.LiteralText(text)
	default:
		n.Text = p.t.String(text)
	}
	n.Domain = uint32(l.id("domain", 32, 0))
	n.Process, n.TID = p.process, p.tid(l, "tid", p.mainThread())
	p.t.NVTX.Add(n)
}

// nvtxRange parses a range. Its options determine its kind, unless type= is given.
func (p *textParser) nvtxRange(l *textLine) {
	n := NVTXEvent{Start: l.time("start"), Kind: NVTXPushPop}
	if end := l.word("end"); end == "-" {
		n.Open = true
	} else {
		n.End = l.duration(end, "end")
	}
	if n.RangeID = l.id("id", 64, 0); n.RangeID != 0 {
		n.Kind = NVTXStartEnd
	}
	n.Kind = NVTXKind(l.id("type", 8, uint64(n.Kind)))
	n.EndTID = p.tid(l, "endtid", 0)
	p.nvtx(l, n)
}

// mark parses an instant, which has no end.
func (p *textParser) mark(l *textLine) {
	p.nvtx(l, NVTXEvent{Start: l.time("time"), Open: true, Kind: NVTXMark})
}

// api parses a call. Its id may be that of an earlier call, which then is the one that
// launched.
func (p *textParser) api(l *textLine) {
	p.t.Calls.Add(Call{
		Start: l.time("start"), End: l.time("end"), Name: p.t.String(l.word("name")),
		Corr: uint32(l.id("corr", 32, 0)), Return: int32(l.signed("return", 32)),
		Process: p.process, TID: p.tid(l, "tid", p.mainThread()),
	})
}

// work parses what all GPU rows have in common.
func (p *textParser) work(l *textLine) Work {
	return Work{
		Start: l.time("start"), End: l.time("end"),
		Corr: uint32(l.id("corr", 32, 0)), Stream: uint32(l.id("stream", 32, 7)), Context: uint32(l.id("context", 32, 1)),
		Process: p.process, Device: int32(l.id("dev", 31, 0)), Node: l.id("graph", 64, 0),
	}
}

// kernel parses a kernel. A missing demangled name is made up (Trace.KernelName).
func (p *textParser) kernel(l *textLine) {
	p.t.Kernels.Add(Kernel{
		Work: p.work(l), Graph: uint32(l.id("graphid", 32, 0)), Name: p.t.KernelName(l.word("name"), l.option("demangled", "")),
	})
}

// replay parses a graph recorded as a whole. If both times are 0, it was not collected.
func (p *textParser) replay(l *textLine) {
	p.t.Replays.Add(Replay{Work: p.work(l), Graph: uint32(l.id("id", 32, 1)), Exec: uint32(l.id("exec", 32, 1))})
}

// memcpy parses a copy, by default from the host to the device.
func (p *textParser) memcpy(l *textLine) {
	p.t.Copies.Add(Copy{Work: p.work(l), Bytes: int64(l.id("bytes", 63, 0)), Kind: uint8(l.id("kind", 8, 1))})
}

// memset parses a memset.
func (p *textParser) memset(l *textLine) {
	p.t.Fills.Add(Fill{Work: p.work(l), Bytes: int64(l.id("bytes", 63, 0))})
}

// sync parses a wait as CUPTI records it, by default for a stream.
func (p *textParser) sync(l *textLine) {
	p.t.Syncs.Add(Sync{Work: p.work(l), Kind: uint8(l.id("type", 8, 3))})
}

// overhead parses time of the profiler; cupti makes it a row of CUPTI's own table.
func (p *textParser) overhead(l *textLine) {
	p.t.Overheads.Add(Overhead{
		Start: l.time("start"), End: l.time("end"), Name: p.t.String(l.word("name")),
		Kind: uint8(l.id("type", 8, 3)), CUPTI: l.flag("cupti"),
		Process: p.process, TID: p.tid(l, "tid", p.mainThread()),
	})
}
