package nsys

import (
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pickReplays picks the whole-graph rows with times, and counts those without.
func (p *picker) pickReplays(t *task, b *block) []int32 {
	start, end := b.column("start"), b.column("end")
	return p.pick(b, func(i int) bool {
		if end.Int[i] <= start.Int[i] {
			p.found.untimed++
			return false
		}
		return p.usable(t, start, end, i)
	})
}

// addReplays appends whole-graph rows.
func (a *adder) addReplays(p *chunk, b *block, rows []int32) {
	for range rows {
		p.name = append(p.name, noString)
	}
	a.addGPU(p, b, rows)
}

// addKernels appends kernels.
func (a *adder) addKernels(p *chunk, b *block, rows []int32) {
	short, demangled, mangled := b.column("shortName"), b.column("demangledName"), b.column("mangledName")
	n := len(p.name)
	p.name, p.class = longer(p.name, len(rows)), longer(p.class, len(rows))
	names, classes := p.name[n:], p.class[n:]
	for k, i := range rows {
		key := triple{orNone(short, i), orNone(demangled, i), orNone(mangled, i)}
		entry, known := a.kernels.at(key)
		if !known {
			*entry = a.kernel(key)
		}
		names[k], classes[k] = entry.name, entry.class
	}
	a.addGPU(p, b, rows)
}

// kernel returns the name and class of a kernel by its short, demangled and mangled
// name.
func (n *namer) kernel(names triple) nameEntry {
	t := &n.report.strings
	key := [2]int64{t.find(names.a), t.find(names.b)}
	if key[0] == noString {
		key[0] = key[1]
	}
	if key[0] == noString {
		key[0] = t.find(names.c)
	}
	class, ok := n.kernelClass[key]
	if !ok {
		class = int64(cudaname.ClassKernel(t.str(key[0]), t.str(key[1])))
		n.kernelClass[key] = class
		for _, name := range key {
			n.found.work.trains = n.found.work.trains || cudaname.Trains(t.str(name))
		}
		n.found.work.group(t.str(key[0]), cudaname.GroupSize(t.str(t.find(names.b))))
	}
	return nameEntry{key[0], class}
}

// addCopies appends copies.
func (a *adder) addCopies(p *chunk, b *block, rows []int32) {
	p.bytes = appendRows(p.bytes, b.column("bytes"), rows)
	kind, from, to := b.column("copyKind"), b.column("srcKind"), b.column("dstKind")
	for _, i := range rows {
		p.name = append(p.name, orNone(kind, i))
		p.class = append(p.class, memoryClass(orNone(kind, i), orNone(from, i), orNone(to, i)))
	}
	a.addGPU(p, b, rows)
}

// memoryClass returns the class of a copy by copyKind, srcKind and dstKind: the kind of
// host memory if the other end is the device's. It is none for other copies and if that
// was not recorded.
func memoryClass(kind, from, to int64) int64 {
	switch {
	case kind == 1 && to == 2: // to the device
	case kind == 2 && from == 2:
		from = to
	default:
		return none
	}
	switch from {
	case 0:
		return int64(event.Pageable)
	case 1:
		return int64(event.Pinned)
	}
	return none
}

// addFills appends memsets.
func (a *adder) addFills(p *chunk, b *block, rows []int32) {
	p.bytes = appendRows(p.bytes, b.column("bytes"), rows)
	a.addReplays(p, b, rows)
}

// addSyncs appends synchronisations.
func (a *adder) addSyncs(p *chunk, b *block, rows []int32) {
	codes := b.column("syncType")
	for _, i := range rows {
		p.name = append(p.name, orNone(codes, i))
	}
	a.addGPU(p, b, rows)
}

// addGPU appends what all GPU rows have in common. Names and classes must be there
// already.
func (a *adder) addGPU(p *chunk, b *block, rows []int32) {
	first := p.len()
	a.addSpans(p, b, rows)
	p.correlation = appendRows(p.correlation, b.column("correlationId"), rows)
	a.addNodes(p, b, rows)
	a.countGPU(p, first)
}

// addNodes appends the graph nodes of added rows. A chunk without any has no such
// column, as is usual.
func (a *adder) addNodes(p *chunk, b *block, rows []int32) {
	first, some := p.len()-len(rows), len(p.node) > 0
	if !some {
		p.node = append(p.node, blank[:first]...)
	}
	p.node = longer(p.node, len(rows))
	to, from, replayed := p.node[first:], b.column("graphNodeId").Int, int64(len(rows))
	for k, i := range rows {
		node := from[i]
		if node == 0 { // none in CUPTI, or null
			node = none
			replayed--
		}
		to[k] = node
	}
	if !some && replayed == 0 {
		p.node = p.node[:0]
	}
	a.found.replayed += replayed
	if p.table.kind == event.Kernel {
		a.found.eager += int64(len(rows)) - replayed
	}
}

// findTracks finds the tracks of GPU rows.
func (l *loader) findTracks(b *block, rows []int32) {
	process, device, stream := b.column("globalPid"), b.column("deviceId"), b.column("streamId")
	for k, i := range rows {
		key := triple{orNone(process, i), orNone(device, i), orNone(stream, i)}
		entry, known := l.tracks.at(key)
		if !known {
			*entry = l.shared.track(newTrack(key))
			l.trackFacts = grown(l.trackFacts, entry.number, noTrackFacts)
		}
		l.owners[k] = *entry
	}
}
