package kineto

import (
	"fmt"
	"slices"
)

// A collective ends on all ranks within a few microseconds, whenever each rank started
// it. So the ends of the collectives that two ranks both ran show the offset of their
// clocks, and how precisely it is known.

// apart returns how much later, in ns, collectives ended in e than in d by their own
// clocks: the median, and the largest distance from it of the closest nine tenths.
// Collectives are matched by name, the last ones of each name with each other. matched
// is their number; if it is below minMatched, offset and spread are 0.
func (d *document) apart(e *document) (offset, spread int64, matched int) {
	var diffs []int64
	others := e.collectivesByName()
	for name, a := range d.collectivesByName() {
		b := others[name]
		n := min(len(a), len(b))
		a, b = a[len(a)-n:], b[len(b)-n:]
		for i := range n {
			diffs = append(diffs, (b[i]-e.origin)+e.info.Origin-(a[i]-d.origin)-d.info.Origin)
		}
	}
	if len(diffs) < minMatched {
		return 0, 0, len(diffs)
	}
	slices.Sort(diffs)
	offset = diffs[len(diffs)/2]
	for i, v := range diffs {
		diffs[i] = max(v-offset, offset-v)
	}
	slices.Sort(diffs)
	return offset, diffs[(len(diffs)-1)*9/10], len(diffs)
}

// collectivesByName returns the sorted ends of collectives by name; the numbers of
// names differ between documents.
func (d *document) collectivesByName() map[string][]int64 {
	byName := map[string][]int64{}
	for n, ends := range d.counts.collectives {
		slices.Sort(ends)
		name := d.names.text(n)
		if byName[name] != nil { // several kernels have the same short name
			ends = append(slices.Clone(byName[name]), ends...)
			slices.Sort(ends)
		}
		byName[name] = ends
	}
	return byName
}

// align aligns the clocks of documents, which are in rank order, by their stated base
// times, and by collectives if these show that the clocks differ. It returns the note
// to report, "" for none, and whether the note is that they agree.
func align(docs []*document) (said string, agree bool) {
	parts := byRank(docs)
	var a agreement
	for n, of := range parts {
		matched, correction := a.matched, int64(0) // to the clock of the rank's process
		for k, d := range of {
			if n > 0 {
				correction = a.compare(counterpart(parts[0], of, k), d, correction)
			}
			d.info.Offset = d.info.Origin - docs[0].info.Origin - correction
		}
		if a.matched > matched {
			a.ranks++
		}
	}
	switch {
	case len(parts) == 1 || !parts[1][0].active: // one rank, and maybe traces without GPU work
		return "", false
	case a.ranks == 0:
		return "no collectives to compare the clocks of the traces by: they are assumed to be equal", false
	case a.moved > 0:
		return fmt.Sprintf("clocks were aligned by the ends of %d collectives of %d ranks, by up to %.1f us: they agree within %.1f us", a.matched, a.ranks+1, float64(a.moved)/1e3, float64(a.worst)/1e3), false
	}
	return fmt.Sprintf("clocks of %d ranks agree within %.1f us (%d collectives)", a.ranks+1, float64(a.worst)/1e3, a.matched), true
}

// agreement is what collectives show about clocks: the number of ranks compared with
// the first, the number of collectives matched, and in ns the largest correction and
// the largest remaining difference.
type agreement struct {
	ranks, matched int
	moved, worst   int64
}

// compare returns how far, in ns, the clock of d is ahead of the first rank's clock. It
// is 0 if they are the same clock, and correction if that is unknown or part is nil.
func (a *agreement) compare(part, d *document, correction int64) int64 {
	if part == nil {
		return correction
	}
	offset, spread, matched := part.apart(d)
	if matched < minMatched {
		return correction
	}
	a.matched += matched
	if far := max(offset, -offset); far > sameClock && far > sureApart*spread {
		a.moved, a.worst = max(a.moved, far), max(a.worst, spread)
		return offset
	}
	a.worst = max(a.worst, spread, offset, -offset)
	return 0
}

// byRank groups documents, which are in rank order, by rank.
func byRank(docs []*document) (parts [][]*document) {
	for i, d := range docs {
		if i == 0 || d.rankOr() != docs[i-1].rankOr() {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], d)
	}
	return parts
}

// counterpart returns the part of the first rank from the same time as part k of
// another rank, nil if there is none or it is unknown. If no parts overlap by their
// stated clocks, the clocks are far apart; parts are then matched in order, if their
// numbers agree.
func counterpart(first, of []*document, k int) *document {
	for _, d := range first {
		if of[k].overlaps(d) {
			return d
		}
	}
	apart := !slices.ContainsFunc(of, func(d *document) bool { return slices.ContainsFunc(first, d.overlaps) })
	if apart && len(first) == len(of) {
		return first[k]
	}
	return nil
}

// overlaps reports whether two documents have rows at the same time, by their own
// clocks.
func (d *document) overlaps(e *document) bool { return d.began() < e.ended() && e.began() < d.ended() }
