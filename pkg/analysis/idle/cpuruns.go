package idle

import (
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// cpuRun is a stretch that a thread was on a CPU, in ns; its number is -1 where it is not
// known whether the thread was on any.
type cpuRun struct {
	start, end int64
	cpu        int32
}

// company is when launching threads wait for others.
type company struct {
	ledger *ledger
	waits  *spill.Log // by slice; nil where nobody asks
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

// keepQuiet keeps a run of a thread that is quiet.
func (r *Rank) keepQuiet(h *hostThread, run cpuRun) {
	if len(h.early) >= max(few, h.earlyRoom) {
		// The runs that end after what gaps reach back to stay, and the one before them, at most half of maxCPURuns.
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

// wake observes the runs of a thread that was quiet.
func (h *hostThread) wake() {
	for _, run := range h.early {
		h.Advance(run.start)
		h.Host.Run(run.end, run.cpu >= 0)
	}
	h.quiet, h.early = false, nil
}

// The columns of waits.
const (
	waitFrom = spill.Payload + iota
	waitTo
	waitColumns = waitTo + 1 - spill.Payload
)

// observe observes that a GPU is idle between two times because of a thread, which waits for others or
// does not.
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

// EachWait calls f with each time, ns, in which a GPU is idle because a launching thread is blocked
// until another one does something (in calls of the classes wait, io and join), where the option
// Waits is set. Those of several GPUs may be the same.
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
