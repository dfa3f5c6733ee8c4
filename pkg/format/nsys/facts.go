package nsys

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// What the header says of each rank is counted while rows are read, by track and
// by thread: which rank these belong to is known only when all are read.

// Classes that are counted, by their place in tally; the last place is for all
// others.
const (
	tallyAllreduce = iota
	tallyLaunch
	tallyGraphLaunch
	tallyMarker
	tallyLock
	tallyOther
	tallies
)

type tally [tallies]int64

// tallyOf holds the place of each class.
var tallyOf = func() (of [64]uint8) {
	for i := range of {
		of[i] = tallyOther
	}
	of[event.Allreduce], of[event.Launch] = tallyAllreduce, tallyLaunch
	of[event.GraphLaunch], of[event.StepMarker] = tallyGraphLaunch, tallyMarker
	of[event.GIL] = tallyLock
	return of
}()

// add adds another tally.
func (t *tally) add(u *tally) {
	for i, n := range u {
		t[i] += n
	}
}

// sum is the number of rows of all classes.
func (t *tally) sum() (n int64) {
	for _, k := range t {
		n += k
	}
	return n
}

// span is a stretch of time in ns, empty where start > end.
type span struct{ start, end int64 }

var nothing = span{1 << 62, -1 << 62}

// add makes s the span of what it was and of another one.
func (s *span) add(start, end int64) { s.start, s.end = min(s.start, start), max(s.end, end) }

// widen makes start and end, nil for none, those of what they were and of s.
func widen(start, end **int64, s span) {
	if s.start > s.end {
		return
	}
	if *start == nil {
		*start, *end = new(int64), new(int64)
		**start, **end = s.start, s.end
		return
	}
	**start, **end = min(**start, s.start), max(**end, s.end)
}

// trackFacts is what is counted of a track. Times are in ns on the report's
// clock.
type trackFacts struct {
	span    span  // of kernels and whole-graph rows
	busy    span  // of copies and memsets; in a report's, of all of these
	classes tally // of kernels
	graphs  int64 // whole-graph rows
	latest  int64 // start of any of these
	work    islands
}

var noTrackFacts = trackFacts{span: nothing, busy: nothing, latest: nothing.end}

// add adds what another loader counted of the track.
func (f *trackFacts) add(g *trackFacts) {
	f.span.add(g.span.start, g.span.end)
	f.busy.add(g.busy.start, g.busy.end)
	f.busy.add(g.span.start, g.span.end)
	f.latest = max(f.latest, g.latest)
	f.classes.add(&g.classes)
	f.graphs += g.graphs
}

// threadFacts is what is counted of a thread.
type threadFacts struct {
	tally        // of calls and ranges
	calls  int64 // API calls
	ranges int64 // NVTX ranges
	starts span  // from the first start of a row to the last, ns on the report's clock
}

var noThreadFacts = threadFacts{starts: nothing}

// add adds what another loader counted of the thread.
func (f *threadFacts) add(g *threadFacts) {
	f.tally.add(&g.tally)
	f.calls += g.calls
	f.ranges += g.ranges
	f.starts.add(g.starts.start, g.starts.end)
}

// grown returns s with room for number n, new entries being blank.
func grown[T any](s []T, n int32, blank T) []T {
	for int(n) >= len(s) {
		s = append(s, blank)
	}
	return s
}

// countGPU counts the rows of a chunk from first on, of tracks that have facts.
func (a *adder) countGPU(p *chunk, first int) {
	eachOwner(p.owner, first, func(n int64, i, j int) {
		f := &a.found.trackFacts[n]
		if pause := a.report.pause; pause > 0 && (p.table.kind == event.Kernel || p.table.kind == event.Graph) {
			for k, start := range p.start[i:j] {
				f.work.add(start, p.end[i+k], pause)
			}
		}
		s, latest := extent(p.start[i:j], p.end[i:j])
		switch p.table.kind {
		case event.Kernel:
			f.span.add(s.start, s.end)
			reduces := int64(0)
			for _, class := range p.class[i:j] {
				if class == int64(event.Allreduce) {
					reduces++
				}
			}
			f.classes[tallyAllreduce] += reduces
			f.classes[tallyOther] += int64(j-i) - reduces
		case event.Graph:
			f.span.add(s.start, s.end)
			f.graphs += int64(j - i)
		case event.Memcpy, event.Memset:
			f.busy.add(s.start, s.end)
		default:
			return
		}
		f.latest = max(f.latest, latest)
	})
}

// eachOwner calls fn for each stretch of rows i to j of one owner, from row first on.
func eachOwner(owners []int64, first int, fn func(owner int64, i, j int)) {
	for i := first; i < len(owners); {
		j := i + 1
		for j < len(owners) && owners[j] == owners[i] {
			j++
		}
		fn(owners[i], i, j)
		i = j
	}
}

// extent returns the span from the first start to the last end, and the last start.
func extent(starts, ends []int64) (s span, latest int64) {
	low, high, latest := starts[0], ends[0], starts[0]
	ends = ends[:len(starts)]
	for i, t := range starts {
		low, latest, high = min(low, t), max(latest, t), max(high, ends[i])
	}
	return span{low, high}, latest
}

// countHost counts the rows of a chunk from first on by their threads.
func (a *adder) countHost(p *chunk, first int) {
	eachOwner(p.owner, first, func(n int64, i, j int) {
		a.found.threadFacts = grown(a.found.threadFacts, int32(n), noThreadFacts)
		f := &a.found.threadFacts[n]
		s, latest := extent(p.start[i:j], p.end[i:j])
		f.starts.add(s.start, latest)
		for _, c := range p.class[i:j] {
			if c >= 0 {
				f.tally[tallyOf[c&63]]++
			}
		}
		switch p.table.kind {
		case event.API:
			f.calls += int64(j - i)
		case event.NVTX:
			f.ranges += int64(j - i)
		}
	})
}

// profilerCall is a call that stops the profiler, or starts it.
type profilerCall struct {
	thread     int32 // number
	starts     bool
	start, end int64 // ns on the report's clock
}

// What calls do to the profiler.
const (
	stopsProfiler  = 1
	startsProfiler = 2
)

// profilerCalls are the calls that nsys is told by when to record.
var profilerCalls = map[string]int8{
	"cudaProfilerStop": stopsProfiler, "cuProfilerStop": stopsProfiler,
	"cudaProfilerStart": startsProfiler, "cuProfilerStart": startsProfiler,
}

// findClasses finds of which tracks anything is known, and what the header says of all rows.
func (c *census) findClasses() {
	var classes tally
	for n := range c.trackFacts {
		f, t := &c.trackFacts[n], c.tracks[n]
		t.active, t.allreduce = f.classes.sum()+f.graphs > 0, f.classes[tallyAllreduce] > 0
		classes.add(&f.classes)
		widen(&c.info.GPUStart, &c.info.GPUEnd, c.trackFacts[n].span)
		widen(&c.info.BusyStart, &c.info.BusyEnd, c.trackFacts[n].busy)
	}
	for n := range c.threadFacts {
		classes.add(&c.threadFacts[n].tally)
	}
	slices.SortFunc(c.profiler, func(a, b profilerCall) int { return cmp.Compare(a.start, b.start) })
	c.info.Classes = map[string]int64{}
	for _, class := range []event.Class{event.Allreduce, event.Launch, event.GraphLaunch, event.StepMarker} {
		c.info.Classes[event.Classes[class]] = classes[tallyOf[class]]
	}
}

// findFacts finds what the header says of each rank, in the order of their
// numbers.
func (r *report) findFacts() error {
	facts := make([]event.RankFacts, len(r.ranks))
	for i := range facts {
		facts[i].Rank = r.info.Ranks[i]
	}
	type device struct{ slot, number int32 }
	seen := map[device]bool{}
	for n, t := range r.tracks {
		if t.slot == noSlot || n >= len(r.trackFacts) {
			continue
		}
		f, c := &facts[t.slot], &r.trackFacts[n]
		if d := (device{t.slot, t.shown}); t.active && !seen[d] {
			seen[d] = true
			f.GPUs++
		}
		widen(&f.GPUStart, &f.GPUEnd, c.span)
		widen(&f.BusyStart, &f.BusyEnd, c.busy)
		f.Kernels += c.classes.sum()
		f.Graphs += c.graphs
		f.Allreduces += c.classes[tallyAllreduce]
	}
	for n, t := range r.threads {
		if t.slot == noSlot || n >= len(r.threadFacts) {
			continue
		}
		f, c := &facts[t.slot], &r.threadFacts[n].tally
		f.Markers += c[tallyMarker]
		f.Launches += c[tallyLaunch]
		f.GraphLaunches += c[tallyGraphLaunch]
	}
	r.info.RankFacts = facts
	slots := r.bySlot()
	err := together(len(r.ranks), func(slot int) error { return r.findReplays(&facts[slot], int32(slot), slots[slot]) })
	if err != nil {
		return r.explain(err)
	}
	return nil
}

// findReplays counts the graph replays of the rank in a slot, and finds what was
// not recorded of it.
func (r *report) findReplays(f *event.RankFacts, slot int32, of []*runs) (err error) {
	var replays []*spill.Run
	for _, p := range of {
		replays = append(replays, p.replays...)
	}
	if f.Replays, err = spill.CountKeys(r.store, replays, r.limits.fanIn); err != nil {
		return err
	}
	f.Unrecorded, err = r.unrecorded(slot, of)
	return err
}

// unrecorded returns the spans between a call of the process in a slot that stops
// the profiler and the next one that starts it, of those in which none of its
// GPU rows starts.
// A stop without a start after it ends the recording, which is no span; a second stop before
// the next start changes nothing.
func (r *report) unrecorded(slot int32, of []*runs) ([][2]int64, error) {
	var spans [][2]int64
	stopped, since := false, int64(0)
	for _, c := range r.profiler {
		switch {
		case r.threads[c.thread].slot != slot:
		case !c.starts && !stopped:
			stopped, since = true, c.end
		case c.starts && stopped:
			if stopped = false; c.start > since {
				spans = append(spans, [2]int64{since, c.start})
			}
		}
	}
	var kept [][2]int64
	for _, s := range spans {
		recorded, err := r.recorded(s, of)
		if err != nil {
			return nil, err
		}
		if !recorded {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// recorded reports whether a GPU row starts in a span.
func (r *report) recorded(s [2]int64, of []*runs) (found bool, err error) {
	for _, run := range events(of) {
		if t := &eventTables[run.Tag]; found || !t.gpu || t.kind == event.Sync || run.Last < s[0] || run.First >= s[1] {
			continue
		}
		err := r.store.Scan([]*spill.Run{run}, spill.Columns(colStart), s[0], s[1], func(rows spill.Rows) error {
			i, _ := slices.BinarySearch(rows[colStart], s[0])
			found = found || i < len(rows[colStart]) && rows[colStart][i] < s[1]
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	return found, nil
}
