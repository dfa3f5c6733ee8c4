package gap

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/pattern"
)

// roles are the classes that tell where a layer begins and ends.
var roles = pattern.Roles{
	Attention:  event.Attention,
	Mixer:      mixerClass,
	Product:    event.GEMM,
	MoE:        event.MoE,
	Activation: event.Activation,
	Borders:    []int32{event.Norm, event.Allreduce, event.Comm},
	Before:     []int32{event.Copy, embeddingClass},
	Ends:       []int32{event.Sampling, event.Reduce, embeddingClass},
}

// mixerClass stands for kernels that mix tokens in place of attention; they have no
// class of their own.
const mixerClass int32 = -2

// embeddingClass stands for looking up embeddings, with which a forward pass begins.
const embeddingClass int32 = -3

var embeddings = regexp.MustCompile(`(?i)embedding|index_?select|vectorized_gather|(^|_)gather_kernel`)

// roleOf returns the class of a kernel for its part in a layer.
func (c *computer) roleOf(k *kernelAt) int32 {
	name := c.kernels.text(k.name)
	switch {
	case k.class != event.Attention && mixers.MatchString(name):
		return mixerClass
	case (k.class == event.Copy || k.class == event.Elementwise || k.class == event.Other) && embeddings.MatchString(name):
		return embeddingClass
	}
	return k.class
}

// mixers matches the kernels of state-space models and linear attention. The short
// convolution before a scan is not one: products may stand between the two.
var mixers = regexp.MustCompile(`(?i)mamba|selective_(scan|state)|(^|_)ss[dm]_|chunk_(scan|state|cumsum|fwd|gated|delta)|` +
	`bmm_chunk|state_passing|delta_(net|rule)|recurrent|(^|_)r?wkv|(^|_)gla_|(^|_)kda_|retention|lightning_at|linear_at|hgrn|rglru|rg_lru`)

// patternReport looks for the layer in the steps that were kept: in steady steps,
// else in context steps, which run eagerly where replays hide their kernels.
func (c *computer) patternReport(views []*view) *Pattern {
	for _, what := range []struct {
		of   string
		kept func(*segment) *keeper
	}{
		{"steady steps", func(s *segment) *keeper { return &s.steady }},
		{"context steps", func(s *segment) *keeper { return &s.context }},
	} {
		steps := c.keptSteps(views, what.kept)
		of := what.of
		stepless := c.stepless(views)
		if stepless {
			of = ofTrace
		}
		if p := pattern.Find(c.sequences(steps), roles, !stepless); p != nil {
			return c.patternOf(p, of)
		}
	}
	return nil
}

// ofTrace is what patterns are said to be of that no steps were known for.
const ofTrace = "trace"

// stepless tells whether no rank has steps.
func (c *computer) stepless(views []*view) bool {
	return !slices.ContainsFunc(views, func(v *view) bool { return len(v.walk.Steps) > 0 })
}

// keptSteps returns the kernels of the steps that were kept. Of segments that differ
// in their requests those with the most count.
func (c *computer) keptSteps(views []*view, kept func(*segment) *keeper) [][]kernelAt {
	var steps [][]kernelAt
	gen := int64(-1)
	for _, v := range views {
		for _, s := range v.sampled() {
			k := kept(s)
			if k.gen > gen {
				steps, gen = nil, k.gen
			}
			if k.gen == gen {
				steps = append(steps, k.kept...)
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

// sequences returns the kernels of each step's busiest stream, or of all where no
// stream has most of them.
func (c *computer) sequences(steps [][]kernelAt) [][]pattern.Kernel {
	symbols := map[string]int32{}
	type kind struct{ symbol, class int32 }
	of := map[int32]kind{} // by name
	var all [][]pattern.Kernel
	for _, step := range steps {
		stream, most := busiest(step)
		var list []pattern.Kernel
		stop := int64(never)
		for i := range step {
			k := &step[i]
			if k.stream != stream && 5*most >= 4*len(step) {
				continue
			}
			is, ok := of[k.name]
			if !ok {
				role := c.roleOf(k)
				is = kind{c.symbol(k, role, symbols), role}
				of[k.name] = is
			}
			list = append(list, pattern.Kernel{Symbol: is.symbol, Class: is.class, Name: k.name, Start: k.start, End: k.end, Stop: stop})
			if stop == never {
				stop = none
			}
			stop = max(stop, k.end)
		}
		all = append(all, list)
	}
	return all
}

// symbol returns the number of what is compared of a kernel.
func (c *computer) symbol(k *kernelAt, role int32, symbols map[string]int32) int32 {
	class := "other"
	if k.class >= 0 && role != mixerClass {
		class = event.Classes[k.class]
	}
	stem := pattern.Stem(class, c.kernels.text(k.name))
	s, ok := symbols[stem]
	if !ok {
		s = int32(len(symbols))
		symbols[stem] = s
	}
	return s
}

// busiest returns the stream with the most kernels and how many these are.
func busiest(step []kernelAt) (stream int32, most int) {
	counts := map[int32]int{}
	for i := range step {
		s := step[i].stream
		counts[s]++
		if counts[s] > most {
			stream, most = s, counts[s]
		}
	}
	return stream, most
}

// patternOf makes the report of a pattern.
func (c *computer) patternOf(p *pattern.Pattern, of string) *Pattern {
	rep := &Pattern{
		Length: len(p.Places), Repetitions: p.Repetitions, Prologue: p.Prologue, Epilogue: p.Epilogue,
		Covered: p.Covered, Steps: p.Steps, Of: of,
	}
	if p.Layers > 0 && of != ofTrace {
		rep.Layers = &p.Layers
		for _, t := range p.Types {
			rep.LayerTypes = append(rep.LayerTypes, LayerType{layerType(t), t.Count})
		}
	}
	for i, place := range p.Places {
		class := className(place.Class)
		k := PatternKernel{
			Index: i, Name: c.kernels.text(place.Name), Variants: place.Names, Class: class,
			GapUs: place.Gap / 1e3, Us: place.Time / 1e3,
		}
		rep.Kernels = append(rep.Kernels, k)
		n := len(rep.Groups)
		if n == 0 || rep.Groups[n-1].Class != class {
			rep.Groups = append(rep.Groups, PatternGroup{Group: letters(n), First: i, Class: class})
			n++
		}
		g := &rep.Groups[n-1]
		g.Last = i
		g.GapUs += k.GapUs
		rep.GapUs += k.GapUs
	}
	rep.GapPerStep = rep.GapUs * float64(p.Repetitions)
	rep.prioritise()
	return rep
}

func className(class int32) string {
	switch {
	case class == embeddingClass:
		return event.Classes[event.Copy]
	case class < 0:
		return event.Classes[event.Other]
	}
	return event.Classes[class]
}

// layerType names a type of layers after its mixer and its feed-forward part.
func layerType(t pattern.LayerType) string {
	channel := ""
	switch t.Channel {
	case event.GEMM:
		channel = "dense"
	case event.MoE:
		channel = "MoE"
	}
	mixer := ""
	switch t.Mixer {
	case event.Attention:
		mixer = "attention"
	case mixerClass:
		mixer = "state space"
	}
	switch {
	case mixer == "" && channel == "":
		return "repeated unit"
	case mixer == "":
		return channel
	case channel == "":
		return mixer
	}
	return mixer + " + " + channel
}

// prioritise says which groups matter most.
func (p *Pattern) prioritise() {
	order := make([]int, len(p.Groups))
	for i := range p.Groups {
		g := &p.Groups[i]
		g.GapUsPerStep = g.GapUs * float64(p.Repetitions)
		if p.GapUs > 0 {
			g.Share = g.GapUs / p.GapUs
		}
		g.Priority = "low"
		switch {
		case g.Share >= 0.3:
			g.Priority = "high"
		case g.Share >= 0.1:
			g.Priority = "medium"
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Groups[b].GapUs, p.Groups[a].GapUs) })
	for rank, i := range order {
		p.Groups[i].Rank = rank + 1
	}
	if len(order) > 0 {
		g := &p.Groups[order[0]]
		unit := "repetitions"
		if p.Layers != nil && *p.Layers == p.Repetitions {
			unit = "layers"
		}
		per := "a step"
		if p.Of == ofTrace {
			per = "in the trace"
		}
		p.Sentence = fmt.Sprintf("%s in group %s (%s, kernels %d-%d) × %d %s = %s %s",
			length(g.GapUs), g.Group, g.Class, g.First, g.Last, p.Repetitions, unit, length(g.GapUsPerStep), per)
	}
}

// letters numbers groups A to Z, then AA and so on.
func letters(i int) string {
	s := string(rune('A' + i%26))
	if i >= 26 {
		return letters(i/26-1) + s
	}
	return s
}
