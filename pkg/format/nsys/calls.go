package nsys

import (
	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Values of eventClass in the table of API calls; calls of the runtime have 0.
const (
	runtimeCall   = 0
	driverCall    = 1
	eglDriverCall = 13
	backtrace     = 67 // the stack of a call, which has a row of its own
)

// pickCalls picks the rows of the API call table that are calls.
func (p *picker) pickCalls(t *task, b *block) []int32 {
	start, end, class := b.column("start"), b.column("end"), b.column("eventClass")
	if class.Full { // Fast path
		seen := int64(0)
		for _, class := range class.Int[:b.n] {
			seen |= class
		}
		if seen|runtimeCall|driverCall == driverCall {
			return p.pickTimed(t, b)
		}
	}
	return p.pick(b, func(i int) bool { return p.isCall(class, i) && p.usable(t, start, end, i) })
}

// isCall reports whether a row of the API call table is a call, by its class. Reduced
// exports have no class.
func (p *picker) isCall(class *sqlite.Vector, i int) bool {
	if class.Null[i] {
		return true
	}
	switch class.Int[i] {
	case runtimeCall, driverCall, eglDriverCall:
		return true
	case backtrace:
	default:
		p.found.noCalls++
	}
	return false
}

// addHost appends what calls and overheads have in common.
func (a *adder) addHost(p *chunk, b *block, rows []int32) {
	a.addSpans(p, b, rows)
	p.correlation = appendRows(p.correlation, b.column("correlationId"), rows)
}

// addCalls appends API calls.
func (a *adder) addCalls(p *chunk, b *block, rows []int32) {
	a.addHost(p, b, rows)
	ids, first := b.column("nameId"), len(p.name)
	p.name, p.class = longer(p.name, len(rows)), longer(p.class, len(rows))
	names, classes := p.name[first:], p.class[first:]
	for k, i := range rows {
		entry := a.call(orNone(ids, i))
		if k := first + k; entry.profiler != 0 {
			a.found.profiler = append(a.found.profiler, profilerCall{int32(p.owner[k]), entry.profiler == startsProfiler, p.start[k], p.end[k]})
		}
		names[k], classes[k] = entry.name, entry.class
	}
	a.countHost(p, first)
}

// call returns the name and class of an API call, by the number of its name.
func (n *namer) call(id int64) *callEntry {
	entry, known := n.calls.at(triple{a: id})
	if known {
		return entry
	}
	name := n.report.strings.find(id)
	if name == noString {
		*entry = callEntry{nameEntry{name, int64(event.Other)}, 0}
		return entry
	}
	n.found.apiNames[name] = true
	api := cudaname.API(n.report.strings.str(name))
	*entry = callEntry{nameEntry{name, int64(cudaname.ClassAPI(api))}, profilerCalls[api]}
	return entry
}

// addOverheads appends the profiler's own overheads.
func (a *adder) addOverheads(p *chunk, b *block, rows []int32) {
	a.addHost(p, b, rows)
	names, first := b.column("nameId"), len(p.name)
	for _, i := range rows {
		name := a.report.strings.find(orNone(names, i))
		p.name, p.class = append(p.name, name), append(p.class, int64(overheadClass(a.report.strings.str(name))))
	}
	a.countHost(p, first)
}

// addCUPTIOverheads appends overheads of CUPTI. They are named by their type, or as the
// export names them if they have none.
func (a *adder) addCUPTIOverheads(p *chunk, b *block, rows []int32) {
	first := len(p.name)
	a.addOverheads(p, b, rows)
	types := b.column("overheadType")
	for k, i := range rows {
		kind := orNone(types, i)
		p.class[first+k] = none
		if class := cudaname.ClassOverhead(cudaname.Overhead(kind)); class >= 0 {
			p.class[first+k] = int64(class)
		}
		if known := cudaname.Overhead(kind); known != "" {
			p.name[first+k] = a.keep([]byte(known)).name
		}
	}
}
