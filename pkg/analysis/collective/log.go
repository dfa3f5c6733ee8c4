package collective

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Key is the cause of a wait: a number of the caller's, 0 or more, or one of these.
type Key int32

const (
	Imbalance Key = -1 // the late rank's own kernels took longer
	Unknown   Key = -2 // not recorded
	Sender    Key = -3 // the GPU that sends still works on what this one receives
)

// Names of Imbalance, Unknown and Sender in reports.
const (
	ImbalanceName = "imbalance" // of Imbalance
	UnknownName   = "unknown"   // of Unknown
	SenderName    = "sender"    // of Sender
)

// Part is a part of a wait, or of the idle time before a collective.
type Part struct {
	Key Key   // a cause of the log, or one of those above
	Ns  int64 // more than 0
}

// Collective is a kernel in which ranks exchange data.
type Collective struct {
	Step       int32 // number of the rank's step, -1 for none
	Name       int32 // the same number on all lanes
	Allreduce  bool  // else another collective
	Start, End int64 // ns, on the clock of the lane's report; End > Start
}

// Log is what happened on one lane, as far as it explains waits. Rows must be observed in order of
// start.
type Log struct {
	rows  *spill.Log
	parts *spill.Log // by twice the number of the collective they precede, less one before its segment
	n     int64

	idle    account // idle time since the last collective
	first   bool    // the next collective is the first of a segment
	pending []pendingRow

	firsts       []first // first collectives of segments
	start, end   int64   // start of the first collective, and latest end, ns
	length, span int64   // total of all collectives, and of the time from the first to the last one of each segment, ns

	// Own kernels, in ns: closed is the length of their union so far, without the last span,
	// which may still grow.
	closed, from, to int64
	before           int64 // length of their union before the segment
}

// first is the first collective of a segment: its number, and how long own kernels ran before the
// segment, in ns.
type first struct{ n, own int64 }

// pendingRow is a collective that own kernels may still overlap.
type pendingRow struct {
	Collective
	own, ownAtEnd int64
	endKnown      bool
}

// The columns of collectives, by start.
const (
	colLength = spill.Payload + iota
	colStep
	colName  // twice the number of the name, plus 1 for all-reduces
	colOwn   // ns of own kernels before its start
	colOwned // ns of own kernels from its start to its end
	numColumns
)

// The columns of parts, by number of the collective.
const (
	colKey = spill.Payload + iota
	colNs
	numPartColumns
)

const none = math.MinInt64

// NewLog returns an empty log that keeps its rows in s.
func NewLog(s *spill.Store) *Log {
	return &Log{rows: s.NewLog(numColumns-spill.Payload, 0), parts: s.NewLog(numPartColumns-spill.Payload, 0), from: none, to: none, end: none}
}

// Len returns the number of collectives.
func (l *Log) Len() int64 { return l.n }

// Work observes an activity of the lane other than a collective.
func (l *Log) Work(start, end int64) {
	l.pass(start)
	if start > l.to {
		if l.to > none {
			l.closed += l.to - l.from
		}
		l.from, l.to = start, end
		return
	}
	l.to = max(l.to, end)
}

// ownAt returns how long own kernels ran before time t, in ns. No row observed so far may start
// after t.
func (l *Log) ownAt(t int64) int64 {
	if l.to == none {
		return l.closed
	}
	return l.closed + max(0, min(l.to, t)-l.from)
}

// pass observes that no further row starts before t.
func (l *Log) pass(t int64) {
	if len(l.pending) == 0 { // Fast path
		return
	}
	for i := range l.pending {
		if p := &l.pending[i]; !p.endKnown && p.End <= t {
			p.ownAtEnd, p.endKnown = l.ownAt(p.End), true
		}
	}
	n := 0
	for n < len(l.pending) && l.pending[n].endKnown {
		l.add(&l.pending[n])
		n++
	}
	l.pending = slices.Delete(l.pending, 0, n)
}

func (l *Log) add(p *pendingRow) {
	name := int64(p.Name) << 1
	if p.Allreduce {
		name++
	}
	l.rows.Add(p.Start, p.End-p.Start, int64(p.Step), name, p.own, p.ownAtEnd-p.own)
}

// Collective observes a collective, and assigns to it the idle time since the last one.
func (l *Log) Collective(c Collective) {
	l.pass(c.Start)
	l.idle.drain(func(p Part) { l.parts.Add(2*l.n, int64(p.Key), p.Ns) })
	l.pending = append(l.pending, pendingRow{Collective: c, own: l.ownAt(c.Start)})
	if l.n == 0 {
		l.start = c.Start
	}
	since := l.end
	if l.n == 0 || l.first {
		since = c.Start
	}
	l.span += max(0, c.End-since)
	l.end, l.length = max(l.end, c.End), l.length+c.End-c.Start
	if l.first {
		l.firsts, l.first = append(l.firsts, first{l.n, l.before}), false
	}
	l.n++
}

// Idle observes idle time since the last collective. The key must be 0 or more.
func (l *Log) Idle(key Key, ns int64) { l.idle.add(key, ns) }

// IdleBefore observes idle time before the last segment, which must not have a collective yet.
func (l *Log) IdleBefore(key Key, ns int64) {
	if ns > 0 {
		l.parts.Add(2*l.n-1, int64(key), ns)
	}
}

// Segment observes that another segment begins at t. What was before it explains no wait in it, but
// is kept for lanes that turn out to be stepless.
func (l *Log) Segment(t int64) {
	l.pass(t)
	l.first, l.before = true, l.ownAt(t)
	l.idle.drain(func(p Part) { l.IdleBefore(p.Key, p.Ns) })
}

// Seal observes the end of the lane's rows, and releases memory.
func (l *Log) Seal() {
	l.pass(math.MaxInt64)
	l.pending, l.idle = nil, account{}
	l.rows.Seal()
	l.parts.Seal()
}

// account is time by key.
type account struct {
	ns      []int64 // by key less Sender, the lowest key
	touched []Key   // keys with time, in no order
	sum     int64   // ns of all keys
}

func (a *account) add(key Key, ns int64) {
	if ns == 0 {
		return
	}
	k := int(key - Sender)
	if k >= len(a.ns) {
		a.ns = append(a.ns, make([]int64, k+1-len(a.ns))...)
	}
	if a.ns[k] == 0 {
		a.touched = append(a.touched, key)
	}
	a.ns[k] += ns
	a.sum += ns
}

// drain calls f with all parts, in no particular order, and clears the account.
func (a *account) drain(f func(Part)) {
	for _, key := range a.touched {
		f(Part{key, a.ns[key-Sender]})
		a.ns[key-Sender] = 0
	}
	a.touched, a.sum = a.touched[:0], 0
}

func (a *account) clear() { a.drain(func(Part) {}) }

// split divides ns over the keys of the account in proportion to their time, and appends the
// parts in the order of their keys. What rounding leaves goes to the largest remainders, the
// lower key first. All of ns is Unknown if the account is empty.
func (a *account) split(parts []Part, ns int64) []Part {
	switch {
	case ns == 0:
		return parts
	case a.sum == 0:
		return append(parts, Part{Unknown, ns})
	}
	slices.Sort(a.touched)
	type remainder struct {
		at   int
		rest uint64
	}
	var buf [16]remainder
	rest, left := buf[:0], ns
	for _, key := range a.touched {
		whole, r := mulDiv(ns, a.ns[key-Sender], a.sum)
		rest = append(rest, remainder{len(parts), r})
		parts = append(parts, Part{key, whole})
		left -= whole
	}
	slices.SortStableFunc(rest, func(x, y remainder) int { return cmp.Compare(y.rest, x.rest) })
	for _, r := range rest[:left] {
		parts[r.at].Ns++
	}
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Ns == 0 })
}

// mulDiv returns a × b / c and its remainder. No number is negative, and b <= c.
func mulDiv(a, b, c int64) (int64, uint64) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	whole, rest := bits.Div64(high, low, uint64(c))
	return int64(whole), rest
}
