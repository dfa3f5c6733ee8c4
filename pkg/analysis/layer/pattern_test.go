package layer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

const (
	gemm = iota
	attention
	norm
	reduce
	rope
	activation
	moe
	cat
	other
	scan
	sampling
	embedding
)

var roles = Roles{
	Attention: attention, Mixer: scan, Product: gemm, MoE: moe, Activation: activation,
	Borders: []int32{norm, reduce}, Before: []int32{cat, embedding}, Ends: []int32{sampling, embedding},
}

// Layers as text, whose class is that of the first letter's kernel.
var words = map[string]int32{
	"qkv": gemm, "o": gemm, "up": gemm, "down": gemm, "head": gemm, "gate": gemm,
	"attn": attention, "attn2": attention, "norm": norm, "norm2": norm, "ar": reduce, "rope": rope, "act": activation,
	"route": moe, "expert": moe, "embed": embedding, "sample": other, "sample2": other, "view": other,
}

type builder struct {
	kernels []Kernel
	now     int64
	symbols map[string]int32
}

func (b *builder) add(text string) {
	for w := range strings.FieldsSeq(text) {
		w, variant, _ := strings.Cut(w, "/")
		class, ok := words[w]
		if !ok {
			panic(w)
		}
		sym := fmt.Sprint(class, w)
		if class == gemm {
			sym = "gemm"
		}
		if b.symbols == nil {
			b.symbols = map[string]int32{}
		}
		id, ok := b.symbols[sym]
		if !ok {
			id = int32(len(b.symbols))
			b.symbols[sym] = id
		}
		name, ok := b.symbols[w+variant+"!"]
		if !ok {
			name = int32(len(b.symbols))
			b.symbols[w+variant+"!"] = name
		}
		stop := b.now
		if len(b.kernels) == 0 {
			stop = 1 << 60
		}
		b.now += 1000
		b.kernels = append(b.kernels, Kernel{Symbol: id, Class: class, Name: name, Start: b.now, End: b.now + 3000, Stop: stop})
		b.now += 3000
	}
}

const (
	layerA = "qkv rope attn o ar up act down ar"
	layerF = "qkv attn o ar up down ar"
	layerN = "norm qkv rope attn o norm up act down"
	layerM = "qkv rope attn o ar gate route expert expert ar"
)

func TestLayers(t *testing.T) {
	for _, layer := range []string{layerA, layerF, layerN, layerM} {
		want := len(strings.Fields(layer))
		for layers := 1; layers <= 126; layers++ {
			if layers == 1 && layer == layerN {
				continue // ends with no norm: its last kernels are not told from the epilogue
			}
			for _, ends := range [][2]string{{"", ""}, {"embed ar norm", "head sample sample2"}, {"embed norm", "norm2 head"}} {
				if layers == 1 && ends != [2]string{"embed ar norm", "head sample sample2"} {
					continue
				}
				var b builder
				b.add(ends[0])
				for range layers {
					b.add(layer)
				}
				b.add(ends[1])
				p := Find([][]Kernel{b.kernels}, roles, false)
				if p == nil {
					t.Fatalf("%q × %d, ends %q: no pattern", layer, layers, ends)
				}
				if len(p.Places) != want || p.Repetitions != layers || p.Layers != layers {
					t.Errorf("%q × %d, ends %q: %d kernels × %d", layer, layers, ends, len(p.Places), p.Repetitions)
				}
				if p.Places[0].Gap != 1000 && layers > 2 && ends[0] != "" {
					t.Errorf("gap %v, want 1000", p.Places[0].Gap)
				}
			}
		}
	}
}

func TestTwoKinds(t *testing.T) {
	for pairs := 2; pairs <= 63; pairs++ {
		var b builder
		b.add("embed ar norm")
		for range pairs {
			b.add(layerA)
			b.add(layerM)
		}
		b.add("head sample")
		p := Find([][]Kernel{b.kernels}, roles, false)
		if p == nil || len(p.Places) != 19 || p.Repetitions != pairs || p.Layers != 2*pairs {
			t.Fatalf("%d pairs: %+v", pairs, p)
		}
	}
}

// A few layers of another kind before the rest, as in models whose first layers
// are dense.
func TestFirstLayersDiffer(t *testing.T) {
	var b builder
	b.add("embed ar norm")
	for range 3 {
		b.add(layerA)
	}
	for range 58 {
		b.add(layerM)
	}
	b.add("head sample")
	p := Find([][]Kernel{b.kernels}, roles, false)
	if p == nil || len(p.Places) != 10 || p.Repetitions < 58 || p.Repetitions > 61 {
		t.Fatalf("%+v", p)
	}
}

// Steps that begin at their first collective have the front of their first layer at
// their end.
func TestRings(t *testing.T) {
	stride := 1
	if os.Getenv("HOSTBOUND_ALL") == "" {
		stride = 5
	}
	for layers := 1; layers <= 126; layers += stride {
		for _, layer := range []string{layerA, layerF, layerM} {
			var b builder
			b.add("embed ar norm")
			for range layers {
				b.add(layer)
			}
			b.add("head sample")
			b.kernels[0].Stop = b.kernels[0].Start - 50_000 // the end of the step before
			for cut, k := range b.kernels {
				if cut > 30 {
					break
				}
				if k.Class != reduce {
					continue
				}
				p := Find([][]Kernel{turn(b.kernels, cut)}, roles, true)
				if p == nil || p.Layers != layers || len(p.Places) != len(strings.Fields(layer)) {
					t.Fatalf("%q × %d, cut at %d: %+v", layer, layers, cut, p)
				}
			}
		}
	}
}

func TestMissingAndVariants(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	bad, n := 0, 0
	for layers := 4; layers <= 126; layers += 3 {
		for _, layer := range []string{layerA, layerM} {
			var b builder
			b.add("embed ar norm")
			for range layers {
				for w := range strings.FieldsSeq(layer) {
					if rng.IntN(60) == 0 {
						continue
					}
					b.add(fmt.Sprintf("%s/%d", w, rng.IntN(3)))
				}
			}
			b.add("head sample")
			p := Find([][]Kernel{b.kernels}, roles, false)
			n++
			if p == nil || len(p.Places) != len(strings.Fields(layer)) || p.Repetitions != layers {
				bad++
				if p != nil {
					t.Logf("%q × %d: %d × %d", layer, layers, len(p.Places), p.Repetitions)
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d wrong", bad, n)
	}
}

func TestNone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var b builder
	list := strings.Fields(layerA + " " + layerM + " sample sample2 view embed norm norm2")
	for range 400 {
		b.add(list[rng.IntN(len(list))])
	}
	if p := Find([][]Kernel{b.kernels}, roles, false); p != nil {
		t.Errorf("random kernels: %d × %d", len(p.Places), p.Repetitions)
	}
	b = builder{}
	b.add(strings.Repeat("view ", 50))
	if p := Find([][]Kernel{b.kernels}, roles, false); p != nil {
		t.Errorf("one kernel over and over: %+v", p)
	}
	for n := range 5 {
		if p := Find([][]Kernel{b.kernels[:n]}, roles, false); p != nil {
			t.Errorf("%d kernels: %+v", n, p)
		}
	}
	if p := Find(nil, roles, false); p != nil {
		t.Error("no steps")
	}
}
