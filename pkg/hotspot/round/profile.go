package round

import (
	"path"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/hotspot"
)

// Input is one round: its profile and measurements.
type Input struct {
	Name   string          // such as round1_one_loop
	Report *hotspot.Report // on its ranks, or its parts
	Bench  []Benchmark     // one per run; nil if it was not measured
	Moved  *Moved          // against the last kept round before; nil without traces of both
}

// functionKey identifies a function across rounds.
type functionKey struct{ file, name string }

// keyOf removes from names what differs between profilers: folders, the class, and the
// parentheses of a call.
func keyOf(file, name string) functionKey {
	name = strings.TrimSuffix(name, "()")
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		name = name[dot+1:]
	}
	return functionKey{path.Base(file), name}
}

// cost is the time of a line or function.
type cost struct {
	ns, hits int64
	number   int    // line number, the first of several equal lines
	source   string // as written, without indentation; "" for a function
}

// profile is the cost of a round's functions and lines.
type profile struct {
	functions map[functionKey]cost
	roots     map[functionKey]bool // no profiled function calls them
	lines     map[functionKey]map[string]cost
	keys      map[functionKey]map[int]string // keys of lines, by number
	steps     int64
	stepsFrom string
}

// newProfile adds up the time of a round by the functions of its report, which accounts
// for ranks and parts.
func newProfile(in *Input) *profile {
	p := &profile{
		functions: map[functionKey]cost{}, roots: map[functionKey]bool{},
		lines: map[functionKey]map[string]cost{}, keys: map[functionKey]map[int]string{},
		steps: in.Report.Steps, stepsFrom: in.Report.StepsFrom,
	}
	for i, f := range in.Report.Merged() {
		k, info := keyOf(f.File, f.Name), in.Report.Functions[i]
		c := p.functions[k]
		c.ns, c.hits = lineprof.Add(c.ns, f.Ns), lineprof.Add(c.hits, info.Hits)
		p.functions[k] = c
		p.roots[k] = p.roots[k] || info.Root
		if p.lines[k] == nil {
			p.lines[k], p.keys[k] = map[string]cost{}, map[int]string{}
		}
		p.addFunction(k, f)
	}
	return p
}

// addFunction adds the lines of a function that were hit and have code. Equal lines are
// merged, under the number of the first.
func (p *profile) addFunction(k functionKey, f *lineprof.Function) {
	for _, l := range f.Lines {
		text := normalised(l.Source, false)
		if text == "" || l.Hits == 0 {
			continue
		}
		p.keys[k][l.Number] = text
		c, seen := p.lines[k][text]
		if !seen {
			c.number, c.source = l.Number, strings.TrimSpace(l.Source)
		}
		c.ns, c.hits = lineprof.Add(c.ns, l.Ns), lineprof.Add(c.hits, l.Hits)
		p.lines[k][text] = c
	}
}

// sharedRoots returns the functions whose times add up to what two rounds are compared
// by, and the outermost functions that are missing in one of them.
func sharedRoots(a, b *profile) (keys []functionKey, missing []string) {
	for k := range a.roots {
		if !a.roots[k] {
			continue
		}
		if _, both := b.functions[k]; both {
			keys = append(keys, k)
		} else {
			missing = append(missing, k.name)
		}
	}
	for k := range b.roots {
		if _, both := a.functions[k]; b.roots[k] && !both {
			missing = append(missing, k.name)
		}
	}
	return keys, missing
}

// perStep returns divisors for the times of two rounds: their steps, if the same
// function counts them in both, else 1.
func perStep(a, b *profile) (da, db float64, known bool) {
	if a.steps > 0 && b.steps > 0 && a.stepsFrom == b.stepsFrom {
		return float64(a.steps), float64(b.steps), true
	}
	return 1, 1, false
}
