package gap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// minFallback, 5 %: the least share of generation steps that run eagerly where others replay
// a graph.
const minFallback = 0.05

// steps adds facts about exceptional steps: those that run eagerly where others replay a
// graph, and those in which code is compiled, loaded or tuned.
func (f *gathering) steps() {
	gen := f.generation(event.Generation)
	if eager := gen.eager.Len(); gen.replays > 0 && eager > 1 && float64(eager) >= minFallback*float64(gen.steps) && len(f.rep.Graph.Partial) == 0 {
		one := findings.Fact{Of: findings.Steps, Is: []string{"eager"}, Steps: gen.all}
		above := false
		if one.Names, one.Numbers, above = gen.requests(); above {
			one.Is = []string{"above"}
		}
		one.Numbers["eager"], one.Numbers["steps"], one.Numbers["eager_share"] = float64(eager), float64(gen.steps), float64(eager)/float64(gen.steps)
		f.add(one)
	}
	compiles, one := findings.StepSet{}, findings.Fact{Of: findings.Steps, Is: []string{"compiles"}}
	for _, v := range f.views {
		for k, kind := range f.kinds[v] {
			if kind.Compiles {
				compiles.Add(v.id, v.from+k)
			}
		}
	}
	n := int64(compiles.Len())
	if !stat.MostOf(n, f.rep.Idle.Steps) { // else the other steps are too few to be typical
		one.Steps = compiles
	}
	if n > 0 {
		f.add(one)
	}
}

// generation counts the kinds of steps of a phase, usually of the generation steps.
type generation struct {
	steps, replays int
	eager, all     findings.StepSet // all also holds eager steps next to context steps
	launched       int64            // forward-pass kernels launched one by one
	beside         int64            // the same in the steps counted by replayed
	replayed       int
	sizes          [2]map[int64]bool // numbers of requests of eager steps [0] and of steps that replay a graph [1]
}

// generation counts the steps of a phase over all ranks. Steps next to a context step are left
// out, except from all. Steps after an eager step are left out of replayed and beside, because
// kernels of the eager step may run in their period.
func (f *gathering) generation(phase event.Phase) *generation {
	g := &generation{eager: findings.StepSet{}, all: findings.StepSet{}, sizes: [2]map[int64]bool{{}, {}}}
	for _, v := range f.views {
		kinds := f.kinds[v]
		for k, s := range v.counted() {
			kind := kinds[k-v.from]
			if s.Phase != phase {
				continue
			}
			if kind.Eager {
				g.all.Add(v.id, k)
			}
			if k > v.from && v.walk.Steps.At(k-1).Phase == event.Context || k+1 < v.to && v.walk.Steps.At(k+1).Phase == event.Context {
				continue
			}
			g.steps++
			g.launched += int64(s.Work.Forward)
			switch {
			case kind.Eager:
				g.eager.Add(v.id, k)
				g.sizes[0][s.Gen] = true
			case kind.Replays:
				g.replays++
				g.sizes[1][s.Gen] = true
				if k == v.from || !kinds[k-v.from-1].Eager {
					g.replayed++
					g.beside += int64(s.Work.Forward)
				}
			}
		}
	}
	for _, v := range f.views { // A step outside the window also shows which sizes were captured, unless eager steps have the same size.
		for k, kind := range v.walk.Kinds(f.c.method, 0, v.walk.Steps.Len()) {
			if s := v.walk.Steps.At(k); s.Phase == phase && kind.Replays && !kind.Eager && !g.sizes[0][s.Gen] {
				g.sizes[1][s.Gen] = true
			}
		}
	}
	return g
}

// requests returns the numbers of requests of the eager steps, if no step with any of them
// replays a graph. above reports whether all of them exceed the largest one with a graph.
func (g *generation) requests() (names map[string]string, numbers map[string]float64, above bool) {
	names, numbers = map[string]string{}, map[string]float64{}
	eager, graphs := slices.Sorted(maps.Keys(g.sizes[0])), slices.Sorted(maps.Keys(g.sizes[1]))
	for _, n := range eager {
		if n < 0 || g.sizes[1][n] {
			return names, numbers, false
		}
	}
	if len(eager) == 0 || len(graphs) == 0 {
		return names, numbers, false
	}
	if names["requests"] = fmt.Sprint(eager[0]); len(eager) > 1 {
		names["requests"] += fmt.Sprint(" to ", eager[len(eager)-1])
	}
	numbers["captured_most"] = float64(graphs[len(graphs)-1])
	return names, numbers, eager[0] > graphs[len(graphs)-1] && graphs[0] >= 0
}

// kernels adds facts about kernels that are launched one by one and should be in a graph.
func (f *gathering) kernels() {
	if len(f.rep.Graph.Partial) > 0 { // a step whose replay was lost looks like one without a graph
		return
	}
	phase, of := event.Generation, "per generation step"
	g := f.generation(phase)
	if g.steps == 0 {
		phase, of = event.Unknown, "per step"
		if g = f.generation(phase); f.anyReplays() || int64(g.steps) != f.rep.Idle.Steps {
			return
		}
	}
	one := findings.Fact{Of: findings.Kernels, Names: map[string]string{"of_steps": of, "names": f.capturable(phase)}}
	switch {
	case f.rep.Idle.Steps == 0:
		one.Is, one.Names["of_steps"], one.Names["which"] = []string{"beside"}, "in the trace", "no graph is replayed at all"
		f.launches(noPhase, one, 1)
	case g.replays == 0:
		one.Is, one.Names["which"] = []string{"no graph"}, "none of these steps replays a graph"
		if !f.anyReplays() {
			one.Names["which"] = "no graph is replayed at all"
		}
		if g.launched >= int64(max(1, g.steps)) {
			one.Numbers = map[string]float64{"kernels_per_step": float64(g.launched) / float64(g.steps)}
			f.add(one)
		}
	case g.beside >= int64(max(1, g.replayed)):
		one.Is, one.Names["which"] = []string{"beside"}, "outside the graph that is replayed"
		f.launches(phase, one, float64(g.replayed))
	}
}

// anyReplays reports whether any graph was launched or replayed.
func (f *gathering) anyReplays() bool {
	return f.rep.Graph.GraphLaunches+f.rep.Graph.Replayed+f.rep.Graph.Whole > 0
}

// capturable names the three kernels that are most often launched one by one and should be in
// a graph.
func (f *gathering) capturable(phase event.Phase) string {
	var names []string
	for _, e := range f.rep.Graph.Eager {
		if can := e.Capturable || phase != event.Generation && replay.Capturable(event.Class(slices.Index(event.Classes[:], e.Class))); can && len(names) < 3 {
			names = append(names, fmt.Sprintf("%s (%s)", report.Short(e.Name), e.Class))
		}
	}
	return strings.Join(names, ", ")
}

// launches adds a fact for each range path whose calls launch kernels that should be in a
// graph. It considers the steps of a phase or, with noPhase, a trace without steps. If the
// path also launches other kernels, these launches remain ("rest").
func (f *gathering) launches(phase event.Phase, one findings.Fact, steps float64) {
	can, all, idle := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, v := range f.views {
		for b := range v.eachBin() {
			for at, n := range b.eager {
				if b.phase != phase {
					continue
				}
				path := f.c.sites.PathText(at.path)
				if all[path] += n.count; replay.Capturable(f.c.kernels.of(at.name).class) {
					can[path] += n.count
				}
			}
		}
	}
	for at, t := range f.called {
		if cudaname.ClassAPI(at.call) == event.Launch {
			idle[at.path] += t.idle
		}
	}
	for _, path := range slices.Sorted(maps.Keys(can)) {
		one.Path = path
		one.Numbers = map[string]float64{"rest": 1 - float64(can[path])/float64(all[path]), "idle_us": us(idle[path]), "kernels_per_step": float64(can[path]) / steps}
		f.add(one)
	}
}

// pauses adds a fact for each of the longest gaps that would end a segment if the host were
// idle. The step that it is in must exceed the median period by at least half of the gap.
//
// It returns the causes with at least half of their idle time in pauses: these explain the
// pauses and not ordinary steps.
func (f *gathering) pauses() map[string]bool {
	whole := map[string]bool{}
	if f.c.header.Isolation == nil || f.c.wholeTrace {
		return whole
	}
	least := us(cmp.Or(f.c.header.Isolation.SegmentGap, step.DefaultSegmentGap))
	paused, usual := map[string]float64{}, usualStep(f.views)
	for _, g := range f.rep.Gaps.Top {
		if g.IdleUs < least || g.Step == nil || len(g.Causes) == 0 {
			continue
		}
		steps := findings.StepSet{}
		for _, v := range f.views { // other ranks wait for the one that pauses
			for k := *g.Step - 1; k <= *g.Step; k++ { // the step that the gap is in may be the one before
				if !v.inWindow(k) {
					continue
				}
				if s := v.walk.Steps.At(int(k)); stat.MostOf(us(s.Period())-usual, g.IdleUs) {
					steps.Add(v.id, int(k))
				}
			}
		}
		if len(steps) == 0 {
			continue
		}
		cause := g.Causes[0]
		paused[cause.Cause] += cause.Us
		one := findings.Fact{Of: findings.Steps, Is: []string{"pause"}, Steps: steps, Call: cause.Cause, Names: map[string]string{},
			Numbers: map[string]float64{"pause_us_most": g.IdleUs, "typical_us_most": usual, "cause_share": cause.Us / g.IdleUs}}
		f.inPause(&one, cause.Cause)
		f.add(one)
	}
	for _, c := range f.rep.Idle.Causes {
		if us, ok := paused[c.Cause]; ok && stat.MostOf(us, c.Us) {
			whole[c.Cause] = true
		}
	}
	return whole
}

// usualStep returns the median period of the steps, in us.
func usualStep(views []*view) float64 {
	var all []float64
	for _, v := range views {
		for _, s := range v.counted() {
			all = append(all, us(s.Period()))
		}
	}
	slices.Sort(all)
	return stat.Quantile(all, 0.5)
}

// inPause fills in what the host mostly did in a pause, and what to do about it. Why it was
// stalled, or what samples show that it ran, takes precedence over where it was.
func (f *gathering) inPause(one *findings.Fact, cause string) {
	one.Names["what"], one.Names["remedy"] = cause, "find out what the host did then"
	c, call := f.rep.Idle.cause(cause), ""
	if c == nil {
		return
	}
	if len(c.Sites) > 0 {
		call = c.Sites[0].Site
	}
	does, remedy := f.doing(cause, call)
	one.Names["what"], one.Names["remedy"] = "the launching thread "+does, remedy
	name, inRange := strings.CutPrefix(cause, hostPrefix)
	switch does, remedy := c.mostly(); {
	case cause == idle.GIL.String():
		f.holding(one)
	case cudaname.EffectOf(call)&cudaname.LoadsCode != 0:
		one.Names["what"], one.Names["remedy"] = "code is compiled or loaded in "+call, "warm up this code before requests come, or load it eagerly (CUDA_MODULE_LOADING=EAGER)"
	case does != "" && inRange:
		one.Names["what"], one.Names["remedy"] = "launching threads "+does+" in "+name, cmp.Or(remedy, one.Names["remedy"])
	}
}

// mostly returns what launching threads do in at least half of the time of a cause, and what
// to do about it: why they are stalled, or which functions they run. Both are "" if neither
// is known.
func (c *Cause) mostly() (does, remedy string) {
	if len(c.Why) == 0 || !stat.MostOf(c.Why[0].Ns, c.Ns) {
		return "", ""
	}
	why := &c.Why[0]
	if why.Why != idle.Running.String() {
		return findings.Phrase(why.Why), findings.TreatmentOf(why.Why).Advice()
	}
	if len(why.Families) > 0 && why.Families[0].Share > 0.5 {
		ran := findings.Fact{Of: findings.Samples, Is: []string{why.Families[0].Family}, Numbers: map[string]float64{"low_share": why.Families[0].Low}}
		if e := findings.Recognised(&ran); e != nil {
			return e.What, e.Advice()
		}
	}
	return "", ""
}
