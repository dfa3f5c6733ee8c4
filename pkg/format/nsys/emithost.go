package nsys

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// hostRows writes rows i to j of host rows to the batch, from its next row on.
func (e *emitter) hostRows(kind event.Kind, rows spill.Rows, i, j int) error {
	for at := e.at; i < j; i, at = i+1, at+1 {
		if err := e.hostRow(kind, rows, i, at); err != nil {
			return err
		}
	}
	return nil
}

// hostRow writes row i of host rows to row at of the batch.
func (e *emitter) hostRow(kind event.Kind, rows spill.Rows, i, at int) error {
	b, t := e.batch, e.r.threads[rows[colOwner][i]]
	if t.tid != none {
		b.Thread.Set(at, t.tid)
	}
	if e.columns.Has(event.ColDomain) {
		if d := e.domain(t.process, rows[colDomain][i]); d >= 0 {
			b.Domain.Set(at, d)
		}
	}
	if e.columns.Has(event.ColStack) && rows[colNode][i] != none {
		b.Stack.Set(at, e.stacks[rows[colNode][i]])
	}
	if e.columns.Has(event.ColCPU) && rows[colBytes][i] != none {
		b.CPU.Set(at, int32(rows[colBytes][i]))
	}
	return e.hostName(kind, rows[colName][i])
}

// runRows writes rows i to j, of kind run, to the batch, from its next row on: with a
// thread, no name, and a CPU if it is known.
func (e *emitter) runRows(rows spill.Rows, i, j int) {
	b := e.batch
	codes := b.Name.AppendCodes(e.names, j-i)
	for k := range codes {
		codes[k] = e.ours.none
		b.Thread.Set(e.at+k, e.r.threads[rows[colOwner][i+k]].tid)
	}
	if e.columns.Has(event.ColCPU) {
		setAll(&b.CPU, e.at, rows[colBytes][i:j])
	}
}

// hostName appends the name of a host row.
func (e *emitter) hostName(kind event.Kind, name int64) error {
	names := &e.batch.Name
	switch {
	case name == noString || name == none:
		names.AppendCode(e.names, e.ours.none)
	case kind == event.API:
		names.AppendCode(e.names, e.apis[name])
	case name >= 0:
		names.AppendCode(e.names, int32(name))
	default:
		at, length := literalAt(name)
		text, err := e.r.store.Get(at, length, &e.scratch)
		if err != nil {
			return err
		}
		names.AppendBytes(text)
	}
	return nil
}

// domain returns the code of a process's domain, -1 if there is none or its name is
// unknown. It remembers the last one, as ranges of one domain are usually contiguous.
func (e *emitter) domain(p process, id int64) int32 {
	if id == 0 || id == none {
		return -1
	}
	key := domainKey{p, id}
	if key != e.domainKey {
		e.domainKey, e.domainNow = key, -1
		if code, ok := e.domains[e.r.domains[key].name]; ok {
			e.domainNow = code
		}
	}
	return e.domainNow
}
