package step_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// recorder is an accumulator that keeps the length of time and the rows of all
// that a slice can belong to, and checks the order of calls.
type recorder struct {
	t       *testing.T
	walk    *step.Walker
	open    *step.Slice
	begun   int // steps
	ended   int
	steps   []share
	pending share
	gaps    share
	trace   share
	nothing share
}

type share struct {
	ns     int64
	starts []int64
}

func (s *share) add(o share) {
	s.ns += o.ns
	s.starts = append(s.starts, o.starts...)
}

func (r *recorder) Begin(s step.Slice) {
	if r.open != nil {
		r.t.Fatal("a slice begins in a slice")
	}
	if s.Place != step.Outside && int(s.Step) != r.begun-1 || s.Place == step.Outside && s.Step != -1 {
		r.t.Fatalf("slice of step %d of %d", s.Step, r.begun)
	}
	r.open = &s
}

func (r *recorder) Rows(b *event.Batch, i, j int) {
	for ; i < j; i++ {
		if kind := b.Kind.Values[i]; kind == event.Step || kind == event.Window {
			r.t.Fatal("a row about steps")
		}
		r.add(share{starts: []int64{b.Start.Values[i]}})
	}
}

func (r *recorder) End(s step.Slice, t int64) {
	if r.open == nil || s != *r.open || t < s.Start {
		r.t.Fatalf("slice %+v ends at %d", s, t)
	}
	if s.Start != math.MinInt64 && t != math.MaxInt64 {
		r.add(share{ns: t - s.Start})
	}
	r.open = nil
}

func (r *recorder) add(what share) {
	s := r.open
	if s.Unrecorded && (s.Place != step.Outside || s.Trace) {
		r.t.Fatalf("slice %+v", *s)
	}
	if s.Trace {
		r.trace.add(what)
	}
	switch s.Place {
	case step.InStep:
		r.steps[s.Step].add(what)
	case step.Pending:
		r.pending.add(what)
	default:
		r.nothing.add(what)
	}
}

func (r *recorder) Step(b *event.Batch, i, k int) {
	if r.open != nil || k != r.begun || r.ended != r.begun || b.Kind.Values[i] != event.Step {
		r.t.Fatalf("step %d of %d", k, r.begun)
	}
	r.begun++
	r.steps = append(r.steps, share{})
}

func (r *recorder) EndStep(k int, owner step.Owner) {
	if r.open != nil || k != r.ended || r.ended+1 != r.begun {
		r.t.Fatalf("end of step %d of %d", k, r.begun)
	}
	r.ended++
	switch owner {
	case step.StepOwner:
		r.steps[k].add(r.pending)
	case step.GapOwner:
		r.gaps.add(r.pending)
	default:
		r.nothing.add(r.pending)
	}
	r.pending = share{}
}

// span is [from, to).
type span struct{ from, to int64 }

func (s span) has(t int64) bool { return s.from <= t && t < s.to }

// recorded is the length of a span without what was not recorded.
func (s span) recorded(unrecorded [][2]int64) int64 {
	n := max(0, s.to-s.from)
	for _, u := range unrecorded {
		n -= max(0, min(u[1], s.to)-max(u[0], s.from))
	}
	return n
}

// periods returns the periods of the steps, which ones are whole, and the gaps
// between segments, looking at all step rows at once.
func periods(steps []eventtest.Row, unrecorded [][2]int64) (all []span, whole []bool, gaps []span) {
	latest := map[int64]int64{}
	for _, s := range steps {
		latest[s.Segment] = max(latest[s.Segment], s.End)
	}
	for i, s := range steps {
		p := span{s.Start, latest[s.Segment]}
		same := i+1 < len(steps) && steps[i+1].Segment == s.Segment
		if same {
			p.to = steps[i+1].Start
		} else if i+1 < len(steps) {
			gaps = append(gaps, span{p.to, steps[i+1].Start})
		}
		all = append(all, p)
		whole = append(whole, same && p.recorded(unrecorded) == p.to-p.from)
	}
	return all, whole, gaps
}

// starts are those of the rows in a span that were recorded.
func starts(rows []eventtest.Row, in span, unrecorded [][2]int64) (all []int64) {
	for _, r := range rows {
		lost := slices.ContainsFunc(unrecorded, func(u [2]int64) bool { return u[0] <= r.Start && r.Start < u[1] })
		if in.has(r.Start) && !lost {
			all = append(all, r.Start)
		}
	}
	return all
}

func TestWalker(t *testing.T) {
	steps, lost := 0, 0
	for seed := range uint64(300) {
		h, rows := isolated(t, seed)
		for id := range h.Reports[0].Ranks {
			var own, marks []eventtest.Row
			var window *eventtest.Row
			for _, r := range rows {
				switch {
				case r.Rank != int32(id):
				case r.Kind == event.Step:
					marks = append(marks, r)
				case r.Kind == event.Window:
					window = &r
				default:
					own = append(own, r)
				}
			}
			for _, size := range []int{1, 7, 8192} {
				r := walk(t, h, rows, int32(id), size)
				checkWalk(t, fmt.Sprintf("seed %d, rank %d, batches of %d", seed, id, size), h, r, own, marks, window)
			}
			steps += len(marks)
			lost += len(h.Span(int32(id)).Unrecorded)
		}
	}
	if steps < 1000 || lost < 100 {
		t.Errorf("%d steps and %d spans that were not recorded say little", steps, lost)
	}
}

// isolated returns a random trace with steps and phases, and with spans that were
// not recorded.
func isolated(t *testing.T, seed uint64) (*event.Header, []eventtest.Row) {
	t.Helper()
	h, rows := eventtest.Random(seed)
	h, out := testrun.PhasedRows(t, h, rows, isolate.Options{
		By: []string{step.NVTX, step.Graph}[seed%2], Gap: 3 * eventtest.Unit, SegmentGap: 12 * eventtest.Unit,
	})
	rng := rand.New(rand.NewPCG(seed, 3))
	rep := &h.Reports[0]
	for range rep.Ranks {
		s := event.RankSpan{GPUStart: rep.GPUStart, GPUEnd: rep.GPUEnd}
		for at := rng.Int64N(100); at < 300 && seed%3 > 0; at += 1 + rng.Int64N(150) {
			n := 1 + rng.Int64N(20)
			s.Unrecorded = append(s.Unrecorded, [2]int64{at * eventtest.Unit, (at + n) * eventtest.Unit})
			at += n
		}
		rep.RankFacts = append(rep.RankFacts, event.RankFacts{Rank: rep.Ranks[len(rep.RankFacts)], RankSpan: s})
	}
	return h, out
}

func walk(t *testing.T, h *event.Header, rows []eventtest.Row, rank int32, size int) *recorder {
	t.Helper()
	r := &recorder{t: t}
	r.walk = step.NewWalker(h, rank, step.WalkOptions{Trace: true}, r)
	err := event.Each(eventtest.Source(h, rows, size), func(b *event.Batch) error {
		return b.EachRank(func(id int32, i, j int) error {
			if id != rank {
				return nil
			}
			return r.walk.Add(b, i, j)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	r.walk.Finish()
	return r
}

func checkWalk(t *testing.T, what string, h *event.Header, r *recorder, rows, marks []eventtest.Row, window *eventtest.Row) {
	t.Helper()
	s := h.Span(r.walk.Rank)
	all, whole, gaps := periods(marks, s.Unrecorded)
	if r.walk.Steps.Len() != len(marks) || r.ended != len(marks) {
		t.Fatalf("%s: %d steps, want %d", what, r.walk.Steps.Len(), len(marks))
	}
	check := func(name string, got share, want ...span) {
		t.Helper()
		ns, at := int64(0), []int64(nil)
		for _, w := range want {
			ns += w.recorded(s.Unrecorded)
			at = append(at, starts(rows, w, s.Unrecorded)...)
		}
		slices.Sort(got.starts)
		if got.ns != ns || !slices.Equal(got.starts, at) {
			t.Fatalf("%s: %s has %d ns and rows at %v, want %d ns and %v", what, name, got.ns, got.starts, ns, at)
		}
	}
	for k, m := range marks {
		g := r.walk.Steps.At(k)
		w := step.Step{Start: m.Start, End: m.End, Until: all[k].to, Ctx: m.Ctx, Gen: m.Gen, Phase: m.Phase,
			Segment: g.Segment, Whole: whole[k], Unrecorded: all[k].to - all[k].from - all[k].recorded(s.Unrecorded)}
		if g != w || r.walk.Segments[g.Segment].Number != m.Segment {
			t.Fatalf("%s: step %d is %+v, want %+v", what, k, g, w)
		}
		check(fmt.Sprint("step ", k), r.steps[k], all[k])
	}
	check("gaps", r.gaps, gaps...)
	if s.GPUStart != nil {
		check("trace", r.trace, span{*s.GPUStart, *s.GPUEnd})
	}
	if (window == nil) != (r.walk.Window == nil) {
		t.Fatalf("%s: window", what)
	}
	if k := r.walk.Benchmark(); k >= 0 && r.walk.Segments[k].Number != window.Segment {
		t.Fatalf("%s: benchmark segment %d, want %d", what, r.walk.Segments[k].Number, window.Segment)
	}
}

func TestWalkerErrors(t *testing.T) {
	mark := func(at, segment int64) eventtest.Row {
		r := eventtest.New(event.Step, 0, at, at+1, "step")
		r.Segment, r.Step, r.Size = segment, 0, 1
		return r
	}
	kernel := eventtest.New(event.Kernel, 0, 5, 6, "k")
	h := &event.Header{Columns: event.BaseCols | event.StepCols}
	for _, test := range []struct {
		rows []eventtest.Row
		want string
	}{
		{[]eventtest.Row{mark(6, 0), kernel}, "not in the order of their start"},
		{[]eventtest.Row{kernel, mark(4, 0)}, "not in the order of their start"},
		{[]eventtest.Row{mark(5, 3), mark(6, 2)}, "segments of rank 0 are not in order"},
	} {
		w := step.NewWalker(h, 0, step.WalkOptions{}, &recorder{t: t})
		b, err := eventtest.Source(h, test.rows, 10).Next()
		if err != nil {
			t.Fatal(err)
		}
		err = w.Add(b, 0, b.Len)
		var advice *event.Error
		if !errors.As(err, &advice) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
	// After the end only window rows are taken.
	w := step.NewWalker(h, 0, step.WalkOptions{}, &recorder{t: t})
	w.Finish()
	b, _ := eventtest.Source(h, []eventtest.Row{kernel}, 10).Next()
	if w.Add(b, 0, 1) == nil {
		t.Error("a row after the end")
	}
}

func TestSteady(t *testing.T) {
	one := func(ctx, gen int64, whole bool) step.Step {
		return step.Step{Ctx: ctx, Gen: gen, Whole: whole, Phase: event.Unknown}
	}
	for _, test := range []struct {
		steps []step.Step
		want  []int
	}{
		{nil, nil},
		{[]step.Step{one(1, 0, true), one(0, 4, true), one(0, 3, true), one(0, 4, true), one(0, 9, false)}, []int{1, 3}},
		{[]step.Step{one(-1, -1, true), one(-1, -1, true), one(-1, -1, false)}, []int{0, 1}},
		{[]step.Step{one(-1, -1, true), {Ctx: -1, Gen: -1, Whole: true, Phase: event.Context}, one(-1, -1, true)}, []int{0, 2}},
		{[]step.Step{one(1, 0, true), one(0, 2, false)}, []int{1}}, // nothing else is left
		{[]step.Step{one(2, 0, true)}, nil},
	} {
		r := step.RankSteps{Steps: step.StepsOf(test.steps)}
		if got := r.Steady(); !slices.Equal(got, test.want) {
			t.Errorf("%+v: steady %v, want %v", test.steps, got, test.want)
		}
	}
}
