package layer

import (
	"encoding/binary"
	"slices"
)

// Kernel is a kernel of a step.
type Kernel struct {
	Symbol int32 // equal for kernels with the same Stem
	Class  int32 // its part in a layer, numbered as in Roles
	Name   int32 // id of its name, chosen by the caller
	Start  int64 // ns
	End    int64 // ns
	Stop   int64 // latest end of the kernels before it; later than Start if unknown
}

// Roles are the numbers of the classes that show where layers begin and end.
type Roles struct {
	Attention int32 // mixes tokens
	// Mixer replaces attention in some layers: state-space scans, linear attention.
	Mixer      int32
	Product    int32   // matrix products
	MoE        int32   // experts
	Activation int32   // between the products of a dense feed-forward part
	Borders    []int32 // norms and collectives: a layer ends with one
	Before     []int32 // other classes that may precede the first layer
	Ends       []int32 // classes at the beginning and end of a forward pass: embedding, sampling
}

// Pattern is a repeated unit.
type Pattern struct {
	Places []Place // of the unit, in order
	// Repetitions is the number of times that a step repeats the unit.
	Repetitions int
	// Layers is the number of layers of the model, 0 if unknown, and Types are their
	// types. Layers outside the repetitions count, those of a draft model do not.
	Layers int
	Types  []LayerType
	// Prologue and Epilogue are the numbers of kernels of a step before the first and
	// after the last repetition.
	Prologue, Epilogue int
	// Covered is the share of a step's kernels that were aligned, 0 to 1.
	Covered float64
	// Steps is the number of steps that have this unit.
	Steps int
}

// Place is a kernel of the unit.
type Place struct {
	Class int32   // of all kernels there
	Name  int32   // the most frequent one
	Names int     // number of different ones
	Seen  int     // repetitions with a kernel there, over all steps
	Gap   float64 // mean time before it without a kernel, ns
	Time  float64 // mean duration, ns
	gaps  int     // number of known gaps
}

// MinCover is the share of a step's kernels that a unit must cover.
const MinCover = 0.5

// Find finds the unit that most steps repeat, nil if there is none. ring says that each
// sequence is a step among similar ones, so that its end continues with its beginning.
func Find(steps [][]Kernel, roles Roles, ring bool) *Pattern {
	// Steps are mostly equal: each distinct sequence is examined once.
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

// agreeLayers sets the layers on which most steps agree.
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

// keyOf returns a key that is equal for equal symbols only.
func keyOf(symbols []int32) string {
	var key []byte
	for _, s := range symbols {
		key = binary.AppendVarint(key, int64(s))
	}
	return string(key)
}

// match is a step and the unit found in it.
type match struct {
	*alignment
	kernels []Kernel
}

// agree returns an alignment with the unit and repetitions that most steps have.
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

// pattern returns the alignment as a pattern without means.
func (a *alignment) pattern() *Pattern {
	p := &Pattern{
		Repetitions: a.Repetitions, Prologue: a.Prologue, Epilogue: a.Epilogue,
	}
	for _, class := range a.unitClasses {
		p.Places = append(p.Places, Place{Class: class, Name: -1})
	}
	return p
}

// merge sets the means over the steps with the unit of best.
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

// add adds a kernel at this place.
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

// finish turns sums into means.
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

// gap returns the time before the kernel without any kernel, ns, -1 if unknown.
func (k *Kernel) gap() int64 {
	if k.Stop > k.Start {
		return -1
	}
	return k.Start - k.Stop
}

// turned returns the best alignment of a step that is a ring: a, or one that begins
// elsewhere.
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

// turn returns the ring beginning with element i.
func turn[T any](ring []T, i int) []T { return append(slices.Clone(ring[i:]), ring[:i]...) }
