package nsys

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Samples of Python functions (nsys profile --python-sampling) are NVTX marks of their own
// domain. Each has a binary payload, which an export contains if asked for (nsys export
// --include-blobs=true). NVIDIA documents no layout. What is read here is what nsys 2025.3
// writes, in agreement with its table NVTX_PAYLOAD_SCHEMA_ENTRIES: little-endian,
//
//	[u64 × 4   domain, schema, size of what follows, 32]
//	u64        number of the thread's state, not looked at
//	u32        state of the thread
//	u32        number of frames, the leaf first, and for each
//	u64 × 2    function and file, numbers of StringIds
//	u32 × 2    line, and what memory held there before
//
// If a single payload of a report differs, none of them is used, and a warning says so.
const (
	pythonDomain = "Python Periodic Sampling"
	nvtxMark     = 34

	payloadHeader = 32
	sampleHeader  = 16
	frameBytes    = 24
	maxLine       = 1 << 24
	maxState      = 64
)

// pythonSamples reads the samples of Python functions of a report.
type pythonSamples struct {
	r       *report
	domains map[domainKey]bool
	known   map[int64]ownerEntry // threads by globalTid
	rows    []pythonRow
	dropped map[int32]int64 // unwanted samples, by number of the process
	marks   int             // samples seen in the domains
	wrong   int             // those with another layout
}

// pythonRow is a sample: an instant in ns on the report's clock, a thread and a stack.
type pythonRow struct {
	start int64
	owner ownerEntry
	stack int32
}

// readPython reads the samples of Python functions of threads that other rows have. If
// a single one has another layout than the known one, none is used, and a warning says
// so. Without such samples, or if they are not wanted, the table is not read a second
// time.
func (r *report) readPython(s scanner, columns map[string][]string) error {
	p := &pythonSamples{r: r, domains: map[domainKey]bool{}, known: map[int64]ownerEntry{}, dropped: map[int32]int64{}}
	for key, d := range r.domains {
		if d.name == pythonDomain {
			p.domains[key] = true
		}
	}
	required := []string{"start", "globalTid", "domainId", "eventType", "binaryData"}
	lacks := func(c string) bool { return !slices.Contains(columns[nvtxTable], c) }
	if len(p.domains) == 0 || !slices.Contains(r.host, event.Sample) || slices.ContainsFunc(required, lacks) {
		return nil
	}
	for n, t := range r.threads {
		if t.tid != none {
			p.known[int64(t.process)|t.tid] = ownerEntry{int32(n), int32(slices.Index(r.processes, t.process))}
		}
	}
	switch err := scanAny(s, columns, nvtxTable, append(ints(required[:4]...), textColumns("binaryData")...), p.add); {
	case err != nil:
		return r.explain(err)
	case p.wrong > 0:
		r.warn("%d of %s of Python functions have an unknown layout: none is read", p.wrong, plural(int64(p.marks), "sample"))
		return nil
	}
	for process, n := range p.dropped {
		r.dropped[process][event.Sample] += n
	}
	if err := p.write(); err != nil {
		return r.explain(err)
	}
	return nil
}

// add adds the samples among the rows of a block.
func (p *pythonSamples) add(b *block) error {
	start, threads, domains, kinds := b.column("start"), b.column("globalTid"), b.column("domainId"), b.column("eventType")
	payload := b.column("binaryData")
	for i := range b.n {
		if kinds.Int[i] != nvtxMark || threads.Null[i] || !p.domains[domainKey{processOf(threads.Int[i]), orNone(domains, int32(i))}] || payload.Null[i] {
			continue
		}
		p.marks++
		stack, ok := p.stack(payload.Text(i))
		if !ok {
			p.wrong++
		}
		switch owner, known := p.known[threads.Int[i]]; {
		case !ok || !known || !isSpan(start, start, i):
		case !p.r.isCaller(owner.number):
			p.dropped[owner.process]++
		default:
			p.rows = append(p.rows, pythonRow{start.Int[i], owner, p.r.stacks.number(stack, event.Interpreter)})
		}
	}
	return nil
}

// stack returns the stack in a payload; ok is false if the layout is another.
func (p *pythonSamples) stack(b []byte) (text string, ok bool) {
	u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	if rest := len(b) - payloadHeader; rest >= sampleHeader && u64(b[16:]) == uint64(rest) {
		b = b[payloadHeader:]
	}
	if len(b) < sampleHeader || len(b)-sampleHeader != int(u32(b[12:]))*frameBytes || u32(b[8:]) > maxState {
		return "", false
	}
	var frames []string
	for b = b[sampleHeader:]; len(b) > 0; b = b[frameBytes:] {
		function, file, line := p.text(u64(b)), p.text(u64(b[8:])), u32(b[16:])
		if function == "" || file == "" || line > maxLine {
			return "", false
		}
		frames = append(frames, cudaname.Python(function, file, int64(line)))
	}
	if len(frames) > maxStackDepth { // the leaf is first
		frames = append(frames[:maxStackDepth], cutFrame)
	}
	slices.Reverse(frames)
	return strings.Join(frames, ";"), len(frames) > 0
}

// text returns a string of the report by its number, "" if there is none.
func (p *pythonSamples) text(id uint64) string {
	return p.r.strings.str(p.r.strings.find(int64(min(id, math.MaxInt64))))
}

// write adds the samples to the rows of their processes.
func (p *pythonSamples) write() error {
	if len(p.rows) == 0 {
		return nil
	}
	at, err := p.r.store.Put([]byte(event.PythonSample))
	if err != nil {
		return err
	}
	to := newSorter(p.r.store)
	to.begin(tagOf(sampleTable), afterTasks)
	for i, row := range p.rows {
		c := to.of(row.owner.process)
		c.start, c.end, c.owner = append(c.start, row.start), append(c.end, row.start), append(c.owner, int64(row.owner.number))
		c.name, c.class = append(c.name, literal(at, len(event.PythonSample))), append(c.class, int64(event.Interpreter))
		c.node = append(c.node, int64(row.stack))
		if to.added(c); to.rows == p.r.limits.chunkRows || i == len(p.rows)-1 {
			if err := to.flush(); err != nil {
				return err
			}
		}
	}
	for n, made := range to.processes {
		p.r.runs[n].events = append(p.r.runs[n].events, made.events...)
	}
	return nil
}
