package hotspot

import "slices"

// Scopes of lines.
const (
	PerRun    Scope = "per-run" // less often than steps
	PerStep   Scope = "per-step"
	PerLayer  Scope = "per-layer"
	PerKernel Scope = "per-kernel"  // oftener than layers
	PerItem   Scope = "per-request" // in a loop over requests or tokens
	NoScope   Scope = "unknown"
)

// steps is what is known of the run.
type steps struct {
	number int64  // forward steps, 0 not known
	from   string // what says so
	layers int    // of the model, 0 not known
}

// layerWords are names of what a model has in each of its layers.
var layerWords = set("layer attention attn mlp moe block decoder expert experts gate ffn rmsnorm layernorm norm rotary rope linear qkv")

// notLayers are names that have such a word and run once per step.
var notLayers = set("layers metadata manager engine executor scheduler sampler prepare runner backend builder blocks pool cache")

// perLayerCode is whether a function is by its name of a model's layer.
func (b *body) perLayerCode() bool {
	own := words(b.fn.Name)
	if slices.ContainsFunc(own, func(w string) bool { return notLayers[w] }) {
		return false
	}
	if slices.ContainsFunc(own, func(w string) bool { return layerWords[w] }) {
		return true
	}
	return slices.ContainsFunc(b.words, func(w string) bool { return layerWords[w] }) && !slices.ContainsFunc(b.words, func(w string) bool { return notLayers[w] })
}

// scope is how often statement i runs.
func (b *body) scope(i int, st *steps) Scope {
	s := &b.stmts[i]
	loop := s.loop
	if s.Keyword == "for" || s.Keyword == "while" { // its header runs as often as its block
		loop = i
	}
	inLoop := loop >= 0
	overLayers := inLoop && slices.ContainsFunc(overs(&b.stmts[loop]), func(over string) bool { return slices.Contains(lastWords(over), "layers") })
	if st.number <= 0 || s.hits == 0 {
		switch {
		case overLayers || b.perLayerCode():
			return PerLayer
		case inLoop:
			return PerItem
		}
		return NoScope
	}
	ratio := float64(s.hits) / float64(st.number)
	layers := float64(st.layers)
	itemLoop := inLoop && !overLayers && b.iterations(loop) > 1.5
	switch {
	case ratio < 0.5:
		return PerRun
	case ratio < 1.5:
		return PerStep
	case overLayers:
		return PerLayer
	case itemLoop && !b.perLayerCode():
		return PerItem
	case layers > 0 && ratio >= 0.5*layers && ratio <= 2.5*layers:
		return PerLayer
	case layers > 0 && ratio > 2.5*layers:
		return PerKernel
	case layers > 0:
		return PerItem
	case b.perLayerCode() || ratio >= 8 && !inLoop:
		return PerLayer
	}
	return PerItem
}
