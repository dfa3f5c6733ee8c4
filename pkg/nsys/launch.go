package nsys

import "github.com/hostbound/hostbound/pkg/event"

// launches finds the API call of one process that has a correlation id: of
// several the one that starts first.
type launches struct {
	correlation []int64 // ascending
	call        []uint32
}

// joinLaunches gives each lane the API calls of its process.
func (r *report) joinLaunches() {
	calls := map[process][]uint32{}
	for n, p := range r.host {
		if p.kind != event.API {
			continue
		}
		for i, c := range p.correlation {
			if c != none {
				process := r.threads[p.thread[i]].process
				calls[process] = append(calls[process], uint32(n)<<partBits|uint32(i))
			}
		}
	}
	joined := map[process]*launches{}
	for process, refs := range calls {
		joined[process] = r.index(refs)
	}
	for _, l := range r.lanes {
		l.launches, l.recent = joined[l.process], 0
	}
}

// index sorts calls by their correlation and keeps the first call of each.
func (r *report) index(calls []uint32) *launches {
	part := func(ref uint32) (*hostPart, uint32) { return r.host[ref>>partBits], ref & partMask }
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

// launch finds the API call that launched a row of the lane. Rows of a lane
// follow one another in about the order of their launches, so the search
// starts where the last one ended.
func (l *lane) launch(correlation int64) (call uint32, ok bool) {
	if l.launches == nil || correlation == none {
		return 0, false
	}
	ids := l.launches.correlation
	i := min(l.recent, len(ids)-1)
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
	l.recent = i
	return l.launches.call[i], true
}

// sortRuns sorts refs in a stable way. It merges the runs that are there
// already: exports hold rows in order, or a few sequences of rows in order, one
// for each thread.
func sortRuns(refs []uint32, less func(a, b uint32) bool) []uint32 {
	bounds := []int{0}
	for i := 1; i < len(refs); i++ {
		if less(refs[i], refs[i-1]) {
			bounds = append(bounds, i)
		}
	}
	bounds = append(bounds, len(refs))
	if len(bounds) <= 2 {
		return refs
	}
	other := make([]uint32, len(refs))
	for len(bounds) > 2 {
		merged := bounds[:1]
		for i := 0; i+1 < len(bounds); i += 2 {
			low, mid := bounds[i], bounds[i+1]
			high := mid
			if i+2 < len(bounds) {
				high = bounds[i+2]
			}
			merge(other[low:high], refs[low:mid], refs[mid:high], less)
			merged = append(merged, high)
		}
		bounds = merged
		refs, other = other, refs
	}
	return refs
}

// merge merges two sorted sequences into one, of equals those of a first.
func merge(into, a, b []uint32, less func(a, b uint32) bool) {
	for len(a) > 0 && len(b) > 0 {
		if less(b[0], a[0]) {
			into[0], b = b[0], b[1:]
		} else {
			into[0], a = a[0], a[1:]
		}
		into = into[1:]
	}
	copy(into, a)
	copy(into[len(a):], b)
}
