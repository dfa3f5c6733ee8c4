package idle

import (
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// slice is a stretch of a rank's time. It ends where the next one starts.
type slice struct {
	start int64
	kept  bool // a window may hold it
}

// Sample is idle time of all GPUs of a rank in one slice. Several samples of one
// slice and key add up; a single one may be negative.
type Sample struct {
	Slice int   // as Cut returned it
	Key   Key   // with its site
	Inter bool  // between steps, else within one
	Ns    int64 // idle time
}

// code is a key and whether the idle time is between steps.
type code int32

const interBit code = 1

func (k Key) code(inter bool) code {
	if inter {
		return code(k)<<1 | interBit
	}
	return code(k) << 1
}

func (c code) key() Key    { return Key(c >> 1) }
func (c code) inter() bool { return c&interBit != 0 }

// attribution is idle time in a slice. What is of a gap that goes on after the slice is tail for
// windows that end at or before until, where the gap ends.
type attribution struct {
	at    int32
	code  code
	ns    int64
	until int64 // none for what is in the slice in which its gap ended
}

// log is attributions in a store.
type log struct{ *spill.Log }

// The columns of a log.
const (
	logCode = spill.Payload + iota
	logNs
	logUntil
	logColumns = logUntil + 1 - spill.Payload
)

func (l log) add(p attribution) { l.Add(int64(p.at), int64(p.code), p.ns, p.until) }

// each calls f with all samples, for windows that end at a time.
func (l log) each(windowEnd int64, f func(Sample)) {
	l.Each(spill.Columns(logCode, logNs, logUntil), func(rows spill.Rows) {
		for i, at := range rows[spill.Key] {
			c := code(rows[logCode][i])
			if rows[logUntil][i] >= windowEnd {
				c = Key(Tail).code(false)
			}
			f(Sample{int(at), c.key(), c.inter(), rows[logNs][i]})
		}
	})
}

// ledger is time by slice: what is added to the open slice is kept when that is closed.
type ledger struct {
	sites  *Sites
	opt    Options
	slices []slice // the last one is open
	now    sums    // of the open slice
	idle   log
}

// seal observes the end of all slices.
func (l *ledger) seal() {
	if l.slices[len(l.slices)-1].start < never {
		l.slices = append(l.slices, slice{start: never})
	}
	l.idle.Seal()
	l.now = sums{}
	l.slices = slices.Clone(l.slices) // without the room that they had to grow
}

// keep keeps an attribution of a closed slice, if that may be in a window.
func (l *ledger) keep(p attribution) {
	if l.slices[p.at].kept {
		l.idle.add(p)
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

// drain empties s, calling f with its time.
func (s *sums) drain(f func(code, int64)) {
	for _, c := range s.touched {
		if ns := s.ns[c]; ns != 0 {
			f(c, ns)
			s.ns[c] = 0
		}
	}
	s.touched = s.touched[:0]
}

// Cut ends the open slice at a time, before the rows that start then or later, and
// opens another one, whose number it returns; kept reports whether a window may hold it. A slice
// without a length is replaced.
func (r *Rank) Cut(at int64, kept bool) int {
	r.closeSlice(at)
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

// closeSlice keeps what was added up in the open slice.
func (r *Rank) closeSlice(at int64) {
	k := int32(len(r.slices) - 1)
	r.now.drain(func(c code, ns int64) { r.keep(attribution{k, c, ns, none}) })
}

// Bounds returns when a slice starts and ends.
func (l *ledger) Bounds(k int) (start, end int64) {
	end = Never
	if k+1 < len(l.slices) {
		end = l.slices[k+1].start
	}
	return l.slices[k].start, end
}

// Each calls f with the idle time of each slice that is kept, for windows that end at a
// time: of gaps that end then or later the part before is tail. The order is the same
// each time, but no particular one.
func (l *ledger) Each(windowEnd int64, f func(Sample)) { l.idle.each(windowEnd, f) }

// sliceAt returns the slice that holds a time.
func (l *ledger) sliceAt(t int64) int {
	return sort.Search(len(l.slices), func(k int) bool { return l.slices[k].start > t }) - 1
}
