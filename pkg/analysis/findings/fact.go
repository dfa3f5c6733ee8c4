package findings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/stat"
)

// The kinds of facts.
const (
	Idle      = "idle"      // idle time, by where the launching thread was and why it was stalled
	Calls     = "calls"     // calls with one name at one place
	Steps     = "steps"     // steps that differ from the others
	Rank      = "rank"      // a rank that the others wait for
	Kernels   = "kernels"   // kernels that are launched one by one
	Samples   = "samples"   // what CPU samples show of launching threads
	Threads   = "threads"   // what single threads do all the time, whether or not a GPU waits for them
	Recording = "recording" // what was not recorded
)

// StepSet is a set of steps, by rank and number.
type StepSet map[int32]map[int]bool

// Add adds step k of a rank.
func (s StepSet) Add(rank int32, k int) {
	if s[rank] == nil {
		s[rank] = map[int]bool{}
	}
	s[rank][k] = true
}

// addAll adds the steps of another set.
func (s StepSet) addAll(o StepSet) {
	for rank, steps := range o {
		for k := range steps {
			s.Add(rank, k)
		}
	}
}

// Len returns the number of rank-steps.
func (s StepSet) Len() (n int) {
	for _, steps := range s {
		n += len(steps)
	}
	return n
}

// Fact is something that was seen of a run.
type Fact struct {
	Of string   // its kind, one of the constants above
	Is []string // what it is, in the words of the catalogue (Entry.Is, All, Not)
	// Call and Path are its place: a call, and the ranges around it, the outermost first, as
	// package idle writes them. For idle time in a range, Call is that range.
	Call, Path string
	Source     string  // function that the innermost known range stands for
	Rank       *int32  // nil: all ranks, or none in particular
	Steps      StepSet // the steps in which it was seen
	// Numbers are totals over the window. For facts of one finding they are added up, except
	// that of numbers that end in _most or _share the largest counts.
	Numbers map[string]float64
	Names   map[string]string // texts for the braces in Words, by key
}

// group holds the facts of one finding.
type group struct {
	entry   *Entry
	facts   []*Fact // the most idle time first
	numbers map[string]float64
	names   map[string]string
	steps   StepSet
}

// key returns the key that all facts of one finding share; n is the number of the fact.
func (e *Entry) key(f *Fact, n int) string {
	switch e.Each {
	case "place":
		return f.Call + "\x00" + f.Path
	case "path":
		return f.Path
	case "call":
		return f.Call
	case "fact":
		return string(rune(n))
	}
	return ""
}

// groups groups facts by finding. Facts that no entry recognises are dropped.
func groups(facts []Fact) (list []*group) {
	type key struct {
		entry *Entry
		key   string
	}
	by := map[key]*group{}
	for n := range facts {
		f := &facts[n]
		e := Recognised(f)
		if e == nil {
			continue
		}
		k := key{e, e.key(f, n)}
		g := by[k]
		if g == nil {
			g = &group{entry: e, numbers: map[string]float64{}, names: map[string]string{}, steps: StepSet{}}
			by[k], list = g, append(list, g)
		}
		g.facts = append(g.facts, f)
	}
	for _, g := range list {
		slices.SortStableFunc(g.facts, func(a, b *Fact) int {
			return cmp.Or(cmp.Compare(b.Numbers["idle_us"], a.Numbers["idle_us"]), cmp.Compare(b.Numbers["call_us"], a.Numbers["call_us"]), strings.Compare(a.Call+a.Path, b.Call+b.Path))
		})
		for _, f := range g.facts { // in this order: sums of floats depend on it
			for name, v := range f.Numbers {
				if strings.HasSuffix(name, "_most") || strings.HasSuffix(name, "_share") {
					g.numbers[name] = max(g.numbers[name], v)
				} else {
					g.numbers[name] += v
				}
			}
			for name, text := range f.Names {
				if _, ok := g.names[name]; !ok { // keep the name from the fact with the most idle time
					g.names[name] = text
				}
			}
			g.steps.addAll(f.Steps)
		}
	}
	return list
}

// place returns the call and the path of the first fact, if they are those of all facts or of at
// least half of the idle time; else "". source is the function that the path stands for.
func (g *group) place() (call, path, source string) {
	first := g.facts[0]
	same := func(of func(*Fact) string) string {
		idle := 0.0
		for _, f := range g.facts {
			if of(f) == of(first) {
				idle += f.Numbers["idle_us"]
			}
		}
		if len(g.facts) == 1 || stat.MostOf(idle, g.numbers["idle_us"]) && g.numbers["idle_us"] > 0 {
			return of(first)
		}
		return ""
	}
	call, path = same(func(f *Fact) string { return f.Call }), same(func(f *Fact) string { return f.Path })
	if path != "" || len(g.facts) == 1 {
		source = first.Source
	}
	return call, path, source
}
