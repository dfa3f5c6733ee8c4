package checkpoint

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Selection chooses rows. The zero value chooses all; all fields that are set must
// match.
//
// Time keeps a window row whose span overlaps it, cut to Time. Step rows end where Time
// does, because no later row shows what the rest of the step was. A step that is a marker
// range must end by then, as in a recording that ends there. Steps cut the window
// to the time between the start of the first chosen step and that of step Steps.To, if
// there is one. All other rows pass unchanged.
//
// The header keeps the counts of the whole reports and, with Time or Steps, says so and
// when rows end. With Steps, a rank's first and last GPU activity are unknown: the
// header is written before the rows that would show them.
type Selection struct {
	// Ranks are the ranks whose rows are chosen; nil for all rows, also those without a
	// rank.
	Ranks []int32
	// Kinds are the chosen kinds of rows, nil for all.
	Kinds []event.Kind
	// Time is when a row must start, in ns, or reach into from before. A step must
	// start in it.
	Time *Range
	// Steps are the numbers of the steps that a row must belong to, or reach into from
	// before.
	Steps *Range
}

// Range is a half-open range: From is included, To is not.
type Range struct {
	From int64 // first value in the range
	To   int64 // first value after it
}

// has reports whether a number is in the range.
func (r *Range) has(v int64) bool { return v >= r.From && v < r.To }

// columns returns the columns that the selection needs.
func (s *Selection) columns() event.Set {
	set := event.Set(1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd)
	if s.Ranks != nil || s.Steps != nil {
		set |= 1 << event.ColRank
	}
	if s.Steps != nil {
		set |= 1 << event.ColStep
	}
	return set
}

// Filter returns the chosen rows of src.
func (s *Selection) Filter(src event.Source) (event.Source, error) {
	if err := src.Header().Require(s.columns()); err != nil {
		return nil, err
	}
	if s.Ranks == nil && s.Kinds == nil && s.Time == nil && s.Steps == nil {
		return src, nil
	}
	return &filter{sel: s, src: src, header: s.header(src.Header()), spans: map[int32]*Range{}}, nil
}

// header returns the header of the chosen rows; h is that of all rows.
func (s *Selection) header(h *event.Header) *event.Header {
	out := *h
	out.Reports = nil
	for _, r := range h.Reports {
		if s.Ranks != nil && !s.keepRanks(&r) {
			continue
		}
		if s.Kinds != nil {
			r.Kinds = s.Kept(r.Kinds)
		}
		span := s.Time
		if s.Steps != nil {
			span = &Range{}
		}
		if span != nil {
			r.Chosen, r.ChosenSteps = true, r.ChosenSteps || s.Steps != nil
			if t := s.Time; t != nil {
				if was := r.ChosenTime; was != nil {
					t = &Range{max(t.From, was[0]), min(t.To, was[1])}
				}
				r.ChosenTime = &[2]int64{t.From, t.To}
			}
			r.GPUStart, r.GPUEnd = span.cut(r.GPUStart, r.GPUEnd)
			r.BusyStart, r.BusyEnd = span.cut(r.BusyStart, r.BusyEnd)
			r.RankFacts = s.cutFacts(r.RankFacts, span)
		}
		out.Reports = append(out.Reports, r)
	}
	return &out
}

// Kept returns the names of the chosen kinds that are also in before, the kinds chosen
// earlier; nil there means all.
func (s *Selection) Kept(before []string) []string {
	kept := []string{}
	for code, name := range event.Kinds {
		if slices.Contains(s.Kinds, event.Kind(code)) && (before == nil || slices.Contains(before, name)) {
			kept = append(kept, name)
		}
	}
	return kept
}

// keepRanks removes the ranks that are not chosen from a report and reports whether any
// is left.
func (s *Selection) keepRanks(r *event.Report) bool {
	ranks, devices := r.Ranks, r.AllreduceDevices
	r.Ranks, r.AllreduceDevices = []int32{}, nil
	r.RankFacts = slices.DeleteFunc(slices.Clone(r.RankFacts), func(f event.RankFacts) bool { return !slices.Contains(s.Ranks, f.Rank) })
	for i, rank := range ranks {
		if !slices.Contains(s.Ranks, rank) {
			continue
		}
		r.Ranks = append(r.Ranks, rank)
		if i < len(devices) {
			r.AllreduceDevices = append(r.AllreduceDevices, devices[i])
		}
	}
	return len(r.Ranks) > 0
}

// cut returns the part of a span in the range, nil if there is none.
func (r *Range) cut(start, end *int64) (*int64, *int64) {
	if start == nil || end == nil {
		return nil, nil
	}
	from, to := max(*start, r.From), min(*end, r.To)
	if from >= to {
		return nil, nil
	}
	return &from, &to
}

// cutFacts returns facts of ranks with GPU spans cut to span, and unrecorded spans cut
// to Time. Counts stay those of the whole.
func (s *Selection) cutFacts(facts []event.RankFacts, span *Range) []event.RankFacts {
	facts = slices.Clone(facts)
	for i := range facts {
		f := &facts[i]
		f.GPUStart, f.GPUEnd = span.cut(f.GPUStart, f.GPUEnd)
		f.BusyStart, f.BusyEnd = span.cut(f.BusyStart, f.BusyEnd)
		if s.Time == nil {
			continue
		}
		var spans [][2]int64
		for _, u := range f.Unrecorded {
			if start, end := s.Time.cut(&u[0], &u[1]); start != nil {
				spans = append(spans, [2]int64{*start, *end})
			}
		}
		f.Unrecorded = spans
	}
	return facts
}

// filter is the source that Selection.Filter returns.
type filter struct {
	sel    *Selection
	src    event.Source
	header *event.Header
	spans  map[int32]*Range // by rank, span of its chosen steps
	rows   []int32          // chosen rows of the batch
	out    event.Batch
	reach  reach
}

// Header implements event.Source: the header of the chosen rows.
func (f *filter) Header() *event.Header { return f.header }

// Next passes on batches whose rows are all chosen, and copies the chosen rows of
// others.
func (f *filter) Next() (*event.Batch, error) {
	for {
		b, err := f.src.Next()
		if err != nil {
			return nil, err
		}
		f.out.Reset(b.Columns)
		cut := f.choose(b)
		if len(f.rows) == b.Len && f.out.Len == 0 && !cut {
			return b, nil
		}
		f.out.AppendRows(b, f.rows)
		switch {
		case f.out.Len == 0:
			continue
		case !cut:
			return &f.out, nil
		}
		for i, kind := range f.out.Kind.Values {
			switch {
			case kind == event.Window:
				f.out.Start.Values[i], f.out.End.Values[i] = f.windowSpan(&f.out, i)
			case kind == event.Step && f.sel.Time != nil:
				f.out.End.Values[i] = min(f.out.End.Values[i], f.sel.Time.To)
			}
		}
		return &f.out, nil
	}
}

// choose sets f.rows to the chosen rows, and reports whether some of them may have to
// be cut.
func (f *filter) choose(b *event.Batch) (cut bool) {
	f.rows = f.rows[:0]
	for i := range b.Len {
		if f.sel.Steps != nil && b.Kind.Values[i] == event.Step {
			f.recordStep(b, i)
		}
		if f.chosen(b, i) {
			f.rows = append(f.rows, int32(i))
			kind := b.Kind.Values[i]
			cut = cut || kind == event.Window || kind == event.Step && f.sel.Time != nil
		}
	}
	if f.sel.Steps != nil && b.Len > 0 {
		f.hold(b)
	}
	return cut
}

// chosen reports whether row i passes. A step row passes by its own time, the rows in
// it by theirs. A window row passes if anything of it is left (windowSpan).
func (f *filter) chosen(b *event.Batch, i int) bool {
	s := f.sel
	if b.Kind.Values[i] == event.Window && (s.Time != nil || s.Steps != nil) {
		from, to := f.windowSpan(b, i)
		return from < to && s.hasRow(b, i)
	}
	if !s.meets(b, i) {
		return false
	}
	if b.Kind.Values[i] == event.Step && f.torn(b, i) {
		return false
	}
	if s.Steps != nil {
		step, ok := b.Step.Get(i)
		return ok && s.Steps.has(step)
	}
	return true
}

// torn reports whether step i is a marker range that continues after the chosen time.
func (f *filter) torn(b *event.Batch, i int) bool {
	return f.sel.Time != nil && b.End.Values[i] > f.sel.Time.To && f.header.Isolation != nil && f.header.Isolation.Method == "nvtx"
}

// meets reports whether row i, not a window row, is chosen apart from Steps.
func (s *Selection) meets(b *event.Batch, i int) bool {
	return s.hasRow(b, i) && (s.Time == nil || s.Time.has(b.Start.Values[i]) || reaches(b, i, s.Time.From))
}

// hasRow reports whether the rank and kind of row i are chosen.
func (s *Selection) hasRow(b *event.Batch, i int) bool {
	return (s.Ranks == nil || slices.Contains(s.Ranks, rankOf(b, i))) && (s.Kinds == nil || slices.Contains(s.Kinds, b.Kind.Values[i]))
}

// recordStep records where the chosen steps of a rank begin and end. Step rows precede
// the window row, so its chosen part is known when it arrives.
func (f *filter) recordStep(b *event.Batch, i int) {
	step, ok := b.Step.Get(i)
	if !ok {
		return
	}
	rank, start := rankOf(b, i), b.Start.Values[i]
	span := f.spans[rank]
	switch {
	case f.sel.Steps.has(step) && span == nil:
		f.spans[rank] = &Range{start, math.MaxInt64}
		f.release(b, i)
	case step == f.sel.Steps.To && span != nil:
		span.To = start
	}
}

// windowSpan returns the chosen part of a window row's span, empty if there is none.
func (f *filter) windowSpan(b *event.Batch, i int) (from, to int64) {
	from, to = b.Start.Values[i], b.End.Values[i]
	if t := f.sel.Time; t != nil {
		from, to = max(from, t.From), min(to, t.To)
	}
	if f.sel.Steps != nil {
		span := f.spans[rankOf(b, i)]
		if span == nil {
			return 0, 0
		}
		from, to = max(from, span.From), min(to, span.To)
	}
	return from, to
}
