package kineto

import (
	"fmt"
	"slices"
)

// A collective ends on all ranks at once, within a few microseconds, whenever it
// started there. So the ends of the collectives that two ranks both ran tell how
// far their clocks are apart, and how well that is known.

// apart returns how much later than in d collectives ended in e by the clocks of
// both: the median, and how far from it nine in ten are at most. It returns false
// where too few can be matched: the same number of every name, or the same last
// ones.
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

// collectivesByName returns the ends of the collectives, in order: names have numbers
// of their own in each document.
func (d *document) collectivesByName() map[string][]int64 {
	byName := map[string][]int64{}
	for n, ends := range d.counts.collectives {
		slices.Sort(ends)
		name := d.names.text(n)
		if byName[name] != nil { // several kernels of one short name
			ends = append(slices.Clone(byName[name]), ends...)
			slices.Sort(ends)
		}
		byName[name] = ends
	}
	return byName
}

// align brings the clocks of documents, in the order of their ranks, together by what they
// state, and where collectives show that these are apart by those. It returns what is to be
// said of it, "" for nothing, and whether that is that they agree.
func align(docs []*document) (said string, agree bool) {
	parts := byRank(docs)
	var a agreement
	for n, of := range parts {
		matched, correction := a.matched, int64(0) // of the clock of the rank's process
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
	case len(parts) == 1 || !parts[1][0].active: // of one rank, and maybe traces without GPU work
		return "", false
	case a.ranks == 0:
		return "no collectives to compare the clocks of the traces by: they are assumed to be equal", false
	case a.moved > 0:
		return fmt.Sprintf("clocks were aligned by the ends of %d collectives of %d ranks, by up to %.1f us: they agree within %.1f us", a.matched, a.ranks+1, float64(a.moved)/1e3, float64(a.worst)/1e3), false
	}
	return fmt.Sprintf("clocks of %d ranks agree within %.1f us (%d collectives)", a.ranks+1, float64(a.worst)/1e3, a.matched), true
}

// agreement is what collectives show of clocks: of how many ranks besides the first, by how
// many collectives, and in ns how far clocks were moved and are still apart, at most.
type agreement struct {
	ranks, matched int
	moved, worst   int64
}

// compare returns by how much the clock of a document is ahead of that of a part of the first
// rank, 0 where it is the same one, and correction where that cannot be told or the part is nil.
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

// byRank divides documents, in the order of their ranks, into those of each.
func byRank(docs []*document) (parts [][]*document) {
	for i, d := range docs {
		if i == 0 || d.rankOr() != docs[i-1].rankOr() {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], d)
	}
	return parts
}

// counterpart returns that part of the first rank that is of the same time as part k of
// another: a rank may lack some. Where none of them is by the stated clocks, these are far
// apart, and parts are matched in order if there are as many; nil where none is known.
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

// overlaps reports whether two documents have rows of one time, by their own clocks.
func (d *document) overlaps(e *document) bool { return d.began() < e.ended() && e.began() < d.ended() }
