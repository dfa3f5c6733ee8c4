package nsys

import "github.com/hostbound/hostbound/pkg/event"

// launches finds the API call of one process that has a correlation id: of
// several the one that starts first.
type launches struct {
	correlation []int64 // ascending
	call        []uint32
}

// joinLaunches gives each track the API calls of its process.
func (r *report) joinLaunches() {
	calls := map[process][]uint32{}
	for n, p := range r.chunks {
		if p.table.kind != event.API {
			continue
		}
		for i, c := range p.correlation {
			if c != none {
				process := r.threads[p.owner[i]].process
				calls[process] = append(calls[process], uint32(n)<<chunkBits|uint32(i))
			}
		}
	}
	joined := map[process]*launches{}
	for process, refs := range calls {
		joined[process] = r.index(refs)
	}
	for _, t := range r.tracks {
		t.launches, t.recent = joined[t.process], 0
	}
}

// index sorts calls by their correlation and keeps the first call of each.
func (r *report) index(calls []uint32) *launches {
	part := func(ref uint32) (*chunk, uint32) { return r.chunks[ref>>chunkBits], ref & chunkMask }
	calls = sortRuns(calls, func(a, b uint32) bool {
		p, i := part(a)
		q, k := part(b)
		if p.correlation[i] != q.correlation[k] {
			return p.correlation[i] < q.correlation[k]
		}
		return p.start[i] < q.start[k]
	})
	l := &launches{correlation: make([]int64, 0, len(calls)), call: calls[:0]}
	for _, ref := range calls {
		p, i := part(ref)
		if n := len(l.correlation); n == 0 || l.correlation[n-1] != p.correlation[i] {
			l.correlation = append(l.correlation, p.correlation[i])
			l.call = append(l.call, ref)
		}
	}
	return l
}

// launch finds the API call that launched a row of the track. Rows of a track
// follow one another in about the order of their launches, so the search
// starts where the last one ended.
func (t *track) launch(correlation int64) (call uint32, ok bool) {
	if t.launches == nil || correlation == none {
		return 0, false
	}
	ids := t.launches.correlation
	i := min(t.recent, len(ids)-1)
	for range 8 {
		if i < len(ids) && ids[i] < correlation {
			i++
		}
	}
	if i >= len(ids) || ids[i] != correlation {
		low, high := 0, len(ids)
		for low < high {
			mid := int(uint(low+high) >> 1)
			if ids[mid] < correlation {
				low = mid + 1
			} else {
				high = mid
			}
		}
		if i = low; i >= len(ids) || ids[i] != correlation {
			return 0, false
		}
	}
	t.recent = i
	return t.launches.call[i], true
}
