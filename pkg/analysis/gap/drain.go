package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// blocked is a call in which a thread waits for the GPU, or a run of polls, ns.
type blocked struct {
	thread, start, end int64
	polls              idle.Key // of the calls of a run, 0 where it is one call
	at                 site
	copies             bool  // it is a copy, of which a wait behind it is a part
	copied             int64 // where it is both: when the copy ended, 0 else
	copy               site  // and where it is
}

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
	// tokens tells that it brought tokens back. Until that is known, found is what came after it,
	// and between what came after the wait before it where nothing was launched in between, ns.
	tokens         bool
	found, between int64
}

// joined is how long, in ns, after a copy a wait for the stream starts that is one with it: PyTorch
// makes one behind each copy that it needs.
const joined = 10_000

// addBlocked observes a call that waits for the GPU, or an asynchronous copy, which does
// where it takes long.
func (r *rank) addBlocked(h idle.HostRow, thread, start, end int64) {
	if w := r.lastCopy(thread); w != nil && h.Class == event.APISync && start-w.end <= joined {
		w.copied, w.copy = w.end, w.at
		w.end, w.at, w.copies = max(w.end, end), site{h.Name, h.Path}, false
		return
	}
	if h.Class == event.APISync || us(end-start) >= blockingUs || r.c.kernels.of(h.Name).effect&cudaname.Blocks != 0 {
		r.block(blocked{thread: thread, start: start, end: end, at: site{h.Name, h.Path}, copies: h.Class == event.Memop})
	}
}

// lastCopy returns the last wait if it is a copy by a thread, else nil.
func (r *rank) lastCopy(thread int64) *blocked {
	if r.numBlocked == 0 {
		return nil
	}
	w := &r.blocked[(r.numBlocked-1)%len(r.blocked)]
	if w.thread != thread || !w.copies {
		return nil
	}
	return w
}

// block remembers a wait, which is the last in the order of starts.
func (r *rank) block(w blocked) {
	r.blocked[r.numBlocked%len(r.blocked)] = w
	r.numBlocked++
}

// What a run of polls is: so many calls of one thread in a row that ask whether the GPU is
// done, with pauses of pollPause at most (a loop in Python, or a short sleep).
const (
	minPolls  = 3
	pollPause = 100_000 // ns
)

// polling is the run of polls of a thread so far.
type polling struct {
	n          int
	start, end int64
	number     int // of its wait, once there is one
}

// addPoll observes a call: one more of a run of polls, which is one wait as long as all of
// it, or the end of the run.
func (r *rank) addPoll(h idle.HostRow, b *event.Batch, i int) {
	polls := r.c.kernels.of(h.Name).effect&cudaname.Polls != 0
	for polls && h.Thread >= len(r.polls) {
		r.polls = append(r.polls, polling{})
	}
	if h.Thread >= len(r.polls) {
		return
	}
	p, start, end := &r.polls[h.Thread], b.Start.Values[i], b.End.Values[i]
	if !polls || start-p.end > pollPause {
		p.n = 0
	}
	if !polls {
		return
	}
	if p.n++; p.n == 1 {
		p.start = start
	}
	p.end = end
	longer := tally{ns: end - p.start, threads: on(h.Thread)}
	switch {
	case p.n < minPolls:
		return
	case p.n == minPolls:
		p.number, longer.count, longer.parts = r.numBlocked, 1, r.launcher(h.Thread)
		r.block(blocked{thread: b.Thread.Values[i], start: p.start, end: end, polls: r.c.sites.Call(idle.API, h.Path, h.Name), at: site{h.Name, h.Path}})
	case r.numBlocked-p.number > len(r.blocked):
		return // forgotten
	default:
		w := &r.blocked[p.number%len(r.blocked)]
		longer.ns, w.end = max(0, end-w.end), max(end, w.end)
	}
	if g := r.group(b, i); g != nil {
		tallied(&g.calls, site{h.Name, h.Path}, longer)
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

// addSampled observes an activity of a GPU: one launched behind a wait that followed kernels which
// sample tells which wait came first after these had been launched, as that for their tokens does.
func (r *rank) addSampled(d *gpu, a *activity) {
	switch {
	case a.LaunchStart == none:
	case a.class == event.Sampling && !a.Replayed:
		d.sampled = a.LaunchStart
	case d.sampled != 0:
		if w := r.firstBlocked(a.LaunchThread, d.sampled, a.LaunchStart); w != nil {
			if g := r.openGroup(); g != nil {
				r.addTokens(g, d, w)
			}
			d.sampled = 0
		}
	}
}

// addTokens observes that a wait brought tokens back: what the last gap of the GPU has of it. Of
// two, one of which does, what is idle between them is its, too: it may be.
func (r *rank) addTokens(g *group, d *gpu, w *blocked) {
	tallied(&g.tokens, w.at, tally{count: 1, ns: w.end - max(w.start, w.copied)})
	idleIn := func(at site, from, to int64) {
		if ns := min(to, d.GapEnd) - max(from, d.GapStart); ns > 0 {
			tallied(&g.tokenIdle, at, tally{ns: ns})
		}
	}
	if w.copied > 0 {
		tallied(&g.tokens, w.copy, tally{count: 1, ns: w.copied - w.start})
		idleIn(w.copy, w.start, w.copied)
	}
	idleIn(w.at, max(w.start, w.copied), w.end)
	ns := d.lead.between
	if d.lead.wait == *w {
		ns, d.lead.found, d.lead.tokens = d.lead.found, 0, true
	}
	if d.lead.between = 0; ns > 0 {
		tallied(&g.tokenDrains, d.lead.key, tally{ns: ns})
	}
}

// drained adds idle time that came after the wait of a GPU's lead.
func (r *rank) drained(g *group, d *gpu, ns int64) {
	tallied(&g.drains, d.lead.key, tally{ns: ns})
	if d.lead.tokens {
		tallied(&g.tokenDrains, d.lead.key, tally{ns: ns})
	} else {
		d.lead.found += ns
	}
}

// firstBlocked returns a thread's first wait that began after one time and before another, nil
// where none is known.
func (r *rank) firstBlocked(thread, after, before int64) (first *blocked) {
	for k := r.numBlocked - 1; k >= max(0, r.numBlocked-len(r.blocked)); k-- {
		w := &r.blocked[k%len(r.blocked)]
		if w.start <= after {
			break
		}
		if w.thread == thread && w.start < before {
			first = w
		}
	}
	return first
}

// ownCauses are the causes of idle time that is a finding of its own wherever it lies: after a
// wait it is none of that's doing.
const ownCauses = 1<<idle.Alloc | 1<<idle.GC | 1<<idle.GIL

// addDrain observes the gap of a GPU that a has just ended: is it a wait's doing?
// The first gap of a GPU after a wait is divided by idle already: what lies in the call is
// the call's, the rest is drained here. Of later gaps the launch's lateness counts, up to
// the length of the wait, until another wait of the same thread begins; of a gap in which
// it begins, what lies before it, but where it opens in a wait, which is worth the rest.
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
	others := r.idle.GapIn(ownCauses)
	if before := min(wait.start, d.GapEnd) - d.GapStart - others; wait != d.lead.wait && d.GapStart >= d.lead.wait.end && before > 0 && !r.c.waits(k) {
		r.drained(g, d, min(before, d.lead.left))
	}
	switch {
	case wait == d.lead.wait:
	case d.GapStart > wait.end && d.launched < wait.start: // for older work
		d.lead.wait, d.lead.found, d.lead.tokens = wait, 0, false
	default:
		r.addOlder(g, d, wait, others)
		d.lead = lead{wait: wait}
		if wait.polls != 0 && d.GapStart <= wait.end {
			r.addPolled(g, d, wait)
			return
		}
		if r.c.waits(k) {
			after := d.GapEnd - d.GapStart - ns - others
			d.lead.key, d.lead.left = k, max(0, wait.end-wait.start-after)
			if wait.start > d.GapStart && r.c.waitsForAll(wait.at.name) { // what is idle behind it is so by this one, too
				d.lead.left, d.lead.between = 0, max(0, wait.start-d.GapStart-ns-others)
				tallied(&g.drains, k, tally{ns: d.lead.between})
				return
			}
			r.drained(g, d, after)
			return
		}
	}
	if late := min(max(0, a.LaunchEnd-d.GapStart), d.GapEnd-d.GapStart-others, d.lead.left); late > 0 {
		d.lead.left -= late
		r.drained(g, d, late)
	}
}

// brief is how long, in ns, a wait for an event takes that has happened, at most.
const brief = 10_000

// addOlder observes the gap in or ahead of which a brief wait for an event ends what is the doing of
// the wait before it. Where the event is one of an earlier step, as engines that run a step ahead
// wait for, it ends nothing, and what is idle behind it is the other wait's, too.
func (r *rank) addOlder(g *group, d *gpu, w blocked, others int64) {
	if w.end-w.start > brief || d.lead.wait.thread != w.thread || !strings.HasSuffix(r.c.kernels.text(w.at.name), "EventSynchronize") {
		return
	}
	left := d.lead.left - max(0, min(w.start, d.GapEnd)-d.GapStart-others)
	if ns := min(left, d.GapEnd-max(d.GapStart, w.end)-others); ns > 0 {
		tallied(&g.older, d.lead.key, tally{ns: ns})
	}
}

// addPolled observes the first gap of a GPU after a run of polls: all of it where it began
// during the run, else what lies in the run.
func (r *rank) addPolled(g *group, d *gpu, w blocked) {
	from, to := d.GapStart, d.GapEnd
	if from < w.start {
		from, to = w.start, min(to, w.end)
	}
	if ns := to - from; ns > 0 {
		d.lead.key, d.lead.left = w.polls, max(0, w.end-w.start-ns)
		tallied(&g.drains, w.polls, tally{ns: ns})
	}
}

// waitsForAll tells whether a call waits for all that was launched before it, as one for an event
// may not.
func (c *computer) waitsForAll(name int32) bool {
	text := c.kernels.text(name)
	return strings.HasSuffix(text, "StreamSynchronize") || strings.HasSuffix(text, "DeviceSynchronize")
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
