package kineto

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// emitter writes the rows of a document to batches.
type emitter struct {
	d      *document
	rank   int32 // -1 if it has none
	shift  int64 // added to times, ns
	calls  *finder
	nodes  event.Replays
	device int32   // of rows that name none
	called []int64 // end of the latest call, by thread
}

// newEmitter returns an emitter for a document. info has its rank and the offset of its
// clock.
func newEmitter(d *document, info *event.Report) *emitter {
	e := &emitter{
		d: d, rank: -1, shift: info.Offset - d.origin, calls: newFinder(d),
		device: int32(max(d.counts.device, 0)), called: slices.Repeat([]int64{none}, len(d.threads.list)),
	}
	if len(info.Ranks) > 0 {
		e.rank = info.Ranks[0]
	}
	return e
}

// row writes row k of rows to row i of the batch.
func (e *emitter) row(b *event.Batch, i int, rows spill.Rows, k int) error {
	name, owner := int32(rows[colName][k]), rows[colOwner][k]>>categoryBits
	category := category(rows[colOwner][k] & (1<<categoryBits - 1))
	b.Kind.Values[i] = kinds[category]
	b.Start.Values[i], b.End.Values[i] = rows[colStart][k]+e.shift, rows[colEnd][k]+e.shift
	if e.rank >= 0 {
		b.Rank.Set(i, e.rank)
	}
	b.Name.AppendCode(&e.d.names.dict, name)
	if class := e.d.classOf(name, rows[colPlace][k]); class >= 0 {
		b.Class.Set(i, class)
	}
	if id := rows[colCorrelation][k]; id != none {
		b.Correlation.Set(i, id)
	}
	if category.isGPU() {
		return e.gpu(b, i, category, e.d.tracks.list[owner], rows[colCorrelation][k], rows[colExtra][k])
	}
	switch category {
	case apiCategory:
		e.called[owner] = max(e.called[owner], rows[colEnd][k])
	case overheadCategory:
		owner = e.heldUp(owner, rows[colEnd][k])
	}
	if id := e.d.threads.list[owner]; id != none {
		b.Thread.Set(i, id)
	}
	if code := domainCodes[category]; code >= 0 {
		b.Domain.Set(i, code)
	}
	return nil
}

// heldUp returns the thread that an overhead ending at end holds up. The profiler does
// not record it (thread 0): it is the only thread that is in a call until then, if
// there is exactly one.
func (e *emitter) heldUp(owner, end int64) int64 {
	if e.d.threads.list[owner] > 0 {
		return owner
	}
	within := func(called int64) bool { return called >= end }
	one := slices.IndexFunc(e.called, within)
	if one < 0 || slices.ContainsFunc(e.called[one+1:], within) {
		return owner
	}
	return int64(one)
}

// domainCodes are the codes of the domains in the header.
var domainCodes = func() (codes [noCategory]int32) {
	for c := range codes {
		codes[c] = int32(slices.Index([]string{atenDomain, pythonDomain, torchDomain}, domainOf[c]))
	}
	return codes
}()

// gpu writes what only GPU rows have: where they ran, and the call that launched them,
// found by its correlation (id). extra is the bytes of a copy, or the graph node of a
// kernel. If a replayed kernel names no node, its ordinal within the launch stands for
// it: replays of one graph run the same nodes in the same order.
func (e *emitter) gpu(b *event.Batch, i int, c category, t track, id, extra int64) error {
	switch {
	case t.device != none:
		b.Device.Set(i, int32(t.device))
	case c != syncCategory:
		b.Device.Set(i, e.device)
	}
	if t.stream != none {
		b.Stream.Set(i, t.stream)
	}
	if c == syncCategory {
		return nil
	}
	if c != kernelCategory && extra != none {
		b.Bytes.Set(i, extra)
	}
	call, ok, err := e.calls.find(id)
	if err != nil || !ok {
		return err
	}
	b.LaunchStart.Set(i, call.start+e.shift)
	b.LaunchEnd.Set(i, call.end+e.shift)
	if id := e.d.threads.list[call.thread]; id != none {
		b.LaunchThread.Set(i, id)
	}
	if !call.graph {
		return nil
	}
	node := e.nodes.Next(id)
	if c == kernelCategory && extra != none {
		node = extra
	}
	b.GraphNode.Set(i, node)
	return nil
}
