package layer

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func init() {
	for w, class := range map[string]int32{
		"conv": other, "scan": scan, "in": gemm, "out": gemm, "x": gemm, "dt": gemm, "gated": norm, "argmax": sampling,
		"top": sampling, "topk": sampling, "embed2": embedding, "fc": gemm, "kv": attention, "bk": gemm, "bv": gemm, "cross": attention,
		"shared": gemm, "silu": activation, "relu": activation, "mystery": other,
	} {
		words[w] = class
	}
}

// repeat returns the layers of a model, of each of which of returns the text.
func model(n int, of func(i int) string) string {
	var all []string
	for i := range n {
		all = append(all, of(i))
	}
	return strings.Join(all, " ")
}

func every(k, at int, rare, rest string) func(int) string {
	return func(i int) string {
		if i%k == at {
			return rare
		}
		return rest
	}
}

func first(k int, early, rest string) func(int) string {
	return func(i int) string {
		if i < k {
			return early
		}
		return rest
	}
}

const (
	dense     = "norm qkv rope attn o norm2 up act down"
	denseTP   = "norm qkv rope attn o ar norm2 up act down ar"
	moeLayer  = "norm qkv rope attn o norm2 gate route expert expert"
	moeTP     = "norm qkv rope attn o ar norm2 gate route expert expert ar"
	sharedMoE = "norm qkv rope attn o norm2 gate route expert shared silu shared expert"
	mambaD    = "norm in conv scan gated out norm2 up act down"
	mambaM    = "norm in conv scan gated out norm2 gate route expert expert"
	mamba     = "norm in conv scan gated out"
	mamba1    = "norm in conv x dt scan out"
	mambaTP   = "norm in conv scan gated out ar"
	mla       = "norm qkv norm2 kv bk attn bv o norm2 gate route expert expert"
	whisper   = "norm qkv attn o norm2 qkv cross o norm2 up act down"
)

// Models whose layers differ, as their makers count them.
func TestModels(t *testing.T) {
	nemotron := func(pattern string) func(int) string {
		return func(i int) string {
			return map[byte]string{'M': mamba, '*': "norm qkv attn o", '-': "norm2 up relu down"}[pattern[i]]
		}
	}
	const h8b = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
	jamba := func(i int) string {
		text := mambaD
		switch {
		case i%8 == 4 && i%2 == 1:
			text = moeLayer
		case i%8 == 4:
			text = dense
		case i%2 == 1:
			text = mambaM
		}
		return text
	}
	tests := []struct {
		name, text string
		layers     int
	}{
		{"dense", model(32, every(1, 0, dense, "")), 32},
		{"tensor parallel", model(32, every(1, 0, denseTP, "")), 32},
		{"mamba hybrid with feed-forward parts", model(32, every(8, 4, dense, mambaD)), 32},
		{"jamba", model(32, jamba), 32},
		{"attention layers among bare mamba", model(32, every(8, 5, dense, mamba)), 32},
		{"the same with collectives", model(32, every(8, 5, denseTP, mambaTP)), 32},
		{"attention at irregular places", model(40, func(i int) string {
			if i == 3 || i == 11 || i == 25 || i == 38 {
				return dense
			}
			return mambaD
		}), 40},
		{"nemotron", model(len(h8b), nemotron(h8b)), len(h8b)},
		{"pure mamba", model(48, every(1, 0, mamba, "")), 48},
		{"pure mamba, first version", model(48, every(1, 0, mamba1, "")), 48},
		{"one dense layer first", model(28, first(1, dense, moeLayer)), 28},
		{"one dense layer first, tensor parallel", model(28, first(1, denseTP, moeTP)), 28},
		{"three dense layers first", model(61, first(3, dense, sharedMoE)), 61},
		{"dense and MoE take turns", model(48, every(2, 1, moeLayer, dense)), 48},
		{"MoE in one of four", model(48, every(4, 3, moeTP, denseTP)), 48},
		{"latent attention", model(27, every(1, 0, mla, "")), 27},
		{"encoder and decoder", model(24, every(1, 0, whisper, "")), 24},
		{"last layer without feed-forward part", model(32, func(i int) string {
			if i == 31 {
				return "norm qkv rope attn o"
			}
			return dense
		}), 32},
	}
	ends := []struct{ before, after string }{
		{"", ""}, {"embed ar norm", "norm2 head argmax sample"}, {"view view embed", "head top sample sample2"},
	}
	for _, test := range tests {
		for k, e := range ends {
			var b builder
			b.add(e.before)
			b.add(test.text)
			b.add(e.after)
			p := Find([][]Kernel{b.kernels}, roles, k > 0)
			if p == nil || p.Layers != test.layers || total(p.Types) != p.Layers {
				t.Errorf("%s, ends %d: %+v, want %d layers", test.name, k, describe(p), test.layers)
			}
		}
	}
}

func describe(p *Pattern) any {
	if p == nil {
		return nil
	}
	return []any{len(p.Places), p.Repetitions, p.Layers, p.Types}
}

// The layers of a draft model are not the model's.
func TestDraft(t *testing.T) {
	draft := " embed2 norm fc " + denseTP + " norm2 head argmax"
	for _, drafts := range []int{1, 3, 7} {
		for _, ring := range []bool{false, true} {
			var b builder
			b.add("embed ar " + model(32, every(1, 0, denseTP, "")) + " norm2 head argmax sample" + strings.Repeat(draft, drafts))
			p := Find([][]Kernel{b.kernels}, roles, ring)
			if p == nil || p.Layers != 32 {
				t.Errorf("%d drafts, ring %v: %+v, want 32 layers", drafts, ring, describe(p))
			}
		}
	}
}

// Layers without a known mixer are counted by their feed-forward parts, or not at all.
func TestUnknownMixers(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{model(32, every(8, 4, dense, "norm in mystery out norm2 up act down")), 32},
		{model(32, every(8, 4, dense, "norm in mystery out")), 0},
	}
	for _, test := range tests {
		var b builder
		b.add("embed " + test.text + " norm2 head sample")
		if p := Find([][]Kernel{b.kernels}, roles, true); p == nil || p.Layers != test.want {
			t.Errorf("%.60q: %+v, want %d layers", test.text, describe(p), test.want)
		}
	}
}

// Kernels that were not recorded change no count.
func TestLayersWithMissingKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, text := range []string{
		model(32, every(8, 4, dense, mambaD)), model(28, first(1, dense, moeLayer)), model(32, every(1, 0, denseTP, "")),
	} {
		want := 32
		if strings.Contains(text, "route") {
			want = 28
		}
		wrong := 0
		for range 20 {
			var b builder
			b.add("embed")
			for _, w := range strings.Fields(text) {
				if words[w] == attention || words[w] == scan || rng.IntN(80) > 0 {
					b.add(w)
				}
			}
			b.add("head sample")
			if p := Find([][]Kernel{b.kernels}, roles, false); p == nil || p.Layers != want {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%.40q: %d of 20 wrong", text, wrong)
		}
	}
}

// A trace without steps is many forward passes, all of which count.
func TestLayersOfTrace(t *testing.T) {
	var b builder
	for range 10 {
		b.add("embed")
		b.add(model(8, every(1, 0, dense, "")))
		b.add("head sample")
	}
	p := Find([][]Kernel{b.kernels}, roles, false)
	if p == nil || p.Repetitions != 80 || p.Layers != 8 || p.Prologue != 1 || p.Epilogue != 2 || p.Covered < 0.9 {
		t.Errorf("%+v, want 80 repetitions of 8 layers", describe(p))
	}
}
