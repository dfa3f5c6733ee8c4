package idle

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Groups of slices that are none.
const (
	// NoGroup is the group of slices that no window holds: nothing is kept of them.
	NoGroup = -1
	// Pending is the group of slices of which [Rank.Settle] will tell the group.
	Pending = -2
)

// slice is a stretch of a rank's time. It ends where the next one starts.
type slice struct {
	start int64
	group int32
}

// Sample is idle time of all GPUs of a rank in one slice. Several samples of one
// slice and key add up; a single one may be negative.
type Sample struct {
	Slice int   // as Cut returned it
	Key   Key   // with its site
	Inter bool  // between steps, else within one
	Ns    int64 // idle time
}

// Total is idle time of all GPUs of a rank in a group of slices. Several totals of
// one group and key add up; a single one may be negative.
type Total struct {
	Group int   // as Cut was told
	Key   Key   // with its site
	Inter bool  // between steps, else within one
	Ns    int64 // idle time
}

// code is a key and, in the lowest bit, whether the gap is inter-step.
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

// attribution is idle time of one code in one slice, or in one group.
type attribution struct {
	at   int32
	code code
	ns   int64
}

// log is attributions in a store.
type log struct{ *spill.Log }

// The columns of a log of attributions, which is by slice.
const (
	logCode = spill.Payload + iota
	logNs
	logUntil // of late attributions
)

func (l log) add(attributions []attribution) {
	for _, p := range attributions {
		l.Add(int64(p.at), int64(p.code), p.ns)
	}
}

// each calls f with each attribution.
func (l log) each(f func(attribution)) {
	l.Each(spill.Columns(logCode, logNs), func(rows spill.Rows) {
		codes, ns := rows[logCode], rows[logNs]
		for i, at := range rows[spill.Key] {
			f(attribution{int32(at), code(codes[i]), ns[i]})
		}
	})
}

// lateAttribution is an attribution of a gap that goes on after its slice: it is tail for windows
// that end at or before until, where the gap ends.
type lateAttribution struct {
	attribution
	until int64
}

// ledger is time by slice and group: what is added to the open slice is kept when that is closed and
// its group is known.
type ledger struct {
	sites   *Sites
	opt     Options
	slices  []slice // the last one is open
	now     sums    // of the open slice
	samples log
	totals  []attribution
	pending []attribution
	closed  []attribution
	late    log
	host    log
	open    []groupSums
}

// newLedger returns one without slices of a group.
func newLedger(sites *Sites, opt Options) ledger {
	return ledger{
		sites: sites, opt: opt, slices: []slice{{none, NoGroup}},
		samples: log{opt.Store.NewLog(2, 0)}, host: log{opt.Store.NewLog(2, 0)}, late: log{opt.Store.NewLog(3, 0)},
	}
}

// seal observes the end of all slices.
func (l *ledger) seal() {
	if l.slices[len(l.slices)-1].start < never {
		l.slices = append(l.slices, slice{never, NoGroup})
	}
	for _, g := range l.open {
		l.totals = g.sums.drain(l.totals, g.group)
	}
	for _, one := range []*spill.Log{l.samples.Log, l.host.Log, l.late.Log} {
		one.Seal()
	}
	l.now, l.pending, l.closed, l.open = sums{}, nil, nil, nil
	l.slices = slices.Clone(l.slices) // without the room that they had to grow
}

// keepLate keeps an attribution of a closed slice, if that may be in a window.
func (l *ledger) keepLate(p lateAttribution) {
	if l.slices[p.at].group != NoGroup {
		l.late.Add(int64(p.at), int64(p.code), p.ns, p.until)
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

// drain empties s, appending its time to attributions of a slice or group.
func (s *sums) drain(attributions []attribution, at int32) []attribution {
	for _, c := range s.touched {
		if ns := s.ns[c]; ns != 0 {
			attributions = append(attributions, attribution{at, c, ns})
			s.ns[c] = 0
		}
	}
	s.touched = s.touched[:0]
	return attributions
}

// groupSums are the sums of a group.
type groupSums struct {
	group int32
	sums  *sums
}

// maxOpenGroups is how many groups are added up at a time: those of the phases of one
// segment, and a few more.
const maxOpenGroups = 8

// Cut ends the open slice at a time, before the rows that start then or later, and
// opens another one in a group, whose number it returns. A slice without a length is
// replaced. Slices that nobody cut before the first are in no group.
func (r *Rank) Cut(at int64, group int) int {
	r.closeSlice(at)
	k := len(r.slices) - 1
	if r.slices[k].start == at {
		r.slices[k].group = int32(group)
	} else {
		r.slices = append(r.slices, slice{at, int32(group)})
		k++
	}
	if group != NoGroup {
		r.origin = min(r.origin, at)
	}
	return k
}

// closeSlice keeps what was added up in the open slice.
func (r *Rank) closeSlice(at int64) {
	k := int32(len(r.slices) - 1)
	group := r.slices[k].group
	if r.opt.HostTime {
		r.hosts.keepTime(&r.ledger, k, at)
	}
	r.closed = r.now.drain(r.closed[:0], k)
	switch group {
	case NoGroup:
	case Pending:
		r.pending = append(r.pending, r.closed...)
	default:
		r.keep(r.closed, group)
	}
}

// keep keeps the attributions of closed slices of one group.
func (l *ledger) keep(attributions []attribution, group int32) {
	total := l.groupSums(group)
	for _, p := range attributions {
		total.add(p.code, p.ns)
	}
	if !l.opt.TotalsOnly {
		l.samples.add(attributions)
	}
}

// groupSums returns the sums of a group, which was among the last ones as a rule.
func (l *ledger) groupSums(group int32) *sums {
	for k := len(l.open) - 1; k >= 0; k-- {
		if l.open[k].group == group {
			return l.open[k].sums
		}
	}
	g := groupSums{group, &sums{}}
	if len(l.open) == maxOpenGroups {
		oldest := l.open[0]
		l.totals = oldest.sums.drain(l.totals, oldest.group)
		g.sums = oldest.sums
		l.open = append(l.open[:0], l.open[1:]...)
	}
	l.open = append(l.open, g)
	return g.sums
}

// Settle tells the group of the slices that are pending.
func (r *Rank) Settle(group int) { r.SettleEach(func(int) int { return group }) }

// SettleEach tells the groups of the slices that are pending, by their numbers.
func (r *Rank) SettleEach(group func(slice int) int) {
	k := len(r.slices)
	for k > 0 && r.slices[k-1].group == Pending {
		k--
	}
	pending := r.pending
	for ; k < len(r.slices); k++ {
		g := int32(group(k))
		r.slices[k].group = g
		n := 0
		for n < len(pending) && pending[n].at == int32(k) {
			n++
		}
		if g != NoGroup {
			r.keep(pending[:n], g)
		}
		pending = pending[n:]
	}
	r.pending = r.pending[:0]
}

// Bounds returns when a slice starts and ends.
func (l *ledger) Bounds(k int) (start, end int64) {
	end = Never
	if k+1 < len(l.slices) {
		end = l.slices[k+1].start
	}
	return l.slices[k].start, end
}

// Each calls f with the idle time of each slice in a group, for windows that end at a
// time: of gaps that end then or later the part before is tail. The order is the same
// each time, but no particular one.
func (l *ledger) Each(windowEnd int64, f func(Sample)) {
	if l.opt.TotalsOnly {
		panic("BUG: slices were not kept")
	}
	emit := func(p attribution) { f(Sample{int(p.at), p.code.key(), p.code.inter(), p.ns}) }
	l.samples.each(emit)
	l.eachLate(windowEnd, emit)
}

// eachLate calls f with the late attributions of slices in a group, for windows that end at a
// time.
func (l *ledger) eachLate(windowEnd int64, f func(attribution)) {
	l.late.Each(spill.Columns(logCode, logNs, logUntil), func(rows spill.Rows) {
		for i, at := range rows[spill.Key] {
			p := attribution{int32(at), code(rows[logCode][i]), rows[logNs][i]}
			if l.slices[p.at].group < 0 {
				continue
			}
			if rows[logUntil][i] >= windowEnd {
				p.code = Key(Tail).code(false)
			}
			f(p)
		}
	})
}

// EachTotal calls f with the idle time of each group by site, for windows that end at
// a time.
func (l *ledger) EachTotal(windowEnd int64, f func(Total)) {
	emit := func(p attribution) { f(Total{int(p.at), p.code.key(), p.code.inter(), p.ns}) }
	for _, p := range l.totals {
		emit(p)
	}
	l.eachLate(windowEnd, func(p attribution) {
		p.at = l.slices[p.at].group
		emit(p)
	})
}

// EachHostTime calls f with the time that launching threads spent in each state in the
// slices of a group, where the option HostTime is set.
func (l *ledger) EachHostTime(f func(Sample)) {
	l.host.each(func(p attribution) { f(Sample{int(p.at), p.code.key(), false, p.ns}) })
}

// sliceAt returns the slice that holds a time.
func (l *ledger) sliceAt(t int64) int {
	k, ok := slices.BinarySearchFunc(l.slices, t, func(s slice, t int64) int {
		if s.start < t {
			return -1
		}
		if s.start > t {
			return 1
		}
		return 0
	})
	if !ok {
		k--
	}
	return k
}
