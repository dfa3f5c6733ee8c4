// A Tagger distinguishes prefill from decode: it adds the columns phase, ctx and gen to
// a stream with steps.
//
// The name of a step row is the forward-step marker of the step, which contains the
// numbers of its context and generation requests. (For allreduce steps it is the marker
// during which the first kernel was launched.) A step with context requests is a
// "context" step, even if it also has generation requests. One with generation requests
// only is a "generation" step. One with neither, or without numbers, is "unknown".
//
// Step rows get all three columns, as far as known. The other rows of a step get its
// phase. Rows outside steps, and window rows, get nulls. A step row precedes the rows of
// its step, so one batch at a time is enough. The input columns are passed on without a
// copy.
//
// Steps that were isolated by graph launches and have no numbers are generation steps:
// engines replay graphs for decode and run prefill eagerly. Steps that ran without a
// replay (the step row has the class launch) are context steps.
//
// Steps of a run that generates no tokens (the header's Workload: training, diffusion)
// have an unknown phase and no numbers, whatever the names of their ranges.

package step

import (
	"fmt"
	"io"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Tagger adds phases to a stream. It is an event.Source.
type Tagger struct {
	src      event.Source
	header   event.Header
	marker   *marker.Set
	unnamed  event.Phase           // phase of steps without numbers
	tokens   bool                  // the run generates tokens, or may; otherwise no step has a phase
	own, out event.Batch           // the added columns; the batch returned last
	phases   map[int32]event.Phase // current phase, by rank
	counted  int64                 // steps with numbers
	steps    int64
	eager    int64 // steps without numbers that ran without a replay
	log      func(string)
	reported bool // no report is due any more

	parts []*Tagger // one for each part of the source, if it is read in parts
}

// NewTagger returns a stream with the rows of src and their phases. src must have steps
// and no phases; an error is an *event.Error. log receives remarks, a sentence each,
// warnings after "warning: "; if nil, they are dropped.
func NewTagger(src event.Source, log func(string)) (*Tagger, error) {
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
	t := &Tagger{src: src, header: *h, marker: marker.Presets, unnamed: event.Unknown, phases: map[int32]event.Phase{}, log: log}
	if t.log == nil {
		t.log = func(string) {}
	}
	if expr := h.Isolation.Marker; expr != "" {
		var err error
		if t.marker, err = marker.Compile(expr); err != nil {
			return nil, &event.Error{Msg: err.Error(), Advice: "the stream's header has it; isolate again with another --marker"}
		}
	}
	t.tokens = h.Workload() == ""
	if h.Isolation.Method == "graph" && t.tokens {
		t.unnamed = event.Generation
	}
	t.header.Stage = "phase"
	t.header.Columns |= event.PhaseCols
	return t, nil
}

// Header returns the header of the stream with phases.
func (t *Tagger) Header() *event.Header { return &t.header }

// Next returns the next batch, which is valid until the next call.
func (t *Tagger) Next() (*event.Batch, error) {
	b, err := t.src.Next()
	if err == io.EOF {
		t.report()
		t.out, t.own = event.Batch{}, event.Batch{} // free the memory: there may be many ranks, most of them done
	}
	if err != nil {
		return nil, err
	}
	t.own.Blank(b.Len, event.PhaseCols)
	t.out = *b
	t.out.Columns |= event.PhaseCols
	t.out.Phase, t.out.Ctx, t.out.Gen = t.own.Phase, t.own.Ctx, t.own.Gen
	return &t.out, t.out.EachRank(t.tag)
}

// Parts returns the rows with phases for each part of the source. It implements
// event.Parted.
func (t *Tagger) Parts() (parts []event.Source, beside int) {
	sources, beside := event.PartsOf(t.src)
	for _, src := range sources {
		one := &Tagger{src: src, header: t.header, marker: t.marker, unnamed: t.unnamed, tokens: t.tokens, phases: map[int32]event.Phase{}, reported: true}
		t.parts, parts = append(t.parts, one), append(parts, one)
	}
	return parts, beside
}

// Rest returns what follows the parts, and reports on all of them. It implements
// event.Parted.
func (t *Tagger) Rest() (event.Source, error) {
	for _, one := range t.parts {
		t.counted += one.counted
		t.steps += one.steps
		t.eager += one.eager
	}
	t.parts = nil
	rest, err := t.src.(event.Parted).Rest()
	t.src = rest
	return t, err
}

// tag fills the three columns, which are null, for rows i to j of a rank with the phases
// of their steps.
func (t *Tagger) tag(rank int32, i, j int) error {
	b := &t.out
	kinds, valid := b.Kind.Values[:j], b.Step.Valid
	phase, known := t.phases[rank]
	if !known { // the row of the step was filtered out
		phase = event.Unknown
	}
	for i < j {
		if kinds[i] == event.Step {
			phase = t.step(b, i)
			t.phases[rank] = phase
		}
		in, from := valid.Get(i) && kinds[i] != event.Window, i
		for i++; i < j && kinds[i] != event.Step && kinds[i] != event.Window && valid.Get(i) == in; i++ {
		}
		if in {
			b.Phase.Fill(from, i, phase)
		}
	}
	return nil
}

// step fills ctx and gen of step row i and returns the phase of the step.
func (t *Tagger) step(b *event.Batch, i int) event.Phase {
	if t.steps++; !t.tokens {
		return event.Unknown
	}
	counts, ok := t.marker.Parse(string(b.Name.Get(i)))
	known := ok && counts.HasCounts
	if known {
		t.counted++
	}
	switch {
	case !known && b.Columns.Has(event.ColClass) && b.Class.Valid.Get(i) && b.Class.Values[i] == event.Launch:
		t.eager++
		return event.Context
	case !known:
		return t.unnamed
	}
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

// report logs, once, how phases were found.
func (t *Tagger) report() {
	if t.reported || t.steps == 0 {
		return
	}
	t.reported = true
	if t.eager > 0 {
		t.log(fmt.Sprintf("warning: %d of %d steps ran without a graph replay and count as context: they may be decode steps of a batch size without a graph", t.eager, t.steps))
	}
	switch {
	case !t.tokens:
		t.log(event.WorkloadText(t.header.Workload()) + "; steps have no phases")
	case t.counted > 0:
	case t.unnamed == event.Generation:
		t.log("no forward-step markers: steps are graph replays and count as generation")
	default:
		t.log("no forward-step markers with request counts: the phase of all steps is unknown")
	}
}
