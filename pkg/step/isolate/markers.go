package isolate

import (
	"math"
	"sort"

	"github.com/hostbound/hostbound/pkg/step"
)

// markerRange is one forward-step marker range.
type markerRange struct {
	start, end int64
	maxEnd     int64 // the latest end of this range and all before it
	number     int64 // the engine's number of the step, noNumber if it has none
	id         int64 // the marker that it is part of: equal for ranges of one marker
	first      int64 // start of the first range with this id
	text       string
}

// noNumber stands for a marker without a step number.
const noNumber = math.MinInt64

// markers are the latest marker ranges of a rank, in the order of their starts.
type markers struct {
	ranges []markerRange
	ids    int64 // how many markers there have been
}

// add appends a range, which must not start before earlier ones. It returns the id of
// its marker, and whether that is new.
func (m *markers) add(start, end, number int64, text string) (id int64, fresh bool) {
	if len(m.ranges) == maxQueued {
		m.ranges = m.ranges[1:] // append moves the others when it needs room
	}
	id, first, fresh := m.ids, start, true
	if number != noNumber {
		for i := len(m.ranges) - 1; i >= 0 && start-m.ranges[i].start <= step.MergeMarkers; i-- {
			if r := &m.ranges[i]; r.number == number && start-r.first <= step.MergeMarkers {
				id, first, fresh = r.id, r.first, false
				break
			}
		}
	}
	if fresh {
		m.ids++
	}
	maxEnd := end
	if n := len(m.ranges); n > 0 {
		maxEnd = max(end, m.ranges[n-1].maxEnd)
	}
	m.ranges = append(m.ranges, markerRange{start, end, maxEnd, number, id, first, text})
	return id, fresh
}

// around returns the range around time t, the one that starts last if there are several,
// nil if none. It is valid until the next add.
func (m *markers) around(t int64) *markerRange {
	i := sort.Search(len(m.ranges), func(k int) bool { return m.ranges[k].start > t }) - 1
	for ; i >= 0 && m.ranges[i].maxEnd > t; i-- {
		if m.ranges[i].end > t {
			return &m.ranges[i]
		}
	}
	return nil
}
