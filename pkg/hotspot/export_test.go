package hotspot

import "github.com/hostbound/hostbound/pkg/format/lineprof"

// Classify says what one line of a function is; line is an index of f.Lines. It is
// what Analyze does with every hot line, but that it knows of no other functions:
// options say the number of steps and layers.
func Classify(f *lineprof.Function, line int, o Options) Hotspot {
	b := bodyOf(newCode(f))
	if line < 0 || line >= len(b.at) || b.at[line] < 0 {
		h := Hotspot{Function: f.Name, File: f.File}
		h.classified([]finding{{kind: Compute, confidence: "low", evidence: "no code on this line ran"}})
		return h
	}
	return b.hotspot(b.at[line], b.stmts[b.at[line]].ns, &steps{number: o.Steps, layers: o.Layers})
}
