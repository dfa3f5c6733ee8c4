package nsys

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/osname"
	"github.com/hostbound/hostbound/pkg/sqlite"
)

// The tables of what the operating system did with host threads. They are read apart
// from those of CUDA and NVTX, for the filters that ask for them: calls of the system's
// libraries become rows of kind os, and from the points at which a thread came to a CPU
// and left it come its runs.
const (
	osTable      = "OSRT_API"
	syscallTable = "SYSCALL"
	schedTable   = "SCHED_EVENTS"
)

// osCall is the class of rows of osTable that are calls; others mark starts and ends.
const osCall = 27

// hostRow is a row of what the operating system did, on the clock of the stream.
type hostRow struct {
	start, end int64
	tid        int64
	kind       event.Kind
	class      event.Class // -1 for none
	name       string      // one of a few
	cpu        int32       // -1 for none
}

// before orders rows: by start, of equal starts the longer first.
func (r *hostRow) before(o *hostRow) int {
	return cmp.Or(cmp.Compare(r.start, o.start), cmp.Compare(o.end, r.end))
}

// switched is a point at which a thread came to a CPU, or left it.
type switched struct {
	at  int64
	cpu int32
	in  bool
}

// hostTables reads the tables of one report.
type hostTables struct {
	scanner scanner
	columns map[string][]string
	offset  int64
	slots   map[process]int // of the processes that are ranks, their place in rows
	rows    [][]hostRow
}

// threads calls fn with the rows of a block that are of a rank's thread, its place, and
// the thread's number.
func (h *hostTables) threads(b *block, fn func(i, slot int, global int64)) {
	ids := b.column("globalTid")
	for i := range b.n {
		if ids.Null[i] {
			continue
		}
		if slot, ok := h.slots[processOf(ids.Int[i])]; ok {
			fn(i, slot, ids.Int[i])
		}
	}
}

// scan reads some columns of a table, of which those that are required must be there.
func (h *hostTables) scan(table string, required, optional []string, fn func(*block) error) error {
	have := h.columns[table]
	if slices.ContainsFunc(required, func(c string) bool { return !slices.Contains(have, c) }) {
		return nil
	}
	low, high, err := h.scanner.rows(table)
	if err != nil {
		return err
	}
	return scan(h.scanner, table, have, ints(slices.Concat(required, optional)...), low, high, fn)
}

// osCalls are calls whose names are known by their number only.
type osCalls struct {
	name int64
	slot int
	row  int // in rows[slot]
}

// readCalls reads the calls of the system's libraries.
func (h *hostTables) readCalls() error {
	var calls []osCalls
	for _, table := range []string{osTable, syscallTable} {
		err := h.scan(table, []string{"start", "end", "globalTid"}, []string{"nameId", "eventClass"}, func(b *block) error {
			start, end, class, names := b.column("start"), b.column("end"), b.column("eventClass"), b.column("nameId")
			h.threads(b, func(i, slot int, global int64) {
				if table == osTable && !class.Null[i] && class.Int[i] != osCall || !isSpan(start, end, i) {
					return
				}
				calls = append(calls, osCalls{orNone(names, int32(i)), slot, len(h.rows[slot])})
				h.rows[slot] = append(h.rows[slot], hostRow{
					start: start.Int[i] + h.offset, end: end.Int[i] + h.offset, tid: global & 0xffffff, kind: event.OS, cpu: -1,
				})
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return h.nameCalls(calls)
}

// isSpan tells whether a row has times that make sense.
func isSpan(start, end *sqlite.Vector, i int) bool {
	s, e := start.Int[i], end.Int[i]
	return !start.Null[i] && !end.Null[i] && e >= s && s >= -maxTime && e <= maxTime
}

// nameCalls gives calls their names and classes.
func (h *hostTables) nameCalls(calls []osCalls) error {
	type named struct {
		name  string
		class event.Class
	}
	names := map[int64]named{}
	for _, c := range calls {
		names[c.name] = named{class: event.Other}
	}
	if len(names) == 0 {
		return nil
	}
	err := scanAll(h.scanner, h.columns, stringsTable, append(ints("id"), texts("value")...), func(b *block) error {
		ids, values := b.column("id"), b.column("value")
		for i := range b.n {
			if _, ok := names[ids.Int[i]]; ok && !ids.Null[i] {
				name := osCallName(values.Text(i))
				names[ids.Int[i]] = named{name, event.ClassCode(osname.ClassOf(name))}
			}
		}
		return nil
	})
	for _, c := range calls {
		r := &h.rows[c.slot][c.row]
		r.name, r.class = names[c.name].name, names[c.name].class
	}
	return err
}

// maxCallName is how long the name of a call of the system's libraries may be.
const maxCallName = 64

// osCallName returns the name of a call where it looks like one, so that nothing else
// that may stand in its place gets into an output.
func osCallName(text []byte) string {
	if len(text) > maxCallName {
		return ""
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return ""
		}
	}
	return string(text)
}

// readRuns reads when threads came to a CPU and left it. Before a first leave a thread is
// on its CPU from the time given as low on, and after a last arrival until high.
func (h *hostTables) readRuns(low, high int64) error {
	type thread struct {
		slot int
		tid  int64
	}
	points := map[thread][]switched{}
	err := h.scan(schedTable, []string{"start", "isSchedIn", "globalTid"}, []string{"cpu"}, func(b *block) error {
		start, in, cpus := b.column("start"), b.column("isSchedIn"), b.column("cpu")
		h.threads(b, func(i, slot int, global int64) {
			if start.Null[i] || in.Null[i] || start.Int[i] < -maxTime || start.Int[i] > maxTime {
				return
			}
			cpu := int32(-1)
			if !cpus.Null[i] && cpus.Int[i] >= 0 && cpus.Int[i] < math.MaxInt32 {
				cpu = int32(cpus.Int[i])
			}
			t := thread{slot, global & 0xffffff}
			points[t] = append(points[t], switched{start.Int[i] + h.offset, max(cpu, 0), in.Int[i] != 0})
		})
		return nil
	})
	for t, list := range points {
		slices.SortStableFunc(list, func(a, b switched) int { return cmp.Compare(a.at, b.at) })
		runsOf(list, low, high, func(start, end int64, cpu int32) {
			if start < end {
				h.rows[t.slot] = append(h.rows[t.slot], hostRow{start: start, end: end, tid: t.tid, kind: event.Run, class: -1, cpu: cpu})
			}
		})
	}
	return err
}

// runsOf calls fn with the runs that points in order of time make, and with the stretches of
// which they do not tell whether the thread ran, with CPU -1: before a first arrival, and
// between two points of one direction.
func runsOf(points []switched, low, high int64, fn func(start, end int64, cpu int32)) {
	first, last := points[0], points[len(points)-1]
	if first.in {
		fn(low, first.at, -1)
	} else {
		fn(low, first.at, first.cpu)
	}
	for k, p := range points[:len(points)-1] {
		switch next := points[k+1]; {
		case p.in == next.in:
			fn(p.at, next.at, -1)
		case p.in:
			fn(p.at, next.at, p.cpu)
		}
	}
	if last.in {
		fn(last.at, high, last.cpu)
	}
}
