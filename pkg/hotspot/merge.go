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
	*lineprof.Function                     // of the profile in which it took longest, or the sum
	per                []*float64          // us in each profile, nil where it is not in it
	body               *body               // nil where its source was not looked into
	called             bool                // by another profiled function
	callers            map[*function]int64 // with the ns of their statements that call it
	at                 int                 // place among all, the longest first
	recursive          bool                // a statement of its own calls it

	// What attribute says: see there.
	root   bool      // no other profiled function is known to call it
	outer  float64   // ns that no statement explains that calls it
	credit float64   // how much of its time counts, 0 to 1
	scale  float64   // the same of its lines, which may add up to more than it
	given  []float64 // ns of each statement that callees took
}

// last is the last component of its name: "f" of "A.f" and of "g.<locals>.f".
func (f *function) last() string { return lastName(f.Name) }

// class is the class of a qualified name, "" where there is none.
func (f *function) class() string {
	parts := strings.Split(f.Name, ".")
	if n := len(parts); n > 1 && parts[n-2] != "<locals>" {
		return parts[n-2]
	}
	return ""
}

// identity is what makes a function the same in two profiles. Equal ones of one profile
// differ by their number.
type identity struct {
	file, name string
	line, nth  int
}

// merge joins the functions of all profiles, those of the last run of each.
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

// join takes the longer of two, or adds them up: times, hits, and calls where both say
// them. Lines are joined by their numbers. Neither function is changed.
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

// warnings are those of the profiles, and what merging them leaves out.
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
