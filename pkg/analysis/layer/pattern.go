package layer

import (
	"encoding/binary"
	"slices"
)

// Kernel is a kernel of a step.
type Kernel struct {
	Symbol int32 // the same for kernels with the same Stem
	Class  int32 // its part in a layer, as Roles number it
	Name   int32 // number of its name, the caller's
	Start  int64 // ns
	End    int64 // ns
	Stop   int64 // latest end of the kernels before it; after Start for none
}

// Roles are the classes that mark the limits of a layer, by their numbers.
type Roles struct {
	Attention int32 // what mixes tokens
	// Mixer is what stands in place of attention in other layers: state-space scans,
	// linear attention.
	Mixer      int32
	Product    int32   // matrix products
	MoE        int32   // experts
	Activation int32   // between the products of a dense feed-forward part
	Borders    []int32 // norms and collectives: a layer ends with one
	Before     []int32 // what else may stand before the first layer
	Ends       []int32 // what a forward pass begins and ends with: embedding, sampling
}

// Pattern is a repeated unit.
type Pattern struct {
	Places []Place // of the unit, in order
	// Repetitions is how often a step repeats the unit.
	Repetitions int
	// Layers is how many layers the model has, 0 where that cannot be told, and Types
	// what they are. Layers outside the repetitions are counted, those of a draft
	// model are not.
	Layers int
	Types  []LayerType
	// Prologue and Epilogue are how many kernels of a step are before the first and
	// after the last repetition.
	Prologue, Epilogue int
	// Covered is the share of a step's kernels that were aligned.
	Covered float64
	// Steps is how many of the steps agree.
	Steps int
}

// Place is a kernel of the unit.
type Place struct {
	Class int32   // of all kernels that stand there
	Name  int32   // the most frequent
	Names int     // how many different ones
	Seen  int     // repetitions of all steps that have it
	Gap   float64 // mean time before it in which nothing ran, ns
	Time  float64 // mean duration, ns
	gaps  int     // that are known
}

// MinCover is the share of a step's kernels that a unit has to cover.
const MinCover = 0.5

// Find finds the unit that most of the steps repeat, nil where there is none. ring
// tells that each sequence is a step among others like it.
func Find(steps [][]Kernel, roles Roles, ring bool) *Pattern {
	// Steps are mostly equal: each sequence is examined once.
	seen := map[string]*alignment{}
	var found []match
	for _, step := range steps {
		symbols, classes := columns(step)
		key := keyOf(symbols)
		a, known := seen[key]
		if !known {
			a = findIn(symbols, classes, roles)
			if ring {
				a = turned(a, step, symbols, classes, roles)
			}
			if a != nil {
				a.countLayers(roles, ring)
			}
			seen[key] = a
		}
		if a != nil {
			found = append(found, match{a, step})
		}
	}
	if len(found) == 0 {
		return nil
	}
	best := agree(found)
	p := best.pattern()
	p.merge(best, found)
	p.agreeLayers(best, found)
	return p
}

// agreeLayers fills in the layers that most of the steps have.
func (p *Pattern) agreeLayers(best *alignment, found []match) {
	steps := map[int]int{}
	most := 0
	for _, m := range found {
		if n := total(m.types); slices.Equal(m.unit, best.unit) {
			if steps[n]++; steps[n] > most {
				most, p.Types, p.Layers = steps[n], m.types, n
			}
		}
	}
}

// mixes reports whether kernels of the class mix tokens.
func (r *Roles) mixes(class int32) bool { return class == r.Attention || class == r.Mixer }

// border reports whether a layer may end with a kernel of the class.
func (r *Roles) border(class int32) bool { return slices.Contains(r.Borders, class) }

func columns(step []Kernel) (symbols, classes []int32) {
	for i := range step {
		symbols = append(symbols, step[i].Symbol)
		classes = append(classes, step[i].Class)
	}
	return symbols, classes
}

// keyOf returns a text that is the same for the same symbols.
func keyOf(symbols []int32) string {
	var key []byte
	for _, s := range symbols {
		key = binary.AppendVarint(key, int64(s))
	}
	return string(key)
}

// match is a step in which a unit was found.
type match struct {
	*alignment
	kernels []Kernel
}

// agree returns an alignment of those that most agree with.
func agree(found []match) *alignment {
	var best *alignment
	most := 0
	for _, a := range found {
		n := 0
		for _, b := range found {
			if slices.Equal(a.unit, b.unit) && a.Repetitions == b.Repetitions {
				n++
			}
		}
		if n > most {
			best, most = a.alignment, n
		}
	}
	return best
}

// pattern returns the alignment as a pattern without figures.
func (a *alignment) pattern() *Pattern {
	p := &Pattern{
		Repetitions: a.Repetitions, Prologue: a.Prologue, Epilogue: a.Epilogue,
	}
	for _, class := range a.unitClasses {
		p.Places = append(p.Places, Place{Class: class, Name: -1})
	}
	return p
}

// merge fills in the means over the steps that agree.
func (p *Pattern) merge(best *alignment, found []match) {
	names := make([]map[int32]int, len(p.Places))
	var covered, kernels int
	for _, m := range found {
		if !slices.Equal(m.unit, best.unit) {
			continue
		}
		p.Steps++
		covered += m.Aligned
		kernels += len(m.kernels)
		for i, at := range m.Places {
			if at >= 0 {
				p.Places[at].add(&m.kernels[(i+m.cut)%len(m.kernels)], &names[at])
			}
		}
	}
	for i := range p.Places {
		p.Places[i].finish(names[i])
	}
	p.Covered = float64(covered) / float64(kernels)
}

// add adds a kernel that is at this place.
func (p *Place) add(k *Kernel, names *map[int32]int) {
	p.Seen++
	if g := k.gap(); g >= 0 {
		p.gaps++
		p.Gap += float64(g)
	}
	p.Time += float64(k.End - k.Start)
	if *names == nil {
		*names = map[int32]int{}
	}
	(*names)[k.Name]++
}

// finish makes sums means.
func (p *Place) finish(names map[int32]int) {
	p.Gap /= float64(max(1, p.gaps))
	p.Time /= float64(max(1, p.Seen))
	p.Names = len(names)
	for name, n := range names {
		if m := names[p.Name]; n > m || n == m && name < p.Name {
			p.Name = name
		}
	}
}

// gap returns the time before the kernel in which nothing ran, -1 where it is not
// known.
func (k *Kernel) gap() int64 {
	if k.Stop > k.Start {
		return -1
	}
	return k.Start - k.Stop
}

// turned returns the best alignment of a step that is a ring, which a is as it
// stands.
func turned(a *alignment, step []Kernel, symbols, classes []int32, roles Roles) *alignment {
	longest, at := int64(-1), 0
	for i := range step {
		if g := step[i].gap(); g > longest {
			longest, at = g, i
		}
	}
	cuts := []int{at}
	if a != nil && a.Epilogue > 0 {
		cuts = append(cuts, len(symbols)-a.Epilogue)
	}
	best := a
	for _, cut := range cuts {
		if cut == 0 {
			continue
		}
		b := findIn(turn(symbols, cut), turn(classes, cut), roles)
		if b != nil && (best == nil || b.Score > best.Score) {
			b.cut = cut
			best = b
		}
	}
	return best
}

// turn returns a ring that begins at the i-th element.
func turn[T any](ring []T, i int) []T { return append(slices.Clone(ring[i:]), ring[:i]...) }
