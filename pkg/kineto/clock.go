package kineto

import (
	"fmt"
	"slices"
)

// A collective ends on all ranks at once, within a few microseconds, whenever it
// started there. So the ends of the collectives that two ranks both ran tell how
// far their clocks are apart, and how well that is known.

// minMatched is the number of collectives below which nothing is said of clocks.
const minMatched = 4

// sameClock is the difference up to which clocks are taken for one, in ns: more
// than the ends of one collective differ by on one host.
const sameClock = 50_000

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

// align brings the clocks of documents together by what they state, and where
// collectives show that these are apart by those. It returns what is to be said of
// it, "" for nothing.
func align(docs []*document) string {
	first := docs[0]
	var worst, moved int64
	ranks, total := 0, 0
	parts := map[int64][]*document{} // of each rank so far
	for _, d := range docs {
		d.info.Offset = d.info.Origin - first.info.Origin
		rank := d.rankOr()
		part := len(parts[rank])
		parts[rank] = append(parts[rank], d)
		if rank == first.rankOr() || part >= len(parts[first.rankOr()]) {
			continue
		}
		offset, spread, matched := parts[first.rankOr()][part].apart(d)
		if matched < minMatched {
			continue
		}
		total += matched
		ranks++
		if max(offset, -offset) > sameClock && max(offset, -offset) > 4*spread {
			d.info.Offset -= offset
			moved = max(moved, offset, -offset)
			offset = 0
		}
		worst = max(worst, spread, offset, -offset)
	}
	switch {
	case len(parts) == 1:
		return ""
	case ranks == 0:
		return "no collectives by which the clocks of the traces could be compared: they are taken for one"
	case moved > 0:
		return fmt.Sprintf("clocks were aligned by the ends of %d collectives of %d ranks, by up to %.1f us: they agree within %.1f us", total, ranks+1, float64(moved)/1e3, float64(worst)/1e3)
	}
	return fmt.Sprintf("clocks agree within %.1f us by the ends of %d collectives of %d ranks", float64(worst)/1e3, total, ranks+1)
}
