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

// Range is a range that recurs, and so may be a step of the run.
type Range struct {
	// Name has each run of digits folded to one "#".
	Name string `json:"name"`
	// Count is how often it occurs, Us how long in all.
	Count int64   `json:"count"`
	Us    float64 `json:"us"`
	// Marker is the expression for --marker that names it.
	Marker string `json:"marker"`
}

// Bounds on the names that are counted, and on how many ranges are proposed.
const (
	maxNames  = 4096
	proposals = 5
)

// tally is how often a range occurs, and for how many ns in all.
type tally struct{ n, ns int64 }

// addRange counts a range of a rank under its name.
// Of PyTorch's profiler only what users mark is counted: its operators recur, too, many
// times per step. Names beyond maxNames are left out: one that comes late is no step.
func (f *found) addRange(b *event.Batch, i int) {
	if !b.Rank.Valid.Get(i) {
		return
	}
	if k, ok := b.Domain.Get(i); f.torch && ok && int(k) < len(f.Domains) && f.Domains[k] != "torch" {
		return // an operator or a function, which is no step
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

// recurring returns the ranges that recur and take most of the time, where no others are
// known to be steps.
// A range that encloses a step takes no less time than it, so of ranges that recur often
// enough the longest in all are the best guess, and a guess it is: the user chooses.
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
