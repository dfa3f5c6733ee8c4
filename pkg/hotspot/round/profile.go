package round

import (
	"path"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/hotspot"
)

// Input is one round: what was profiled and measured of it.
type Input struct {
	Name     string              // such as round1_one_loop
	Profiles []*lineprof.Profile // its ranks, or its parts
	Report   *hotspot.Report     // of Profiles
	Bench    []Benchmark         // a run each; none where it was not measured
	Sum      bool                // the profiles add up; otherwise they are ranks
	Moved    *Moved              // against the round before that was kept; nil without traces of both
}

// functionKey identifies a function in all rounds.
type functionKey struct{ file, name string }

// keyOf leaves out of names what differs from profiler to profiler: folders, the class, and
// the brackets of a call.
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
	number   int    // the line's number, the first of several equal ones
	source   string // as it stands, without indentation; "" of a function
}

// profile is what one round's functions and lines cost.
type profile struct {
	functions map[functionKey]cost
	roots     map[functionKey]bool // no profiled function calls them
	lines     map[functionKey]map[string]cost
	keys      map[functionKey]map[int]string // the key of lines, by number
	steps     int64
	stepsFrom string
}

// newProfile adds up what a round spent. Functions are those of the report, which knows of
// ranks and parts; lines come from the profiles, as the report lists only the hot ones.
func newProfile(in *Input) *profile {
	p := &profile{
		functions: map[functionKey]cost{}, roots: map[functionKey]bool{},
		lines: map[functionKey]map[string]cost{}, keys: map[functionKey]map[int]string{},
		steps: in.Report.Steps, stepsFrom: in.Report.StepsFrom,
	}
	for _, f := range in.Report.Functions {
		k := keyOf(f.File, f.Function)
		c := p.functions[k]
		c.ns, c.hits = lineprof.Add(c.ns, int64(f.TotalUs*1000)), lineprof.Add(c.hits, f.Hits)
		p.functions[k] = c
		p.roots[k] = p.roots[k] || f.Root
	}
	p.addLines(in)
	return p
}

// addLines adds the lines of each function: of the rank in which it took longest, or
// of all.
func (p *profile) addLines(in *Input) {
	longest := map[functionKey]int64{}
	for _, prof := range in.Profiles {
		total := map[functionKey]int64{}
		byKey := map[functionKey][]*lineprof.Function{}
		for _, f := range prof.Run(prof.Runs - 1) { // the last run is the one that the report is of
			k := keyOf(f.File, f.Name)
			total[k] += f.Ns
			byKey[k] = append(byKey[k], f)
		}
		for k, ns := range total {
			if _, seen := p.lines[k]; seen && !in.Sum && ns <= longest[k] {
				continue
			}
			longest[k] = ns
			if p.lines[k] == nil || !in.Sum {
				p.lines[k], p.keys[k] = map[string]cost{}, map[int]string{}
			}
			for _, f := range byKey[k] {
				p.addFunction(k, f)
			}
		}
	}
}

// addFunction adds the lines of a function that were hit and hold code. Equal lines are one,
// with the number of the first.
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

// sharedRoots are the functions whose times add up to what two rounds can be compared
// by, and why these are not all outermost functions, where they are not.
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

// perStep divides times of two rounds by their steps where the same function tells
// them; otherwise by 1.
func perStep(a, b *profile) (da, db float64, known bool) {
	if a.steps > 0 && b.steps > 0 && a.stepsFrom == b.stepsFrom {
		return float64(a.steps), float64(b.steps), true
	}
	return 1, 1, false
}
