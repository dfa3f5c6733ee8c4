package layer

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Report is the layer that a step repeats.
type Report struct {
	// Length is the number of kernels in the unit, Repetitions how often a step repeats
	// it.
	Length      int `json:"length"`
	Repetitions int `json:"repetitions"`
	// Layers is the number of layers of the model, null if unknown. LayerTypes are their
	// types, null if unknown; the counts add up to Layers.
	Layers     *int         `json:"layers"`
	LayerTypes []NamedLayer `json:"layer_types"`
	// Prologue and Epilogue are the numbers of kernels of a step before the first and
	// after the last repetition.
	Prologue int `json:"prologue"`
	Epilogue int `json:"epilogue"`
	// Covered is the share of a step's kernels that are in repetitions, 0 to 1.
	Covered float64 `json:"covered"`
	// Steps is the number of compared steps that agree. Of says which steps these are,
	// or OfTrace.
	Steps int    `json:"steps"`
	Of    string `json:"of"`
	// GapUs is the mean time without a kernel in one repetition, us. GapPerStep is GapUs
	// times Repetitions.
	GapUs      float64 `json:"gap_us"`
	GapPerStep float64 `json:"gap_us_per_step"`
	// Sentence names the group with the longest gaps.
	Sentence string   `json:"sentence"`
	Groups   []Group  `json:"groups"`  // consecutive kernels of the unit of one class
	Kernels  []Member `json:"kernels"` // of the unit, in order
}

// OfTrace is Report.Of if no steps are known.
const OfTrace = "trace"

// NamedLayer is the number of layers of one type.
type NamedLayer struct {
	Type  string `json:"type"`  // such as "attention + MoE"
	Count int    `json:"count"` // layers
}

// Group is consecutive kernels of one class.
type Group struct {
	Group string `json:"group"` // A, B, … in the order of the unit
	// First and Last are the indices of its kernels, both inclusive.
	First int    `json:"first"`
	Last  int    `json:"last"`
	Class string `json:"class"` // one of event.Classes
	// GapUs is the mean time without a kernel before its kernels, us per repetition.
	// GapUsPerStep is GapUs times the repetitions, Share its share of the unit's, 0 to
	// 1.
	GapUs        float64 `json:"gap_us"`
	GapUsPerStep float64 `json:"gap_us_per_step"`
	Share        float64 `json:"share"`
	// Rank is 1 for the group with the longest gaps. Priority is high, medium or low.
	Rank     int    `json:"rank"`
	Priority string `json:"priority"`
}

// Member is a kernel of the unit.
type Member struct {
	Index    int     `json:"index"`    // in the unit, from 0
	Name     string  `json:"name"`     // the most frequent one
	Variants int     `json:"variants"` // number of different names there
	Class    string  `json:"class"`    // one of event.Classes
	GapUs    float64 `json:"gap_us"`   // mean time without a kernel before it, us
	Us       float64 `json:"us"`       // mean duration, us
}

// Make finds the layer in steps and reports on it; nil if there is none. name returns
// the name of an id. of says which steps these are, or OfTrace.
func Make(steps [][]Sampled, name func(int32) string, of string) *Report {
	p := Find(sequences(steps, name), classRoles, of != OfTrace)
	if p == nil {
		return nil
	}
	rep := &Report{
		Length: len(p.Places), Repetitions: p.Repetitions, Prologue: p.Prologue, Epilogue: p.Epilogue,
		Covered: p.Covered, Steps: p.Steps, Of: of,
	}
	if p.Layers > 0 && of != OfTrace {
		rep.Layers = &p.Layers
		for _, t := range p.Types {
			rep.LayerTypes = append(rep.LayerTypes, NamedLayer{layerType(t), t.Count})
		}
	}
	for i, place := range p.Places {
		rep.add(Member{
			Index: i, Name: name(place.Name), Variants: place.Names, Class: className(place.Class),
			GapUs: place.Gap / 1e3, Us: place.Time / 1e3,
		})
	}
	rep.GapPerStep = rep.GapUs * float64(p.Repetitions)
	rep.prioritise()
	return rep
}

// add adds the next kernel of the unit to its group, a new one if the class changes.
func (rep *Report) add(k Member) {
	rep.Kernels = append(rep.Kernels, k)
	n := len(rep.Groups)
	if n == 0 || rep.Groups[n-1].Class != k.Class {
		rep.Groups = append(rep.Groups, Group{Group: letters(n), First: k.Index, Class: k.Class})
		n++
	}
	g := &rep.Groups[n-1]
	g.Last = k.Index
	g.GapUs += k.GapUs
	rep.GapUs += k.GapUs
}

// prioritise ranks the groups.
func (rep *Report) prioritise() {
	for i := range rep.Groups {
		g := &rep.Groups[i]
		g.GapUsPerStep = g.GapUs * float64(rep.Repetitions)
		if rep.GapUs > 0 {
			g.Share = g.GapUs / rep.GapUs
		}
		g.Priority = "low"
		switch {
		case g.Share >= 0.3:
			g.Priority = "high"
		case g.Share >= 0.1:
			g.Priority = "medium"
		}
	}
	for rank, i := range rep.order() {
		rep.Groups[i].Rank = rank + 1
	}
}

// order returns the indices of the groups, the longest gaps first.
func (rep *Report) order() []int {
	order := make([]int, len(rep.Groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rep.Groups[b].GapUs, rep.Groups[a].GapUs) })
	return order
}

// Largest returns the group with the longest gaps, nil if there are no groups.
func (rep *Report) Largest() *Group {
	order := rep.order()
	if len(order) == 0 {
		return nil
	}
	return &rep.Groups[order[0]]
}

// letters returns A to Z, then AA and so on.
func letters(i int) string {
	s := string(rune('A' + i%26))
	if i >= 26 {
		return letters(i/26-1) + s
	}
	return s
}

// classRoles are the classes that show where a layer begins and ends.
var classRoles = Roles{
	Attention:  int32(event.Attention),
	Mixer:      mixerClass,
	Product:    int32(event.GEMM),
	MoE:        int32(event.MoE),
	Activation: int32(event.Activation),
	Borders:    []int32{int32(event.Norm), int32(event.Allreduce), int32(event.Comm)},
	Before:     []int32{int32(event.Copy), embeddingClass},
	Ends:       []int32{int32(event.Sampling), int32(event.Reduce), embeddingClass},
}

// Classes that exist only for the part of a kernel in a layer.
const (
	mixerClass     int32 = -2 // mixes tokens instead of attention
	embeddingClass int32 = -3 // looks up embeddings, with which a forward pass begins
)

var embeddings = regexp.MustCompile(`(?i)embedding|index_?select|vectorized_gather|(^|_)gather_kernel`)

// mixers matches the kernels of state-space models and linear attention. It does not
// match the short convolution before a scan: there may be products between the two.
var mixers = regexp.MustCompile(`(?i)mamba|selective_(scan|state)|(^|_)ss[dm]_|chunk_(scan|state|cumsum|fwd|gated|delta)|` +
	`bmm_chunk|state_passing|delta_(net|rule)|recurrent|(^|_)r?wkv|(^|_)gla_|(^|_)kda_|retention|lightning_at|linear_at|hgrn|rglru|rg_lru`)

// roleOf returns the class of a kernel as to its part in a layer.
func roleOf(class event.Class, name string) int32 {
	switch {
	case class != event.Attention && mixers.MatchString(name):
		return mixerClass
	case (class == event.Copy || class == event.Elementwise || class == event.Other) && embeddings.MatchString(name):
		return embeddingClass
	}
	return int32(class)
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

// layerType names a layer type after its mixer and its feed-forward part.
func layerType(t LayerType) string {
	channel := map[int32]string{int32(event.GEMM): "dense", int32(event.MoE): "MoE"}[t.Channel]
	mixer := map[int32]string{int32(event.Attention): "attention", mixerClass: "state space"}[t.Mixer]
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
