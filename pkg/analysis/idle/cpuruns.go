package idle

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// cpuRun is a stretch that a thread was on a CPU, in ns; its number is -1 where it is not
// known whether the thread was on any.
type cpuRun struct {
	start, end int64
	cpu        int32
}

// company is when launching threads wait for others, or have lost their CPUs.
type company struct {
	ledger *ledger
	waits  *spill.Log // by slice: spans in which one waits; nil where nobody asks
	lost   *spill.Log // by slice: spans in which one has lost its CPU, and which one
}

// maxCPURuns is how many runs of a thread are kept: what is before them nobody knows.
const maxCPURuns = 1 << 15

// few is how many runs, or stacks, of a thread are kept before those that no gap reaches back
// to are let go of.
var few = 1 << 13 // changed by tests only

// reach returns the time that the gaps of GPUs reach back to, none where one is yet to
// appear.
func (r *Rank) reach() int64 {
	if len(r.gpus) == 0 {
		return none
	}
	from := r.last
	for _, l := range r.gpus {
		from = min(from, l.End)
	}
	return from
}

// lately returns the runs of a list that end after a time and the one before them, at most
// half of maxCPURuns.
func lately(list []cpuRun, from int64) []cpuRun {
	k := 0
	for k+1 < len(list) && list[k].end <= from && list[k+1].end <= from {
		k++
	}
	return append(list[:0], list[max(k, len(list)-maxCPURuns/2):]...)
}

// keepQuiet keeps a run of a thread that is quiet.
func (r *Rank) keepQuiet(h *hostThread, run cpuRun) {
	if len(h.early) >= max(few, h.earlyRoom) {
		h.early = lately(h.early, r.reach())
		h.earlyRoom = min(2*len(h.early), maxCPURuns)
		h.Skip(h.early[0].start)
	}
	h.early = append(h.early, run)
}

// wake observes the runs of a thread that was quiet.
func (h *hostThread) wake() {
	for _, run := range h.early {
		h.Advance(run.start)
		h.Host.Run(run.end, run.cpu >= 0)
	}
	h.quiet, h.early = false, nil
}

// observe observes that a GPU is idle between two times because a thread waits, for others or
// for something else.
func (c *company) observe(from, to int64, why Why) {
	if c.waits != nil && why.ForOthers() {
		c.divide(from, to, func(slice, from, to int64) { c.waits.Add(slice, from, to) })
	}
}

// observeLost observes that a GPU is idle between two times because a thread has lost its CPU.
func (c *company) observeLost(from, to, thread int64) {
	if c.lost != nil {
		c.divide(from, to, func(slice, from, to int64) { c.lost.Add(slice, from, to, thread) })
	}
}

// divide calls f with the parts of a span in each slice.
func (c *company) divide(from, to int64, f func(slice, from, to int64)) {
	for k := len(c.ledger.slices) - 1; k >= 0 && from < to; k-- {
		if start := max(from, c.ledger.slices[k].start); start < to {
			f(int64(k), start, to)
			to = start
		}
	}
}

// The columns of spans in which launching threads wait, or have lost their CPUs.
const spanFrom, spanTo, spanThread = spill.Payload, spill.Payload + 1, spill.Payload + 2

// EachWait calls f with each time, ns, in which a gpu is idle because a launching thread is
// blocked until another one does something (in calls of the classes wait, io and join), where
// the option Waits is set. Those of several gpus may be the same.
func (c *company) EachWait(f func(slice int, from, to int64)) {
	c.each(c.waits, spill.Columns(spanFrom, spanTo), func(slice int, rows spill.Rows, i int) { f(slice, rows[spanFrom][i], rows[spanTo][i]) })
}

// EachLost calls f, likewise, with each time in which a launching thread has lost its CPU: it is
// off it, in no wait, and not for an interpreter lock that another thread holds or may hold.
func (c *company) EachLost(f func(slice int, thread, from, to int64)) {
	c.each(c.lost, spill.Columns(spanFrom, spanTo, spanThread), func(slice int, rows spill.Rows, i int) {
		f(slice, rows[spanThread][i], rows[spanFrom][i], rows[spanTo][i])
	})
}

// each calls f with the rows of a log, by slice.
func (c *company) each(log *spill.Log, set uint64, f func(slice int, rows spill.Rows, i int)) {
	if log == nil {
		return
	}
	log.Each(set, func(rows spill.Rows) {
		for i, slice := range rows[spill.Key] {
			f(int(slice), rows, i)
		}
	})
}

// observeRun observes row i, of kind run, of a thread.
func (r *Rank) observeRun(h *hostThread, b *event.Batch, i int) {
	run := cpuRun{b.Start.Values[i], b.End.Values[i], -1}
	if b.Columns.Has(event.ColCPU) {
		if cpu, ok := b.CPU.Get(i); ok {
			run.cpu = cpu
		}
	}
	if h.quiet {
		r.keepQuiet(h, run)
	} else {
		h.Advance(run.start)
		h.Host.Run(run.end, run.cpu >= 0)
	}
}
