package command

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// summary counts the rows of a stream, for a terminal without --format.
type summary struct {
	kinds map[event.Kind]int64
	ranks map[int32]*rankSummary
	rows  int64
}

// rankSummary counts the rows of a rank.
type rankSummary struct {
	rows   int64
	steps  int64
	phases map[event.Phase]int64 // number of steps
	window float64               // length of the benchmark window in us, 0 if unknown
}

// noRank stands for processes without GPU work.
const noRank = -1

// summarize reads a stream to its end and returns a summary.
func summarize(src event.Source) (*report.Document, error) {
	s := &summary{kinds: map[event.Kind]int64{}, ranks: map[int32]*rankSummary{}}
	if err := event.Each(src, s.add); err != nil {
		return nil, err
	}
	return s.document(src.Header()), nil
}

// add counts the rows of a batch, one stretch of a rank at a time. It does not retain
// the batch.
func (s *summary) add(b *event.Batch) error {
	s.rows += int64(b.Len)
	phased := b.Columns.Has(event.ColPhase)
	for i := 0; i < b.Len; {
		id, end := int32(noRank), b.RankEnd(i)
		if rank, ok := b.Rank.Get(i); ok {
			id = rank
		}
		r := s.ranks[id]
		if r == nil {
			r = &rankSummary{phases: map[event.Phase]int64{}}
			s.ranks[id] = r
		}
		r.rows += int64(end - i)
		for ; i < end; i++ {
			kind := b.Kind.Values[i]
			s.kinds[kind]++
			switch kind {
			case event.Step:
				r.steps++
				if phased {
					phase, _ := b.Phase.Get(i)
					r.phases[phase]++
				}
			case event.Window:
				r.window = float64(b.End.Values[i]-b.Start.Values[i]) / 1e3
			}
		}
	}
	return nil
}

// document returns the summary for people.
func (s *summary) document(h *event.Header) *report.Document {
	d, first := report.New(report.Textf("%d events of %d ranks", s.rows, h.NumRanks()))
	first.Say("This is a summary. For the rows: %s (or json, table), %s, or a pipe into the next filter.",
		report.Command("--format csv"), report.Command("-o FILE.arrows"))
	d.Section("Warnings").Items(h.Warnings())
	t := d.Section("Rows by kind").Table("", report.Column{Title: "kind"}, report.Column{Title: "rows", Kind: report.Count})
	for kind := range event.Kinds {
		if n := s.kinds[event.Kind(kind)]; n > 0 {
			t.Row(report.Str(event.Kind(kind).String()), report.Int(n))
		}
	}

	t = d.Section("Ranks").Table("", report.Column{Title: "rank", Right: true}, report.Column{Title: "rows", Kind: report.Count},
		report.Column{Title: "steps", Kind: report.Count, Minor: 1}, report.Column{Title: event.Context.String(), Kind: report.Count, Minor: 2},
		report.Column{Title: event.Generation.String(), Kind: report.Count, Minor: 2}, report.Column{Title: "benchmark window", Kind: report.Duration, Minor: 1})
	t.Top = defaultTop
	for _, id := range slices.Sorted(maps.Keys(s.ranks)) {
		t.Row(s.ranks[id].cells(id)...)
	}
	return d
}

// cells returns the row of a rank.
func (r *rankSummary) cells(id int32) []report.Cell {
	name := fmt.Sprint(id)
	if id == noRank {
		name = "none"
	}
	some := func(n int64) report.Cell {
		if n == 0 {
			return report.Cell{}
		}
		return report.Int(n)
	}
	window := report.Cell{}
	if r.window > 0 {
		window = report.Num(r.window)
	}
	return []report.Cell{report.Str(name), report.Int(r.rows), some(r.steps), some(r.phases[event.Context]), some(r.phases[event.Generation]), window}
}
