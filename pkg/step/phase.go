// Phase distinguishes prefill from decode: it adds the columns phase, ctx and
// gen to a stream with steps.
//
// A step's numbers of context and generation requests stand in the forward-step
// marker that is the name of its step row: of steps by allreduce the one during
// which the first kernel was launched. A step with context requests is a
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
// steps: engines replay graphs for decode and run prefill eagerly. Those that no replay
// ran (the step row has the class launch) are context steps.
//
// Steps of a run that generates no tokens (the header's Workload: training, diffusion) are
// of unknown phase and have no numbers, whatever their ranges are called.

package step

import (
	"fmt"
	"io"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Tagger is the stream with phases. It is an event.Source.
type Tagger struct {
	src      event.Source
	header   event.Header
	marker   *marker.Set
	unnamed  event.Phase           // phase of steps without numbers
	tokens   bool                  // the run generates tokens, or may: else no step has a phase
	own, out event.Batch           // the columns that it adds; what was returned last
	phases   map[int32]event.Phase // that ranks are in
	counted  int64
	steps    int64
	eager    int64 // without numbers, that no replay ran
	log      func(string)
	reported bool

	parts []*Tagger // that have the ranks, where they are read in parts
}

// NewTagger returns the rows of src with phases. src has steps; an error is an
// *event.Error. log takes remarks, a sentence each, warnings after "warning: "; nil drops them.
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

// Next returns the next batch, which is valid until the following call.
func (t *Tagger) Next() (*event.Batch, error) {
	b, err := t.src.Next()
	if err == io.EOF {
		t.report()
		t.out, t.own = event.Batch{}, event.Batch{} // of many ranks most are done
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

// Parts returns the rows with phases of each part of the source. It is event.Parted's.
func (t *Tagger) Parts() (parts []event.Source, beside int) {
	sources, beside := event.PartsOf(t.src)
	for _, src := range sources {
		one := &Tagger{src: src, header: t.header, marker: t.marker, unnamed: t.unnamed, tokens: t.tokens, phases: map[int32]event.Phase{}, reported: true}
		t.parts, parts = append(t.parts, one), append(parts, one)
	}
	return parts, beside
}

// Rest returns what comes after the parts, and reports of all. It is event.Parted's.
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

// tag fills the three columns, which are null, of rows i to j, which are of one rank: they get the
// phases of their steps.
func (t *Tagger) tag(rank int32, i, j int) error {
	b := &t.out
	kinds, valid := b.Kind.Values[:j], b.Step.Valid
	phase, known := t.phases[rank]
	if !known { // the row of the step was not chosen
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

// step fills ctx and gen of step row i and returns the step's phase.
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

// report says, once, on what ground phases were told.
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
