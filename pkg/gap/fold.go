package gap

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/thread"
)

// maxRuns is how many runs of a rank's threads are kept.
var maxRuns = 1 << 17 // changed by tests only

// foldedPiece is time that a thread spent in one state in one cell.
type foldedPiece struct {
	thread int32
	piece
}

// fold bounds what is kept of what the threads did. An idle gap needs all of it
// since its beginning, because only its end tells which thread matters, and when
// that one's launch was made; and a lane that is yet to appear has been idle since
// the first step. When too much is kept, it is replaced by the time that each
// launching thread spent in each state in each cell. Of a gap that reaches back
// behind that, all is still exact, except where the launch of what ends it is
// that long ago, too: then the shares of the causes are, in the cell of the launch,
// those of the whole cell.
func (r *rank) fold() {
	if r.origin == never {
		for _, h := range r.threads {
			h.Forget(r.last)
		}
		return
	}
	n := 0
	for _, h := range r.threads {
		n += h.Len()
	}
	if n < maxRuns {
		return
	}
	to := r.last
	for _, l := range r.lanes {
		if from := max(l.end, r.origin); from < to && from >= r.folds {
			l.partial = l.partial[:0]
			for _, h := range r.threads {
				l.partial = r.appendFolded(l.partial, h, from, to)
			}
			// What is folded now it has.
			l.folded, l.foldEnd = -1, to
		}
	}
	for _, h := range r.threads {
		r.folded = r.appendFolded(r.folded, h, max(r.folds, r.origin), to)
		h.Forget(to)
	}
	for _, l := range r.lanes {
		if l.folded < 0 {
			l.folded = len(r.folded)
		}
		if l.foldEnd > none {
			l.foldEnd = to
		}
	}
	r.folds = to
}

// appendFolded appends what a thread did between from and to.
func (r *rank) appendFolded(list []foldedPiece, h *hostThread, from, to int64) []foldedPiece {
	if !h.launches {
		return list
	}
	h.Advance(to)
	runs := h.Runs(from)
	k := 0 // the cell
	for k+1 < len(r.cells) && r.cells[k+1].start <= from {
		k++
	}
	var sum dense
	add := func(a, b int64, state thread.State) {
		for a < b {
			end := b
			if k+1 < len(r.cells) && r.cells[k+1].start < b {
				end = r.cells[k+1].start
			}
			sum.add(state, end-a)
			if a = end; k+1 < len(r.cells) && a == r.cells[k+1].start {
				list = drainFolded(list, &sum, h.number, int32(k))
				k++
			}
		}
	}
	for i := range runs {
		end := to
		if i+1 < len(runs) {
			end = min(to, runs[i+1].At)
		}
		start := max(from, runs[i].At)
		for k+1 < len(r.cells) && r.cells[k+1].start <= start {
			list = drainFolded(list, &sum, h.number, int32(k))
			k++
		}
		add(start, end, runs[i].State)
	}
	return drainFolded(list, &sum, h.number, int32(k))
}

func drainFolded(list []foldedPiece, sum *dense, number, cell int32) []foldedPiece {
	for _, state := range sum.touched {
		list = append(list, foldedPiece{number, piece{cell, state, sum.ns[state]}})
		sum.ns[state] = 0
	}
	sum.touched = sum.touched[:0]
	return list
}

// attributeFolded credits the part before the lane's fold of the time between
// from and to, and returns where the rest begins.
func (r *rank) attributeFolded(l *lane, h *hostThread, from, to, until int64) int64 {
	end := min(l.foldEnd, to)
	if to < l.foldEnd {
		r.estimated += to - from
	}
	number := int32(-1)
	if h != nil {
		number = h.number
	}
	mine := r.foldedOf(l, number)
	var sums dense
	for k := 0; k < len(r.cells) && r.cells[k].start < end; k++ {
		last := end
		if k+1 < len(r.cells) {
			last = min(last, r.cells[k+1].start)
		}
		whole := int64(0) // of what is folded
		for ; len(mine) > 0 && mine[0].cell <= int32(k); mine = mine[1:] {
			sums.add(mine[0].cause, mine[0].ns)
			whole += mine[0].ns
		}
		if first := max(from, r.cells[k].start); first < last {
			r.creditShares(&sums, whole, span{first, last}, until)
		}
	}
	return end
}

// foldedOf returns what was folded of a thread during the lane's gap, by cell.
func (r *rank) foldedOf(l *lane, number int32) []piece {
	var mine []piece
	for _, list := range [2][]foldedPiece{l.partial, r.folded[min(l.folded, len(r.folded)):]} {
		for _, p := range list {
			if p.thread == number {
				mine = append(mine, p.piece)
			}
		}
	}
	slices.SortStableFunc(mine, func(a, b piece) int { return cmp.Compare(a.cell, b.cell) })
	return mine
}

// creditShares credits the time of a span with the folded times, cut down to it
// where they are of more, and the rest as untraced.
func (r *rank) creditShares(sums *dense, whole int64, s span, until int64) {
	at := s.start
	length := s.end - s.start
	for _, cause := range sums.touched {
		ns := sums.ns[cause]
		sums.ns[cause] = 0
		if whole > length {
			ns = int64(float64(ns) / float64(whole) * float64(length))
		}
		ns = min(ns, s.end-at)
		r.credit(at, at+ns, until, cause)
		at += ns
	}
	sums.touched = sums.touched[:0]
	r.credit(at, s.end, until, thread.Untraced)
}
