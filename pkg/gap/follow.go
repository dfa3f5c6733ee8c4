package gap

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/interval"
	"github.com/hostbound/hostbound/pkg/marker"
)

// follow is when threads of ranks wait for requests: fetching them, blocked inside a range that
// fetches, or perhaps for the rank that does. All ranks are of one report: clocks of several
// are not the same to the microsecond.
type follow struct {
	wanted  bool
	fetches map[string]bool // by the text of a range
	threads map[who]*followed
}

// followed is when a thread waits.
type followed struct {
	fetching int64                 // until when it is in a range that fetches
	waits    [ways]interval.Spells // fetching, and perhaps following
}

const (
	fetching = iota
	following
	ways
)

// maxTexts is how many texts of ranges are remembered.
const maxTexts = 1 << 12

func newFollow(h *event.Header) follow {
	wanted := len(h.Reports) == 1 && h.NumRanks() > 1 && h.Rows(event.OS) > 0 && h.ClassRows(event.Allreduce) > 0
	return follow{wanted: wanted, fetches: map[string]bool{}, threads: map[who]*followed{}}
}

// add observes the ranges and the calls of the system among the rows of a batch.
func (w *follow) add(b *event.Batch) {
	for i, kind := range b.Kind.Values[:b.Len] {
		switch {
		case kind == event.NVTX && w.isFetch(b.Name.Get(i)):
			if t := w.thread(b, i); t != nil {
				t.fetching = max(t.fetching, b.End.Values[i])
				t.waits[following].Add(b.Start.Values[i], b.End.Values[i])
			}
		case kind == event.OS:
			class, from, to := event.Class(b.Class.Values[i]), b.Start.Values[i], b.End.Values[i]
			others := class == event.OSIO || class == event.OSWait
			if !others && class != event.OSJoin && class != event.OSSleep {
				continue
			}
			t := w.thread(b, i)
			if t != nil && from < t.fetching {
				t.waits[fetching].Add(from, min(to, t.fetching))
			}
			if t != nil && others {
				t.waits[following].Add(from, to)
			}
		}
	}
}

// thread returns the thread of row i, nil where it is of no rank.
func (w *follow) thread(b *event.Batch, i int) *followed {
	rank, ok := b.Rank.Get(i)
	if !ok {
		return nil
	}
	by := who{rank, b.Thread.Values[i]}
	t := w.threads[by]
	if t == nil {
		t = &followed{}
		w.threads[by] = t
	}
	return t
}

// isFetch tells whether a range with a text fetches requests.
func (w *follow) isFetch(text []byte) bool {
	is, ok := w.fetches[string(text)]
	if !ok {
		if len(w.fetches) >= maxTexts {
			clear(w.fetches)
		}
		is = marker.FetchesRequests(string(text))
		w.fetches[string(text)] = is
	}
	return is
}

// spells returns the waits of a rank's launching threads.
func (w *follow) spells(v *view, way int) (all interval.Spells) {
	var list []interval.Span
	for by, t := range w.threads {
		if by.rank == v.id && v.idle.Launches(by.thread) {
			list = append(list, t.waits[way]...)
		}
	}
	slices.SortFunc(list, func(a, b interval.Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, s := range list {
		all.Add(s.From, s.To)
	}
	return all
}

// followers returns the ranks that follow one.
func (w *follow) followers(views []*view, first *view) map[int32]bool {
	follow := map[int32]bool{}
	for _, v := range views {
		if w.wanted && v != first && w.spells(v, following).Follow(w.spells(first, fetching)) {
			follow[v.id] = true
		}
	}
	return follow
}
