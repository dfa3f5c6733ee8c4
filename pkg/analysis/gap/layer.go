package gap

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// patternReport looks for the layer in the steps that were kept: in steady steps,
// else in context steps, which run eagerly where replays hide their kernels.
func (c *computer) patternReport(views []*view) *layer.Report {
	for _, what := range keepers {
		of := what.of
		if c.stepless(views) {
			of = layer.OfTrace
		}
		steps := slices.DeleteFunc(c.keptSteps(views, what.kept), twoPasses)
		if p := layer.Make(steps, c.kernels.text, of); p != nil {
			p.Sentence = layerSentence(p)
			return p
		}
	}
	return nil
}

// keepers are what steps are kept by, in the order in which they are asked.
var keepers = []struct {
	of   string
	kept func(*segment) *layer.Keeper
}{
	{"steady steps", func(s *segment) *layer.Keeper { return &s.steady }},
	{"context steps", func(s *segment) *layer.Keeper { return &s.context }},
}

// layerSentence names the group of the unit with the longest gaps, "" where there is none.
func layerSentence(p *layer.Report) string {
	g := p.Largest()
	if g == nil {
		return ""
	}
	unit := "repetitions"
	if p.Layers != nil && *p.Layers == p.Repetitions {
		unit = "layers"
	}
	per := "per step"
	if p.Of == layer.OfTrace {
		per = "in the trace"
	}
	return fmt.Sprintf("%s in group %s (%s, kernels %d-%d) × %d %s = %s %s",
		report.Micros(g.GapUs), g.Group, g.Class, g.First, g.Last, p.Repetitions, unit, report.Micros(g.GapUsPerStep), per)
}

// stepless reports whether no rank has steps.
func (c *computer) stepless(views []*view) bool {
	return !slices.ContainsFunc(views, func(v *view) bool { return v.walk.Steps.Len() > 0 })
}

// twoPasses reports whether a step's period holds two forward passes: a replay and one whose
// kernels were launched by themselves, each with a quarter of the matrix products at least, or
// apartProducts of these on streams on which nothing is replayed.
// (Where the host runs ahead the replay of the step before may run in an eager step's
// period, and the layers of both would count. A prefill may run beside the replays of decode.)
func twoPasses(kernels []layer.Sampled) bool {
	replays := map[int32]bool{} // by stream
	replayed := 0
	for i := range kernels {
		if k := &kernels[i]; k.Replayed {
			replays[k.Stream] = true
			replayed += b2n(k.Class == event.GEMM)
		}
	}
	eager, apart := 0, 0
	for i := range kernels {
		if k := &kernels[i]; !k.Replayed && k.Class == event.GEMM {
			eager++
			apart += b2n(!replays[k.Stream])
		}
	}
	return 3*min(eager, replayed) >= max(eager, replayed) && min(eager, replayed) >= minProducts ||
		apart >= apartProducts && replayed >= minProducts
}

// minProducts, 10, is how many matrix products a forward pass has at least; apartProducts, 4, how
// many beside replays are a part of one.
const (
	minProducts   = 10
	apartProducts = 4
)

// b2n is 1 for true, for counting.
func b2n(b bool) int {
	if b {
		return 1
	}
	return 0
}

// keptSteps returns the kernels of the steps that were kept. Of segments that differ
// in their requests those with the most count.
// Steps of all ranks are one sample of the model: with the same requests they run the same
// kernels.
func (c *computer) keptSteps(views []*view, kept func(*segment) *layer.Keeper) [][]layer.Sampled {
	var steps [][]layer.Sampled
	gen := int64(-1)
	for _, v := range views {
		for _, s := range v.sampled() {
			k := kept(s)
			if k.Gen() > gen {
				steps, gen = nil, k.Gen()
			}
			if k.Gen() == gen {
				steps = append(steps, k.Steps()...)
			}
		}
	}
	return steps
}

// sampled returns the segments whose steps were kept: with the trace for window
// still those of the benchmark.
func (v *view) sampled() []*segment {
	if !v.c.wholeTrace || v.steps == 0 {
		return v.segments
	}
	var all []*segment
	for k := range v.rank.segments {
		if v.only < 0 || v.only == int32(k) {
			all = append(all, &v.rank.segments[k])
		}
	}
	return all
}

// addSample observes a kernel of the rank's first GPU, for the layer.
func (r *rank) addSample(stream int32, a *activity) {
	if r.gpu != r.gpus[0] {
		return
	}
	path := int32(-1)
	if a.launch != nil {
		path = a.launch.path
	}
	r.sample.Add(r.at.Place != step.Outside, layer.Sampled{
		Start: a.Start, End: a.End, Name: a.Name, Path: path, Class: a.class, Stream: stream, Replayed: a.Replayed,
	})
}
