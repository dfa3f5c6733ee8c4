package idle

import (
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// cpuRun is a run of a thread on a CPU, in ns. cpu is -1 if it is unknown whether the thread
// was on any.
type cpuRun struct {
	start, end int64
	cpu        int32
}

// company records when launching threads wait for others.
type company struct {
	ledger *ledger
	waits  *spill.Log // by slice; nil without Options.Waits
}

// maxCPURuns is how many runs of a quiet thread are kept. Earlier ones are unknown.
const maxCPURuns = 1 << 15

// few is how many runs, or stacks, of a thread are kept before those that precede all open
// gaps are dropped.
var few = 1 << 13 // changed by tests only

// reach returns the earliest time at which an open gap of a GPU may have begun, none before
// the first GPU appears.
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

// keepQuiet keeps a run of a quiet thread.
func (r *Rank) keepQuiet(h *hostThread, run cpuRun) {
	if len(h.early) >= max(few, h.earlyRoom) {
		// Keep the runs that end after reach, and the one before them, but at most half of
		// maxCPURuns.
		k, from := 0, r.reach()
		for k+1 < len(h.early) && h.early[k].end <= from && h.early[k+1].end <= from {
			k++
		}
		h.early = append(h.early[:0], h.early[max(k, len(h.early)-maxCPURuns/2):]...)
		h.earlyRoom = min(2*len(h.early), maxCPURuns)
		h.Skip(h.early[0].start)
	}
	h.early = append(h.early, run)
}

// wake observes the runs of a quiet thread, which then is not quiet any more.
func (h *hostThread) wake() {
	for _, run := range h.early {
		h.Advance(run.start)
		h.Host.Run(run.end, run.cpu >= 0)
	}
	h.quiet, h.early = false, nil
}

// The columns of company.waits.
const (
	waitFrom = spill.Payload + iota
	waitTo
	waitColumns = waitTo + 1 - spill.Payload
)

// observe records the time between from and to, in which a GPU is idle because of a thread, if
// that thread waits for others.
func (c *company) observe(from, to int64, why Why) {
	if c.waits == nil || !why.ForOthers() {
		return
	}
	for k := len(c.ledger.slices) - 1; k >= 0 && from < to; k-- {
		if start := max(from, c.ledger.slices[k].start); start < to {
			c.waits.Add(int64(k), start, to)
			to = start
		}
	}
}

// EachWait calls f with each span, in ns, in which a GPU is idle because a launching thread is
// blocked on another one. That is in calls of the classes wait, io and join. Spans of several
// GPUs may overlap. Without the option Waits there are none.
func (c *company) EachWait(f func(slice int, from, to int64)) {
	if c.waits == nil {
		return
	}
	c.waits.Each(spill.Columns(waitFrom, waitTo), func(rows spill.Rows) {
		for i, slice := range rows[spill.Key] {
			f(int(slice), rows[waitFrom][i], rows[waitTo][i])
		}
	})
}
