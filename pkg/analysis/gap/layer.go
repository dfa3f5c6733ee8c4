package gap

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
)

// patternReport looks for the layer in the kept steps: in steady steps, else in context
// steps, which run eagerly and so have kernels even if replays were recorded as a whole.
func (c *Watch) patternReport(views []*view) *layer.Report {
	stepped := slices.ContainsFunc(views, func(v *view) bool { return v.walk.Steps.Len() > 0 })
	for _, of := range []string{steadySteps, contextSteps} {
		kept := c.keptSteps(views, of)
		if !stepped {
			of = layer.OfTrace
		}
		if p := layer.Make(kept, c.kernels.Text, of); p != nil {
			p.Sentence = layerSentence(p)
			return p
		}
	}
	return nil
}

// The kinds of kept steps, in the order of preference.
const steadySteps, contextSteps = "steady steps", "context steps"

// layerSentence describes the group of the unit with the longest gaps, "" if there is none.
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

// b2n is 1 for true, for counting.
func b2n(b bool) int {
	if b {
		return 1
	}
	return 0
}

// keptSteps returns the kernels of the kept steps. Only segments with the largest number of
// requests count. All ranks form one sample of the model, because with the same requests they
// run the same kernels.
func (c *Watch) keptSteps(views []*view, of string) [][]layer.Sampled {
	var steps [][]layer.Sampled
	gen := int64(-1)
	for _, v := range views {
		for _, s := range v.sampled() {
			k := &s.steady
			if of == contextSteps {
				k = &s.context
			}
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

// sampled returns the kept steps of the benchmark segment, even with WindowTrace; of all
// segments if there is no benchmark segment; and of the trace if no steps count.
func (v *view) sampled() (all []*layers) {
	for k := range v.layers {
		if v.only < 0 || v.only == int32(k) {
			all = append(all, &v.layers[k])
		}
	}
	if v.steps == 0 {
		return []*layers{&v.whole}
	}
	return all
}

// addSample offers a kernel to the layer's sample, which is of the rank's first GPU.
func (r *rank) addSample(stream int32, a *activity) {
	if r.gpu != r.gpus[0] {
		return
	}
	r.sample.Add(r.at.Place != step.Outside, layer.Sampled{
		Start: a.Start, End: a.End, Name: a.Name, Class: a.class, Stream: stream,
	})
}
