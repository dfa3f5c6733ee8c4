package gap

import (
	"cmp"
	"slices"
	"strings"
)

// bucketLimits are the lower bounds of all buckets but the first, in ns.
var bucketLimits = [...]int64{1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000}

const numBuckets = len(bucketLimits) + 1

// bucketSources holds the typical source of the gaps of each bucket, and the sentence for
// the bucket that holds most of the time.
var bucketSources = [numBuckets]struct{ source, dominates string }{
	{"back-to-back dispatch by the GPU", "kernels follow one another: the host is far ahead"},
	{"between kernels that were both queued, or nodes of one graph", "dispatch between queued kernels: fewer and larger kernels would help"},
	{"launch latency; start of a graph replay", "launch latency: kernels wait for single launches or graph replays"},
	{"light host work between launches or between graph segments", "light host work between launches"},
	{"host loop between replays of piecewise graphs", "dispatch between replays of piecewise graphs"},
	{"interpreter between kernel launches", "the interpreter between kernel launches"},
	{"heavy host work: chains of tensor views, metadata of a batch", "heavy host work between launches: view chains, metadata"},
	{"host work of eager code, between steps or between launches", "host work of eager code between launches or steps"},
	{"waiting for the GPU or another rank, creating objects, garbage collection", "synchronisation or the creation of objects"},
}

// gapTally counts gaps by bucket and keeps the longest.
type gapTally struct {
	count, total [numBuckets]int64
	top          []*longGap // the shortest first
}

// longGap is a TopGap before its names are looked up, which only the final ones need.
// Times are in ns.
type longGap struct {
	ns, start, idle, stream int64
	rank, device, step      int32
	previous, next          int32
	call, path              int32 // of the launch of next, -1 each if unknown
	causes                  keySums
}

// compare orders gaps by length, the longest first, then by start.
func (g *longGap) compare(h *longGap) int {
	return cmp.Or(cmp.Compare(h.ns, g.ns), cmp.Compare(g.start, h.start), cmp.Compare(g.rank, h.rank),
		cmp.Compare(g.device, h.device), cmp.Compare(g.stream, h.stream))
}

// named returns a gap with its names looked up.
func (c *texts) named(g *longGap) TopGap {
	top := TopGap{
		GapUs: us(g.ns), StartNs: g.start, Rank: g.rank, Device: g.device, Stream: g.stream,
		Previous: c.kernels.Text(g.previous), Next: c.kernels.Text(g.next), IdleUs: us(g.idle), Causes: []CausePart{},
	}
	if g.step >= 0 {
		top.Step = &g.step
	}
	if g.call >= 0 {
		top.Call, top.Range, top.Path = c.kernels.Text(g.call), c.sites.RangeText(g.path), c.sites.PathText(g.path)
	}
	parts := map[string]int64{}
	for k, ns := range g.causes {
		parts[c.sites.CauseName(k)] += ns
	}
	for name, ns := range parts {
		top.Causes = append(top.Causes, CausePart{name, us(ns)})
	}
	slices.SortFunc(top.Causes, func(a, b CausePart) int { return cmp.Or(cmp.Compare(b.Us, a.Us), strings.Compare(a.Cause, b.Cause)) })
	return top
}

// insert adds a gap, and keeps the n longest.
func (t *gapTally) insert(g *longGap, n int) {
	i, _ := slices.BinarySearchFunc(t.top, g, func(a, b *longGap) int { return b.compare(a) })
	if t.top = slices.Insert(t.top, i, g); len(t.top) > n {
		t.top = slices.Delete(t.top, 0, 1)
	}
}

// emptied returns an empty tally that reuses the memory of t.top.
func (t *gapTally) emptied() gapTally { return gapTally{top: t.top[:0]} }

// merge adds the gaps of u and keeps the n longest of both.
func (t *gapTally) merge(u *gapTally, n int) {
	for i := range t.count {
		t.count[i] += u.count[i]
		t.total[i] += u.total[i]
	}
	for _, g := range u.top {
		t.insert(g, n)
	}
}

// stream is a CUDA stream of a GPU.
type stream struct {
	id         int64
	start, end int64 // of the previous activity
	name       int32
	idle       int64 // idle time of the GPU so far, when it began
	top        *longGap
	topEnd     int64 // end of the activity after top
}

// addStream observes an activity of a stream. The GPU's idle time before it must have been
// attributed already.
//
// Rows with the same start arrive longest first, but gaps order them by end. An activity
// that starts with the previous one is therefore treated as if it came before it.
func (r *rank) addStream(d *gpu, id int64, a *activity) {
	if d.stream == nil || d.stream.id != id {
		k := slices.IndexFunc(d.streams, func(s *stream) bool { return s.id == id })
		if k < 0 {
			k, d.streams = len(d.streams), append(d.streams, &stream{id: id, end: none})
		}
		d.stream = d.streams[k]
	}
	s := d.stream
	if s.start == a.Start && s.end > none {
		// In the order of gaps this one comes before the previous one, so it is what ended
		// the gap.
		if s.top != nil && a.End < s.topEnd {
			s.top.next, s.topEnd = a.Name, a.End
		}
		if a.End == s.end {
			s.name = a.Name
		}
		return
	}
	s.top = nil
	if s.end > none && a.Start > s.end {
		r.addGap(d, s, a)
	}
	s.start, s.end, s.name, s.idle = a.Start, a.End, a.Name, d.Idle
}

// addGap counts the gap between the last activity of a stream and a.
func (r *rank) addGap(d *gpu, s *stream, a *activity) {
	t := r.tallyOf(s.end, a.Start)
	if t == nil {
		return
	}
	gap := a.Start - s.end
	bucket := 0
	for bucket < len(bucketLimits) && gap >= bucketLimits[bucket] { // nearly all are short
		bucket++
	}
	t.count[bucket]++
	t.total[bucket] += gap
	if n := r.c.opt.Top; len(t.top) >= n && (n == 0 || gap <= t.top[0].ns) { // not one of the longest
		return
	}
	g := &longGap{
		ns: gap, start: s.end, idle: d.Idle - s.idle, stream: s.id, rank: r.id, device: d.Device,
		step: int32(r.walk.Steps.Len() - 1), previous: s.name, next: a.Name, call: -1, path: -1,
	}
	if l := a.launch; l != nil {
		g.call, g.path = l.name, l.path
	}
	if d.GapEnd == a.Start { // the GPU was idle before a
		for _, p := range r.idle.LastGap() {
			g.causes.add(p.Key, p.Ns)
		}
	}
	t.insert(g, r.c.opt.Top)
	s.top, s.topEnd = g, a.End
}

// tallyOf returns the tally for the gap from end to start, nil if the gap is in no window.
// Both times may lie exactly on a boundary of the window.
//
// If the end of the segment is not known yet, the gap is pending: the next step decides
// whether it is within the segment or across segments.
func (r *rank) tallyOf(end, start int64) *gapTally {
	of := scope{between, noPhase, false}
	if r.c.wholeTrace || r.walk.Steps.Len() == 0 { // trace window: selected, or no steps so far
		if from, to, ok := r.walk.TraceWindow(); !ok || end < from || to < start {
			return nil
		}
		of = scope{outside, noPhase, true}
	} else {
		last := len(r.walk.Segments) - 1
		if last < 0 || end < r.walk.Segments[0].Start {
			return nil
		}
		inside := end >= r.walk.Segments[last].Start
		switch late := start > r.walk.SegmentEnd(); {
		case late && inside:
			return &r.held[0].gaps
		case late:
			return &r.across
		case inside:
			of.segment = int32(last)
		}
	}
	return &r.bins[r.binOf(of)].gaps
}
