package hotspot

import (
	"cmp"
	"slices"
	"strings"
)

// advise sets a hotspot's options and tests.
func (h *Hotspot) advise(e *Engine, st *steps) {
	h.Options, h.Tests = []Option{}, e.tests(h)
	for _, remedy := range remedies(h) {
		o := Option{
			Option: remedy.Option, Description: remedy.Description, SavingsOf: remedy.Savings,
			Risk: remedy.Risk, Complexity: remedy.Complexity, Source: remedy.Source,
		}
		for i, part := range remedy.Savings {
			o.SavingsPct[i] = 100 * part * h.Share
		}
		if st.number > 0 {
			perStep := h.TimeUs / float64(st.number)
			o.SavingsUs = &[2]float64{remedy.Savings[0] * perStep, remedy.Savings[1] * perStep}
		}
		h.Options = append(h.Options, o)
	}
}

// remedies returns the entries for a hotspot, at most maxOptions: those for its sub-kind
// first, then by risk, safest first, then by savings.
func remedies(h *Hotspot) []Remedy {
	var all []Remedy
	for _, m := range Knowledge().Remedies {
		if m.Type == h.Type && (m.Sub == "" || m.Sub == h.Sub) && m.fits(h) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Remedy) int {
		return cmp.Or(-cmp.Compare(a.Sub, b.Sub), // entries for the sub-kind first
			cmp.Compare(riskOrder(a.Risk), riskOrder(b.Risk)),
			cmp.Compare(b.Savings[0]+b.Savings[1], a.Savings[0]+a.Savings[1]))
	})
	return all[:min(len(all), maxOptions)]
}

// fits reports whether a hotspot has the evidence that the entry requires.
func (m *Remedy) fits(h *Hotspot) bool {
	return m.Evidence == nil || slices.ContainsFunc(h.Evidence, func(said string) bool {
		return slices.ContainsFunc(m.Evidence, func(text string) bool { return strings.Contains(said, text) })
	})
}

// riskOrder returns the position of a risk, safest first.
func riskOrder(r Risk) int { return slices.Index([]Risk{"none", "low", "medium", "high"}, r) }

// tests returns the unit tests that cover a hotspot's file.
func (e *Engine) tests(h *Hotspot) []string {
	var all []string
	for _, c := range e.Class {
		if c.in(h.File) {
			all = append(all, c.Tests...)
		}
	}
	return unique(all)
}
