// Package phase tells prefill from decode: it adds the columns phase, ctx and
// gen to a stream with steps.
//
// A step's numbers of context and generation requests stand in the forward-step
// marker that is the name of its step row. A step with context requests is a
// "context" step (a mixed one where it has generation requests, too), one with
// generation requests only is a "generation" step, and one without either, or
// without numbers, is "unknown".
//
// Step rows get all three columns, where known; the other rows of a step get its
// phase; rows of no step, and window rows, get nulls. Because a step row stands
// before the rows of its step, one batch at a time is enough, and the columns
// that come in go out as they are, without a copy.
//
// Steps that were isolated by graph launches and have no numbers are generation
// steps: engines replay graphs for decode and run prefill eagerly. What runs
// eagerly between two replays belongs to the period of the former.
package phase

import (
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/marker"
)

// Tagger is the stream with phases. It is an event.Source.
type Tagger struct {
	src      event.Source
	header   event.Header
	marker   *marker.Set
	unnamed  int32 // phase of steps without numbers
	out      event.Batch
	ranks    []rank
	cur      int // index in ranks of the row before
	counted  int64
	steps    int64
	log      func(string)
	reported bool
}

// rank is the phase that a rank is in.
type rank struct {
	id    int32
	phase int32
}

// New returns the rows of src with phases. src has steps; an error is an
// *event.Error. log takes remarks, a sentence each; nil drops them.
func New(src event.Source, log func(string)) (*Tagger, error) {
	h := src.Header()
	if h.Isolation == nil {
		return nil, &event.Error{Msg: "the stream has no steps", Advice: "put isolate before phase"}
	}
	if h.Columns&event.PhaseCols != 0 {
		return nil, &event.Error{Msg: "the stream has phases already", Advice: "phase takes what isolate writes"}
	}
	if err := h.Require(1<<event.ColKind | 1<<event.ColRank | 1<<event.ColName | event.StepCols); err != nil {
		return nil, err
	}
	t := &Tagger{src: src, header: *h, marker: marker.Presets, unnamed: event.Unknown, log: log}
	if t.log == nil {
		t.log = func(string) {}
	}
	if expr := h.Isolation.Marker; expr != "" {
		var err error
		if t.marker, err = marker.Compile(expr); err != nil {
			return nil, &event.Error{Msg: err.Error(), Advice: "the stream's header has it; isolate again with another --marker"}
		}
	}
	if h.Isolation.Method == "graph" {
		t.unnamed = event.Generation
	}
	t.header.Stage = "phase"
	t.header.Columns |= event.PhaseCols
	return t, nil
}

// Header returns the header of the stream with phases.
func (t *Tagger) Header() *event.Header { return &t.header }

// Next returns the next batch, which is valid until the following call.
func (t *Tagger) Next() (*event.Batch, error) {
	b, err := t.src.Next()
	if err == io.EOF {
		t.report()
	}
	if err != nil {
		return nil, err
	}
	own := t.out
	t.out = *b
	t.out.Columns |= event.PhaseCols
	t.out.Phase, t.out.Ctx, t.out.Gen = own.Phase, own.Ctx, own.Gen
	t.tag(&t.out)
	return &t.out, nil
}

// tag fills the three columns.
func (t *Tagger) tag(b *event.Batch) {
	clearColumn(&b.Phase.Values, &b.Phase.Valid, b.Len)
	clearColumn(&b.Ctx.Values, &b.Ctx.Valid, b.Len)
	clearColumn(&b.Gen.Values, &b.Gen.Valid, b.Len)
	if b.Step.Valid == nil {
		b.Phase.Fill(0, b.Len, event.Unknown)
	} else {
		copy(b.Phase.Valid, b.Step.Valid)
	}
	kinds := b.Kind.Values[:b.Len]
	ranks, valid := b.Rank.Values[:b.Len], b.Rank.Valid
	phases := b.Phase.Values
	phase := int32(0)
	if b.Len > 0 {
		phase = t.enter(ranks[0])
	}
	for i, kind := range kinds {
		if ranks[i] != t.ranks[t.cur].id {
			phase = t.enter(ranks[i])
		}
		if kind >= event.Step && valid.Get(i) {
			if kind == event.Window {
				b.Phase.SetNull(i)
				continue
			}
			phase = t.step(b, i)
			t.ranks[t.cur].phase = phase
		}
		if b.Phase.Valid.Get(i) { // a null has 0, as everywhere: streams are compared by their bytes
			phases[i] = phase
		}
	}
}

// enter makes the rank with the given number the current one and returns its
// phase. Rows of no rank are in no step, whatever number stands there.
func (t *Tagger) enter(id int32) int32 {
	t.cur = slices.IndexFunc(t.ranks, func(r rank) bool { return r.id == id })
	if t.cur < 0 {
		t.cur = len(t.ranks)
		t.ranks = append(t.ranks, rank{id, event.Unknown})
	}
	return t.ranks[t.cur].phase
}

// step fills ctx and gen of step row i and returns the step's phase.
func (t *Tagger) step(b *event.Batch, i int) int32 {
	t.steps++
	counts, ok := t.marker.Parse(string(b.Name.Get(i)))
	if !ok || !counts.HasCounts {
		return t.unnamed
	}
	t.counted++
	b.Ctx.Set(i, counts.Ctx)
	b.Gen.Set(i, counts.Gen)
	switch {
	case counts.Ctx > 0:
		return event.Context
	case counts.Gen > 0:
		return event.Generation
	}
	return event.Unknown
}

// report says, once, on what ground phases were told.
func (t *Tagger) report() {
	if t.reported || t.steps == 0 {
		return
	}
	t.reported = true
	switch {
	case t.counted > 0:
	case t.unnamed == event.Generation:
		t.log("no forward-step markers: steps are graph replays and count as generation")
	default:
		t.log("no forward-step markers with request counts: the phase of all steps is unknown")
	}
}

// clearColumn makes a column of n nulls in the memory it has.
func clearColumn[T int32 | int64](values *[]T, valid *event.Bitmap, n int) {
	*values = slices.Grow((*values)[:0], n)[:n]
	clear(*values)
	*valid = slices.Grow((*valid)[:0], (n+7)/8)[:(n+7)/8]
	clear(*valid)
}
