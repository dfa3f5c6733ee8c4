package idle

import (
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// slice is a time slice of a rank. It ends where the next one starts.
type slice struct {
	start int64
	kept  bool // whether a window may hold it
}

// Sample is idle time of a rank's GPUs in one slice. Samples with the same slice and key add
// up; a single one may be negative, but not in a gap.
type Sample struct {
	Slice int   // as Cut returned it
	Key   Key   // with its site
	Inter bool  // between steps, else within one
	Ns    int64 // idle time, over all GPUs of the rank

	// until is when its gap ends, if that is after the slice, else none. In windows that end by
	// then the time is tail.
	until int64
}

// code is a key, with a bit for idle time between steps.
type code int32

const interBit code = 1

// code returns the key of the sample with the bit.
func (s *Sample) code() code {
	if s.Inter {
		return code(s.Key)<<1 | interBit
	}
	return code(s.Key) << 1
}

// The columns of ledger.idle; its key is the slice.
const (
	logCode = spill.Payload + iota
	logNs
	logUntil
	logColumns = logUntil + 1 - spill.Payload
)

// ledger sums up idle time by slice. Sums of the open slice go to the log when it is closed.
type ledger struct {
	sites  *Sites
	opt    Options
	slices []slice // the last one is open
	now    sums    // of the open slice
	idle   *spill.Log

	evidence []Evidence
	drawn    []stat.Counts // by key: CPU samples in parts of gaps
}

// seal ends the last slice.
func (l *ledger) seal() {
	if l.slices[len(l.slices)-1].start < never {
		l.slices = append(l.slices, slice{start: never})
	}
	l.idle.Seal()
	l.now = sums{}
	l.slices = slices.Clone(l.slices) // release spare capacity
}

// add adds idle time to its slice, which may be closed.
func (l *ledger) add(s Sample) {
	if s.Slice == len(l.slices)-1 {
		l.now.add(s.code(), s.Ns)
	} else {
		l.keep(s)
	}
}

// keep logs idle time in a closed slice, if a window may hold the slice.
func (l *ledger) keep(s Sample) {
	if l.slices[s.Slice].kept {
		l.idle.Add(int64(s.Slice), int64(s.code()), s.Ns, s.until)
	}
}

// sums adds up time by code.
type sums struct {
	ns      []int64
	touched []code
}

func (s *sums) add(c code, ns int64) {
	for int(c) >= len(s.ns) {
		s.ns = append(s.ns, make([]int64, max(64, len(s.ns)))...)
	}
	if s.ns[c] == 0 {
		s.touched = append(s.touched, c)
	}
	s.ns[c] += ns
}

// drain calls f with each sum that is not 0, and empties s.
func (s *sums) drain(f func(code, int64)) {
	for _, c := range s.touched {
		if ns := s.ns[c]; ns != 0 {
			f(c, ns)
			s.ns[c] = 0
		}
	}
	s.touched = s.touched[:0]
}

// Cut ends the open slice at a time and opens another one, whose number it returns. Call it
// before observing rows that start then or later. kept says whether a window may hold the new
// slice. A slice without a length is replaced.
func (r *Rank) Cut(at int64, kept bool) int {
	r.closeSlice()
	k := len(r.slices) - 1
	if r.slices[k].start == at {
		r.slices[k].kept = kept
	} else {
		r.slices = append(r.slices, slice{at, kept})
		k++
	}
	if kept {
		r.origin = min(r.origin, at)
	}
	return k
}

// closeSlice logs the sums of the open slice.
func (r *Rank) closeSlice() {
	k := len(r.slices) - 1
	r.now.drain(func(c code, ns int64) { r.keep(Sample{k, Key(c >> 1), c&interBit != 0, ns, none}) })
}

// Bounds returns the start and end of a slice, in ns; the end of the last one is Never.
func (l *ledger) Bounds(k int) (start, end int64) {
	end = Never
	if k+1 < len(l.slices) {
		end = l.slices[k+1].start
	}
	return l.slices[k].start, end
}

// Each calls f with the samples of all slices that a window may hold, for a window that ends
// at windowEnd: idle time in gaps that end then or later is tail. The order is deterministic
// but unspecified.
func (l *ledger) Each(windowEnd int64, f func(Sample)) {
	l.idle.Each(spill.Columns(logCode, logNs, logUntil), func(rows spill.Rows) {
		for i, at := range rows[spill.Key] {
			c := code(rows[logCode][i])
			s := Sample{int(at), Key(c >> 1), c&interBit != 0, rows[logNs][i], none}
			if rows[logUntil][i] >= windowEnd {
				s.Key, s.Inter = Key(Tail), false
			}
			f(s)
		}
	})
}

// sliceAt returns the number of the slice that holds a time.
func (l *ledger) sliceAt(t int64) int {
	return sort.Search(len(l.slices), func(k int) bool { return l.slices[k].start > t }) - 1
}
