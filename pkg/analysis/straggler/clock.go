package straggler

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// minAllreduces is how many matched all-reduces are enough to leave the other
// collectives out of the comparison of clocks.
const minAllreduces = 16

// witnesses returns how many matched collectives there are whose ends are compared.
func (m *matched) witnesses() int {
	if m.reduces >= minAllreduces {
		return m.reduces
	}
	return m.n
}

// witness tells whether a collective is of those whose ends are compared.
func (m *matched) witness(c *Collective) bool { return c.Allreduce || m.reduces < minAllreduces }

// each calls f with all matched collectives of some ranks, as rows of each.
func (m *matched) each(ranks []int, f func(of []spill.Rows)) {
	readers, of := make([]*spill.LogReader, len(ranks)), make([]spill.Rows, len(ranks))
	for k, r := range ranks {
		readers[k] = m.of[r].log.Read(spill.None)
	}
	for {
		for k, r := range readers {
			if of[k] = r.Next(columns); of[k] == nil {
				return
			}
		}
		f(of)
	}
}

// eachWitness calls f with the ends of the witnesses of some ranks, on their own clocks.
func (m *matched) eachWitness(ranks []int, f func(ends []int64)) {
	only := m.reduces >= minAllreduces
	ends := make([]int64, len(ranks))
	m.each(ranks, func(of []spill.Rows) {
		for i, name := range of[0][colName] {
			if only && name&1 == 0 {
				continue
			}
			for k, rows := range of {
				ends[k] = rows[spill.Key][i] + rows[colLength][i]
			}
			f(ends)
		}
	})
}

// correct brings a time of a rank to the clock of the first one.
func (m *matched) correct(r int, t int64) int64 {
	if m.drift[r] != 0 {
		t -= int64(m.drift[r] * float64(t-m.mid))
	}
	return t - m.offset[r]
}

// align brings the clocks of all reports to that of the first and fills in what
// was done.
func (m *matched) align(res *Result) {
	w := m.witnesses()
	clear(m.offset)
	clear(m.drift)
	at := 0
	m.eachWitness([]int{0}, func(ends []int64) {
		if at == w/2 {
			m.mid = ends[0]
		}
		at++
	})
	done := map[int]int{m.ranks[0].Report: 0} // report → rank that was aligned
	all := []int{0}
	for r := 1; r < len(m.ranks); r++ {
		all = append(all, r)
		if k, ok := done[m.ranks[r].Report]; ok {
			m.offset[r], m.drift[r] = m.offset[k], m.drift[k]
			continue
		}
		done[m.ranks[r].Report] = r
		m.alignRank(r, w)
	}
	res.ClockError = percentile90(w, func(add func(int64)) {
		m.eachWitness(all, func(ends []int64) { add(m.spread(ends)) })
	})
	res.Offsets = m.offset
	for _, d := range m.drift {
		res.Drift = append(res.Drift, d*1e9)
	}
}

// spread returns the distance between the first and the last end of a matched collective.
func (m *matched) spread(ends []int64) int64 {
	low, high := int64(math.MaxInt64), int64(none)
	for r, end := range ends {
		end = m.correct(r, end)
		low, high = min(low, end), max(high, end)
	}
	return high - low
}

// stretches is into how many the run is cut to see a drift, and maxDrift the drift that
// clocks have at most: what looks like more is another run.
const (
	stretches = 16
	maxDrift  = 500e-6
)

// alignRank finds the offset, and the drift if there is one, of a rank's clock, by w
// witnesses.
func (m *matched) alignRank(r, w int) {
	distances := func(add func(int64)) {
		m.eachWitness([]int{0, r}, func(ends []int64) { add(m.correct(r, ends[1]) - ends[0]) })
	}
	sizes := func(add func(int64)) { distances(func(d int64) { add(abs(d)) }) }
	m.offset[r] = medianOf(w, distances)
	if w < 8*stretches {
		return
	}
	constant := percentile90(w, sizes)
	slope := m.slope(r, w)
	if math.Abs(slope) > maxDrift {
		return
	}
	m.drift[r] = slope
	offset := m.offset[r]
	m.offset[r] += medianOf(w, distances)
	if percentile90(w, sizes) >= constant/2 {
		m.offset[r], m.drift[r] = offset, 0
	}
}

// slope returns the median slope between the medians of the stretches of the distances
// between the ends of w witnesses.
func (m *matched) slope(r, w int) float64 {
	var x, y [stretches]float64
	s, i := 0, 0
	var d []int64
	m.eachWitness([]int{0, r}, func(ends []int64) {
		from, to := s*w/stretches, (s+1)*w/stretches
		if i == (from+to)/2 {
			x[s] = float64(ends[1])
		}
		d = append(d, m.correct(r, ends[1])-ends[0])
		if i++; i == to {
			y[s] = float64(median(d))
			d, s = d[:0], s+1
		}
	})
	var slopes []float64
	for i := range stretches {
		for k := i + 1; k < stretches; k++ {
			if x[k] > x[i] {
				slopes = append(slopes, (y[k]-y[i])/(x[k]-x[i]))
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.SortFunc(slopes, cmp.Compare[float64])
	return slopes[len(slopes)/2]
}

// median returns the middle of values, whose order it changes.
func median(values []int64) int64 {
	n := len(values)
	high := kth(values, n/2)
	if n%2 == 1 {
		return high
	}
	return midpoint(slices.Max(values[:n/2]), high)
}

// kth returns the k-th smallest of values, counted from 0, and puts it at k: none before it is
// larger then, and none after it smaller. Where pivots are bad again and again it sorts.
func kth(values []int64, k int) int64 {
	low, high := 0, len(values)
	for rounds := 2 * bits.Len(uint(high)); high-low > 16 && rounds > 0; rounds-- {
		a, b, c := values[low], values[low+(high-low)/2], values[high-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high-1
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j + 1
		case k >= i:
			low = i
		default: // all between the two are the pivot
			return pivot
		}
	}
	slices.Sort(values[low:high])
	return values[k]
}

// midpoint is what lies between two values, the lower first.
func midpoint(a, b int64) int64 { return a + (b-a)/2 }

// medianOf returns the middle of n values.
func medianOf(n int, each func(add func(int64))) int64 {
	if n%2 == 1 {
		return nthOf(n, n/2, each)
	}
	return midpoint(nthOf(n, n/2-1, each), nthOf(n, n/2, each))
}

// percentile90 returns what nine in ten of n values are below, with 95 % confidence: of less
// than 45 values that is the largest.
func percentile90(n int, each func(add func(int64))) int64 {
	x := float64(n)
	return nthOf(n, min(n-1, int(math.Ceil(0.9*x+1.645*math.Sqrt(0.09*x)))), each)
}

// maxSorted is how many values are sorted in memory.
var maxSorted = 1 << 18 // changed by tests only

// nthOf returns the k-th smallest of n values, counted from 0. Where they are many they
// are counted in buckets, and those of the bucket that holds it are looked at again; so
// each hands them out several times, the same each time.
func nthOf(n, k int, each func(add func(int64))) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if n > maxSorted {
		low, high = math.MaxInt64, math.MinInt64
		each(func(v int64) { low, high = min(low, v), max(high, v) })
	}
	counts := make([]int, 1<<12)
	for n > maxSorted && low < high {
		clear(counts)
		size := (uint64(high)-uint64(low))/uint64(len(counts)) + 1
		each(func(v int64) {
			if low <= v && v <= high {
				counts[(uint64(v)-uint64(low))/size]++
			}
		})
		b := 0
		for b < len(counts)-1 && k >= counts[b] {
			k -= counts[b]
			b++
		}
		n = counts[b]
		low = int64(uint64(low) + uint64(b)*size)
		high = int64(min(uint64(high)-uint64(low), size-1) + uint64(low))
	}
	if low == high {
		return low
	}
	values := make([]int64, 0, n)
	each(func(v int64) {
		if low <= v && v <= high {
			values = append(values, v)
		}
	})
	if k >= len(values) { // the store has failed
		return 0
	}
	return kth(values, k)
}
