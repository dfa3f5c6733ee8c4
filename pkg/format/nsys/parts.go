package nsys

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Several reports of a run may hold the same process, one after the other: with
// --capture-range-end=repeat nsys writes a report per range of the profiler. They are
// parts of one rank then, ordered by time, and the time between two parts was not
// recorded. If the clocks of two reports can be compared, a process is recognised by
// its pid, the number of its lowest device, and GPUs that are not known to differ. (The
// time since boot would also distinguish hosts, but most exports lack it.)

// part is one report's share of a rank.
type part struct {
	report int // index in the order in which reports were given
	slot   int
	path   string
	// first is the start of the first GPU row, firstRow and lastRow those of the first
	// and last row of any kind, in ns on the clock of the stream.
	first, firstRow, lastRow int64
}

// parts are the shares that the reports so far have of one rank.
type parts struct {
	number int32
	id     rankID
	gpus   []string // of the first report with the rank
	list   []part   // ordered by time
}

// assign numbers the ranks of report n. Ranks that earlier reports have parts of keep
// their numbers; new ones follow.
func (r *Reader) assign(n int, rep *report, path string) error {
	type key struct {
		pid, device int64
	}
	known := map[key][]int{} // the parts in earlier reports
	for k, s := range r.parts {
		id := key{s.id.process.pid(), s.id.device}
		known[id] = append(known[id], k)
	}
	all := rep.parts()
	for slot, id := range rep.ranks {
		p := all[slot]
		p.report, p.path = n, path
		k := len(r.parts)
		for _, i := range known[key{id.process.pid(), id.device}] {
			if !r.opts.Separate && rep.continues(&r.parts[i], n) {
				k = i
				break
			}
		}
		if k == len(r.parts) {
			r.parts = append(r.parts, parts{number: int32(k), id: id, gpus: rep.machine.uuids})
		}
		if err := r.parts[k].add(p); err != nil {
			return err
		}
		rep.info.Ranks[slot] = r.parts[k].number
		rep.info.RankFacts[slot].Rank = r.parts[k].number
	}
	return nil
}

// continues reports whether a rank of report n with the same process and device is a
// part of s. Without comparable clocks it is not, since the order is unknown.
func (r *report) continues(s *parts, n int) bool {
	have := r.machine.uuids // GPUs of the two are known to differ only if both reports have UUIDs
	same := len(have) == 0 || len(s.gpus) == 0 || slices.ContainsFunc(have, func(id string) bool { return slices.Contains(s.gpus, id) })
	return r.clocked && r.comparable && same && !slices.ContainsFunc(s.list, func(p part) bool { return p.report == n })
}

// add inserts a part in order of time.
func (s *parts) add(p part) error {
	at := 0
	for _, o := range s.list {
		before, after := &o, &p
		if p.first < o.first {
			before, after = after, before
		} else {
			at++
		}
		if after.first < before.lastRow {
			return &event.Error{
				Msg: fmt.Sprintf("%s and %s hold the same process (pid %d, device %d) at the same time",
					o.path, p.path, s.id.process.pid(), s.id.device),
				Advice: "give each report once; --separate where they are of different machines",
			}
		}
	}
	s.list = slices.Insert(s.list, at, p)
	return nil
}

// parts returns when the rows of each rank start, on the clock of the stream.
func (r *report) parts() []part {
	gpu, host := make([]event.Span, len(r.ranks)), make([]event.Span, len(r.ranks))
	for slot := range r.ranks {
		gpu[slot], host[slot] = event.NoSpan, event.NoSpan
	}
	for n := range r.trackFacts {
		if f, slot := &r.trackFacts[n], r.tracks[n].slot; slot != noSlot {
			gpu[slot].Join(event.Span{Start: f.Busy.Start, End: f.latest})
		}
	}
	for n := range r.threadFacts {
		if slot := r.threads[n].slot; slot != noSlot {
			host[slot].Join(r.threadFacts[n].starts)
		}
	}
	all, offset := make([]part, len(r.ranks)), r.info.Offset
	for slot, g := range gpu {
		h := host[slot]
		all[slot] = part{slot: slot, first: g.Start + offset, firstRow: min(g.Start, h.Start) + offset, lastRow: max(g.End, h.End) + offset}
	}
	return all
}

// unit is the rows of one rank in one report, or a report's rows without a rank.
type unit struct {
	report int
	slot   int
	from   int64 // rows that start earlier are left out
	last   bool  // it is the last unit of the report
}

// plan orders the units: rank after rank, the parts of a rank by time, and the rows of
// a report without a rank after all its other rows. Reports that share no rank follow
// each other as they were given.
func (r *Reader) plan() []unit {
	var units []unit
	rest := make([]int, len(r.reports)) // not in a group yet
	for i := range rest {
		rest[i] = i
	}
	for len(rest) > 0 {
		group := slices.Sorted(slices.Values(connected(rest[0], rest, r.sharesRank)))
		rest = slices.DeleteFunc(rest, func(n int) bool { return slices.Contains(group, n) })
		left := make(map[int]int, len(group))
		for _, n := range group {
			if left[n] = len(r.header.Reports[n].Ranks); left[n] == 0 {
				units = append(units, unit{report: n, from: longAgo, last: true})
			}
		}
		for k := range r.parts {
			from := longAgo
			for _, p := range r.parts[k].list {
				if !slices.Contains(group, p.report) {
					continue
				}
				units = append(units, unit{report: p.report, slot: p.slot, from: from})
				from = max(from, p.lastRow)
				if left[p.report]--; left[p.report] == 0 {
					units = append(units, unit{report: p.report, slot: len(r.header.Reports[p.report].Ranks), from: longAgo, last: true})
				}
			}
		}
	}
	return units
}

// longAgo is before all times.
const longAgo = int64(math.MinInt64)

// sortReports orders reports that hold parts of the same ranks by time, so that a data
// set of them is read in that order; the first rank decides. All other reports keep
// their places.
func (r *Reader) sortReports() {
	if !slices.ContainsFunc(r.parts, func(s parts) bool { return len(s.list) > 1 }) {
		return
	}
	order := make([]int, len(r.reports))
	for i := range order {
		order[i] = i
	}
	start := func(i int) int64 {
		if s := r.header.Reports[i].GPUStart; s != nil {
			return *s
		}
		return 0
	}
	lowest := func(i int) int32 {
		if ranks := r.header.Reports[i].Ranks; len(ranks) > 0 {
			return slices.Min(ranks)
		}
		return int32(len(r.parts))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(lowest(a), lowest(b)), cmp.Compare(start(a), start(b))) })
	headers, reports, paths := r.header.Reports, r.reports, r.paths
	r.header.Reports, r.reports, r.paths = nil, nil, nil
	place := make([]int, len(order))
	for now, was := range order {
		r.header.Reports, r.reports, r.paths = append(r.header.Reports, headers[was]), append(r.reports, reports[was]), append(r.paths, paths[was])
		place[was] = now
	}
	for k := range r.parts {
		for i := range r.parts[k].list {
			p := &r.parts[k].list[i]
			p.report = place[p.report]
		}
	}
}

// warnOfCut warns if rows of a later part start before the last row of an earlier one:
// they are left out.
func (r *Reader) warnOfCut() {
	for k := range r.parts {
		list := r.parts[k].list
		for i := 1; i < len(list); i++ {
			if list[i].firstRow < list[i-1].lastRow {
				rep := &r.header.Reports[list[i].report]
				rep.Warnings = append(rep.Warnings, fmt.Sprintf("rows of rank %d that start before the last one of %s are left out",
					r.parts[k].number, r.header.Reports[list[i-1].report].File))
			}
		}
	}
}
