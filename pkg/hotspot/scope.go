package hotspot

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// Scopes of lines.
const (
	PerRun    Scope = "per-run"     // in less than half of the steps
	PerStep   Scope = "per-step"    // about once per step
	PerLayer  Scope = "per-layer"   // about once per layer of a step
	PerKernel Scope = "per-kernel"  // more often than layers
	PerItem   Scope = "per-request" // in a loop over requests or tokens, or anything else more than once per step
	NoScope   Scope = "unknown"     // unknown how often per step
)

// steps is what is known about the run's steps.
type steps struct {
	number int64  // forward steps, 0 if unknown
	from   string // source of number
	layers int    // of the model, 0 if unknown
}

// pace says how often statements run.
type pace struct{ *code }

// perLayerCode reports whether a function is part of a model's layer, by its name.
func (b pace) perLayerCode() bool {
	own := words(b.fn.Name)
	if hasWord(own, "not_layers") {
		return false
	}
	if hasWord(own, "layer_words") {
		return true
	}
	return hasWord(b.words, "layer_words") && !hasWord(b.words, "not_layers")
}

// loopOf returns the loop around statement i, or i if it is a loop's header, which runs
// as often as its block.
func (b *code) loopOf(i int) int {
	if b.stmts[i].isLoop() {
		return i
	}
	return b.stmts[i].loop
}

// overLayers reports whether the loop around statement i iterates over layers.
func (b pace) overLayers(i int) bool {
	loop := b.loopOf(i)
	return loop >= 0 && slices.ContainsFunc(b.stmts[loop].over, func(over string) bool { return slices.Contains(lastWords(over), "layers") })
}

// scope returns how often statement i runs.
func (b pace) scope(i int, st *steps) Scope {
	s := &b.stmts[i]
	loop := b.loopOf(i)
	inLoop, overLayers := loop >= 0, b.overLayers(i)
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
	times := math.Round(ratio)
	layers := float64(st.layers)
	itemLoop := inLoop && !overLayers && math.Round(b.iterations(loop)) > 1
	switch {
	case times == 0:
		return PerRun
	case times == 1:
		return PerStep
	case overLayers:
		return PerLayer
	case itemLoop && !b.perLayerCode():
		return PerItem
	case layers > 0 && stat.MostOf(ratio, layers) && ratio <= perLayer*layers:
		return PerLayer
	case layers > 0 && ratio > perLayer*layers:
		return PerKernel
	case layers == 0 && b.perLayerCode():
		return PerLayer
	}
	return PerItem
}
