package doctor

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Range is a recurring range, which may be a step.
type Range struct {
	// Name has each run of digits folded to one "#".
	Name string `json:"name"`
	// Count is its number of occurrences, Us their total duration.
	Count int64   `json:"count"`
	Us    float64 `json:"us"`
	// Marker is the expression for --marker that matches it.
	Marker string `json:"marker"`
}

// Limits on the names that are counted, and on the ranges that are proposed.
const (
	maxNames  = 4096
	proposals = 5
)

// tally is the number of occurrences of a range, and their total duration in ns.
type tally struct{ n, ns int64 }

// addRange counts a range of a rank under its name. For PyTorch's profiler only ranges
// that users mark count, because its operators recur, too, many times per step. Names
// beyond maxNames are ignored: a range that first occurs so late is no step.
func (f *found) addRange(b *event.Batch, i int) {
	if !b.Rank.Valid.Get(i) {
		return
	}
	if k, ok := b.Domain.Get(i); f.torch && ok && int(k) < len(f.Domains) && f.Domains[k] != "torch" {
		return // an operator or a function is no step
	}
	name := marker.Fold(string(b.Name.Get(i)))
	t := f.ranges[name]
	if t == nil && len(f.ranges) == maxNames {
		return
	} else if t == nil {
		t = &tally{}
		f.ranges[name] = t
	}
	t.n++
	t.ns += b.End.Values[i] - b.Start.Values[i]
}

// recurring returns the ranges that recur and take the most time, nil if there are
// forward-step markers. A range around a step takes at least as long as the step. So
// among ranges that recur often enough, those with the longest total are the best guess;
// the user chooses.
func (f *found) recurring() (all []Range) {
	if f.facts.Markers > 0 {
		return nil
	}
	for name, t := range f.ranges {
		if t.n >= step.MinSteps*int64(max(f.ranks, 1)) {
			expr := "^" + strings.ReplaceAll(regexp.QuoteMeta(name), "#", "[0-9]+") + "$"
			all = append(all, Range{name, t.n, float64(t.ns) / 1e3, expr})
		}
	}
	slices.SortFunc(all, func(a, b Range) int { return cmp.Or(cmp.Compare(b.Us, a.Us), strings.Compare(a.Name, b.Name)) })
	return all[:min(len(all), proposals)]
}

// proposeSteps adds the ranges that may be steps.
func (d *Diagnosis) proposeSteps(s *report.Section) {
	if len(d.Recurring) == 0 {
		return
	}
	t := s.Table("", report.Column{Title: "range", Kind: report.Names}, report.Column{Title: "count", Kind: report.Count}, report.Column{Title: "in all", Kind: report.Duration})
	for _, r := range d.Recurring {
		t.Row(report.Str(r.Name), report.Int(r.Count), report.Num(r.Us))
	}
	s.Say("To use the first as steps: %s.", report.Command("--by nvtx --marker '"+strings.ReplaceAll(d.Recurring[0].Marker, "'", `'\''`)+"'"))
}
