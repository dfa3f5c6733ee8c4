package findings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/stat"
)

// The kinds of facts.
const (
	Idle      = "idle"      // idle time in which a launching thread was somewhere, and why it did not go on
	Calls     = "calls"     // calls of one name at one place
	Steps     = "steps"     // steps that are not as the others
	Rank      = "rank"      // a rank that the others wait for
	Kernels   = "kernels"   // kernels that are launched by themselves
	Samples   = "samples"   // what samples of the CPU show of launching threads
	Threads   = "threads"   // what single threads do all the time, whether a GPU waits for them or not
	Recording = "recording" // what was not recorded
)

// StepSet is steps by rank and number.
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

// Len is how many rank-steps there are.
func (s StepSet) Len() (n int) {
	for _, steps := range s {
		n += len(steps)
	}
	return n
}

// Fact is something that was seen of a run.
type Fact struct {
	Of string   // its kind
	Is []string // what it is, in the words that entries of the catalogue ask for
	// Call and Path are where: a call, and the ranges around it from the outermost on, as package
	// idle writes them; of idle time in a range Call is that range.
	Call, Path string
	Source     string  // the function that the innermost known range stands for
	Rank       *int32  // null: of all ranks, or none in particular
	Steps      StepSet // in which it was seen
	// Numbers are of the whole window; those of facts that are one finding are added up, but for
	// what ends in _most or _share, of which the greatest counts.
	Numbers map[string]float64
	Names   map[string]string // texts for braces in Entry.Say, by key
}

// group is facts that are one finding.
type group struct {
	entry   *Entry
	facts   []*Fact // those with most idle time first
	numbers map[string]float64
	names   map[string]string
	steps   StepSet
}

// key is by what facts are one finding.
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

// groups puts facts together.
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
				if _, ok := g.names[name]; !ok { // that of the fact with most idle time
					g.names[name] = text
				}
			}
			g.steps.addAll(f.Steps)
		}
	}
	return list
}

// place returns the call and the path that all facts have in common, or most of the idle time is
// in; "" each where that is not so.
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
