package nsys

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// What the header says about each rank is counted by track and thread while rows are
// read: the ranks of these are known only after all rows were read.

// trackFacts are the counts of a track. Times are ns on the report's clock.
type trackFacts struct {
	event.Tally       // classes: allreduce only
	latest      int64 // last start of a row of GPU work
	work        islands
}

var noTrackFacts = trackFacts{Tally: event.NoTally, latest: event.NoSpan.End}

// threadFacts are the counts of a thread.
type threadFacts struct {
	event.Tally            // calls, ranges and overheads
	starts      event.Span // first and last start of a row, ns on the report's clock
}

var noThreadFacts = threadFacts{Tally: event.NoTally, starts: event.NoSpan}

// grown returns s extended to include index n; new entries are blank.
func grown[T any](s []T, n int32, blank T) []T {
	for int(n) >= len(s) {
		s = append(s, blank)
	}
	return s
}

// countGPU counts the rows of a chunk from first on. Their tracks must have facts.
func (a *adder) countGPU(p *chunk, first int) {
	kind := p.table.kind
	eachOwner(p.owner, first, func(n int64, i, j int) {
		f := &a.found.trackFacts[n]
		if f.Kinds[kind] += int64(j - i); !kind.IsGPU() {
			return
		}
		s, latest := extent(p.start[i:j], p.end[i:j])
		f.latest = max(f.latest, latest)
		if f.Busy.Join(s); !p.table.isWork() {
			return
		}
		f.GPU.Join(s)
		if pause := a.report.pause; pause > 0 {
			for k, start := range p.start[i:j] {
				f.work.add(start, p.end[i+k], pause)
			}
		}
		if kind == event.Kernel {
			reduces := int64(0)
			for _, class := range p.class[i:j] {
				if class == int64(event.Allreduce) {
					reduces++
				}
			}
			f.Classes[event.Allreduce] += reduces
		}
	})
}

// eachOwner calls fn for each stretch of rows i to j with one owner, from row first on.
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
func extent(starts, ends []int64) (s event.Span, latest int64) {
	low, high, latest := starts[0], ends[0], starts[0]
	ends = ends[:len(starts)]
	for i, t := range starts {
		low, latest, high = min(low, t), max(latest, t), max(high, ends[i])
	}
	return event.Span{Start: low, End: high}, latest
}

// countHost counts the rows of a chunk from first on, by thread.
func (a *adder) countHost(p *chunk, first int) {
	eachOwner(p.owner, first, func(n int64, i, j int) {
		a.found.threadFacts = grown(a.found.threadFacts, int32(n), noThreadFacts)
		f := &a.found.threadFacts[n]
		s, latest := extent(p.start[i:j], p.end[i:j])
		f.starts.Join(event.Span{Start: s.Start, End: latest})
		f.Kinds[p.table.kind] += int64(j - i)
		for _, c := range p.class[i:j] {
			if c >= 0 {
				f.Classes[c%event.MaxClasses]++
			}
		}
	})
}

// profilerCall is a call that stops or starts the profiler.
type profilerCall struct {
	thread     int32 // number
	starts     bool
	start, end int64 // ns on the report's clock
}

// Effects of calls on the profiler.
const (
	stopsProfiler  = 1
	startsProfiler = 2
)

// profilerCalls are the calls that tell nsys when to record.
var profilerCalls = map[string]int8{
	"cudaProfilerStop": stopsProfiler, "cuProfilerStop": stopsProfiler,
	"cudaProfilerStart": startsProfiler, "cuProfilerStart": startsProfiler,
}

// findClasses finds the tracks with GPU activity and with allreduce, and the report's
// totals.
func (c *census) findClasses() {
	all := event.NoTally
	for n := range c.trackFacts {
		f, t := &c.trackFacts[n], c.tracks[n]
		t.active, t.allreduce = f.Kinds[event.Kernel]+f.Kinds[event.Graph] > 0, f.Classes[event.Allreduce] > 0
		all.Join(&f.Tally)
	}
	for n := range c.threadFacts {
		all.Join(&c.threadFacts[n].Tally)
	}
	slices.SortFunc(c.profiler, func(a, b profilerCall) int { return cmp.Compare(a.start, b.start) })
	c.info.Extent = all.Extent(0)
}

// findFacts finds what the header says about each rank, in the order of rank numbers.
func (r *report) findFacts() error {
	tallies := slices.Repeat([]event.Tally{event.NoTally}, len(r.ranks))
	type device struct{ slot, number int32 }
	devices, gpus := map[device]bool{}, make([]int64, len(r.ranks))
	for n, t := range r.tracks {
		if t.slot == noSlot || n >= len(r.trackFacts) {
			continue
		}
		if d := (device{t.slot, t.shown}); t.active && !devices[d] {
			devices[d] = true
			gpus[t.slot]++
		}
		tallies[t.slot].Join(&r.trackFacts[n].Tally)
	}
	for n, t := range r.threads {
		if t.slot != noSlot && n < len(r.threadFacts) {
			tallies[t.slot].Join(&r.threadFacts[n].Tally)
		}
	}
	facts := make([]event.RankFacts, len(r.ranks))
	for i := range facts {
		facts[i] = tallies[i].Facts(r.info.Ranks[i], 0)
		facts[i].GPUs = gpus[i]
	}
	r.info.RankFacts = facts
	slots := r.bySlot()
	err := together(len(r.ranks), func(slot int) error { return r.findReplays(&facts[slot], int32(slot), slots[slot]) })
	if err != nil {
		return r.explain(err)
	}
	return nil
}

// findReplays counts the graph replays of the rank in a slot, and finds the spans in
// which nothing was recorded.
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

// unrecorded returns the spans in which nothing was recorded of the process in a slot: from
// the end of a call that stops the profiler to the next call that starts it, if none of its
// GPU rows starts in between. A stop without a later start ends the recording and makes no
// span. A second stop before the next start changes nothing.
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
