package gap

import (
	"github.com/hostbound/hostbound/pkg/cudaname"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/idle"
)

// blocked is a call in which a thread waits for the GPU, ns.
type blocked struct{ thread, start, end int64 }

// lead is what a GPU lost when it ran out of work in a wait. Without the wait all
// launches after it would have come earlier, by as long as it took, so that much of the
// idle time until the thread waits again is its doing; the first small kernel after it
// does not end that. Nor does a wait for older work, as is shown where the GPU still runs
// what was launched before it. (Whether an event is older, its record would say, which is
// not in the stream: in doubt it is not.)
type lead struct {
	wait blocked
	key  idle.Key // of the wait
	left int64    // of its length, not yet found as idle time, ns
}

// addBlocked observes a call that waits for the GPU, or an asynchronous copy, which does
// where it takes long.
func (r *rank) addBlocked(h idle.HostRow, thread, start, end int64) {
	if h.Class == event.APISync || us(end-start) >= blockingUs || r.c.kernels.of(h.Name).effect&cudaname.Blocks != 0 {
		r.blocked[r.numBlocked%len(r.blocked)] = blocked{thread, start, end}
		r.numBlocked++
	}
}

// lastBlocked returns a thread's last wait that began before t, no time where none is
// known. Waits are remembered in the order of their start.
func (r *rank) lastBlocked(thread, t int64) blocked {
	for k := r.numBlocked - 1; k >= max(0, r.numBlocked-len(r.blocked)); k-- {
		if w := &r.blocked[k%len(r.blocked)]; w.thread == thread && w.start < t {
			return *w
		}
	}
	return blocked{}
}

// addDrain observes the gap of a GPU that a has just ended: is it a wait's doing?
// The first gap of a GPU after a wait is divided by idle already: what lies in the call is
// the call's, the rest is drained here. Of later gaps the launch's lateness counts, up to
// the length of the wait, until another wait of the same thread begins.
func (r *rank) addDrain(d *gpu, a *activity) {
	wait := r.lastBlocked(a.LaunchThread, a.LaunchStart)
	if wait == d.lead.wait && d.lead.left == 0 { // Fast path: most gaps are no wait's doing.
		return
	}
	k, ns, ok := r.idle.GapOpening()
	g := r.openGroup()
	if !ok || g == nil {
		return
	}
	switch {
	case wait == d.lead.wait:
	case d.GapStart > wait.end && d.launched < wait.start: // for older work
		d.lead.wait = wait
	default:
		d.lead = lead{wait: wait}
		if r.c.waits(k) {
			after := d.GapEnd - d.GapStart - ns
			d.lead.key, d.lead.left = k, max(0, wait.end-wait.start-after)
			tallied(&g.drains, k, tally{ns: after})
			return
		}
	}
	if late := min(max(0, a.LaunchEnd-d.GapStart), d.GapEnd-d.GapStart, d.lead.left); late > 0 {
		d.lead.left -= late
		tallied(&g.drains, d.lead.key, tally{ns: late})
	}
}

// waits tells whether a key is of a call that waits for the GPU.
func (c *computer) waits(k idle.Key) bool {
	for int(k) >= len(c.waiting) {
		c.waiting = append(c.waiting, make([]int8, max(64, len(c.waiting)))...)
	}
	if c.waiting[k] == 0 {
		c.waiting[k] = -1
		if cause := c.sites.Cause(k); cause == idle.Sync || cause == idle.Memop {
			c.waiting[k] = 1
		}
	}
	return c.waiting[k] > 0
}
