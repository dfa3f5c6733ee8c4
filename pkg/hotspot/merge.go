package hotspot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
)

// function is one profiled function over all profiles.
type function struct {
	*lineprof.Function                     // from the profile with its longest time, or the sum
	per                []*float64          // us in each profile, nil if it is missing there
	body               *body               // nil if its source was not parsed
	called             bool                // by another profiled function
	callers            map[*function]int64 // with the ns of their statements that call it
	at                 int                 // index in the list of all, longest first
	recursive          bool                // one of its own statements calls it

	// Results of attribute.
	root   bool      // no other profiled function is known to call it
	outer  float64   // ns that no calling statement explains
	credit float64   // share of its time that counts, 0 to 1
	scale  float64   // the same for its lines, whose sum may exceed its time
	given  []float64 // ns that callees took, by statement
}

// last returns the last component of the name: "f" of "A.f" and of "g.<locals>.f".
func (f *function) last() string { return lastName(f.Name) }

// class returns the class in a qualified name, "" if there is none.
func (f *function) class() string {
	parts := strings.Split(f.Name, ".")
	if n := len(parts); n > 1 && parts[n-2] != "<locals>" {
		return parts[n-2]
	}
	return ""
}

// identity identifies a function across profiles. Equal functions of one profile are
// distinguished by nth.
type identity struct {
	file, name string
	line, nth  int
}

// merge joins the functions of all profiles, from the last run of each.
func merge(profiles []*lineprof.Profile, sum bool) []*function {
	byID := map[identity]*function{}
	var all []*function
	for at, p := range profiles {
		seen := map[identity]int{}
		for _, f := range p.Functions {
			if f.Run != p.Runs-1 {
				continue
			}
			id := identity{f.File, f.Name, f.Line, 0}
			id.nth = seen[id]
			seen[identity{f.File, f.Name, f.Line, 0}]++
			m := byID[id]
			if m == nil {
				m = &function{Function: f, per: make([]*float64, len(profiles)), callers: map[*function]int64{}}
				byID[id] = m
				all = append(all, m)
			} else {
				m.join(f, sum)
			}
			m.per[at] = new(float64(f.Ns) / 1e3)
		}
	}
	slices.SortStableFunc(all, func(a, b *function) int { return cmp.Compare(b.Ns, a.Ns) })
	return all
}

// join takes the longer of two functions, or adds them up: times, hits, and calls if
// both state them. Lines are joined by number. Neither argument is changed.
func (f *function) join(other *lineprof.Function, sum bool) {
	if !sum {
		if other.Ns > f.Ns {
			f.Function = other
		}
		return
	}
	both := *f.Function
	both.Ns = lineprof.Add(both.Ns, other.Ns)
	if both.Calls >= 0 && other.Calls >= 0 {
		both.Calls = lineprof.Add(both.Calls, other.Calls)
	}
	if both.SelfNs >= 0 && other.SelfNs >= 0 {
		both.SelfNs = lineprof.Add(both.SelfNs, other.SelfNs)
	}
	both.Lines = slices.Clone(both.Lines)
	at := map[int]int{}
	for i, l := range both.Lines {
		at[l.Number] = i
	}
	for _, l := range other.Lines {
		i, known := at[l.Number]
		switch {
		case !known:
			both.Lines = append(both.Lines, l)
		case l.Time != lineprof.NoTime:
			b := &both.Lines[i]
			b.Hits = lineprof.Add(b.Hits, l.Hits)
			b.Ns = lineprof.Add(b.Ns, l.Ns)
			b.Time = max(b.Time, l.Time)
		}
	}
	slices.SortStableFunc(both.Lines, func(a, b lineprof.Line) int { return a.Number - b.Number })
	f.Function = &both
}

// warnings returns the warnings of the profiles, and what merging leaves out.
func warnings(profiles []*lineprof.Profile) []string {
	all := []string{}
	for _, p := range profiles {
		name := cmp.Or(p.Name, "standard input")
		for _, w := range p.Warnings {
			all = append(all, name+": "+w)
		}
		if p.Runs > 1 {
			all = append(all, fmt.Sprintf("%s holds %d runs, and only the last counts: give each run, or each rank, as a file of its own", name, p.Runs))
		}
	}
	return all
}
