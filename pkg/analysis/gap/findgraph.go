package gap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Limits of what is said of graphs.
const (
	// Kernels launched by themselves at least in a step that has no graph. (The front of
	// the next step's replay may lie in its period.)
	forwardKernels = 10
	minFallback    = 0.05 // of the generation steps that run eagerly
	maxSteps       = 6    // that are listed
)

// partial reports ranks whose replays were not recorded: worth nothing, it says that idle
// time may be work.
func (f *finder) partial() {
	for _, p := range f.rep.Graph.Partial {
		f.add(Recapture, 0, Finding{}, "rank %d launched %d graphs, but only %d replays (%.0f %%) were recorded: its idle time is too large, record again with %s",
			p.Rank, p.GraphLaunches, p.Recorded, 100*ratio(p.Recorded, p.GraphLaunches), f.rep.Graph.Recapture)
	}
}

// generation is what the generation steps of all ranks are.
type generation struct {
	steps, replayed int
	eager           []eagerStep
	launched        int64 // kernels that could be captured and were launched by themselves
	beside          int64 // the same in steps that replay something
	besideNs        int64 // idle time of these in the calls that launched them, ns
	within          int64 // idle time that a graph of the forward pass would not have, ns
	excess          int64 // idle time of eager steps above the median of the others, ns
	eagerGen        map[int64]bool
	replayedGen     map[int64]bool
}

// eagerStep is a generation step in which nothing was replayed.
type eagerStep struct {
	rank int32
	step int
}

// graphs finds generation steps that run eagerly, and kernels that belong into a graph
// and are launched by themselves beside it.
func (f *finder) graphs() {
	if len(f.rep.Graph.Partial) > 0 { // what was launched as a graph and not recorded looks like a step without one
		return
	}
	g := f.generation(event.Generation)
	if g.steps == 0 {
		f.unphased()
		return
	}
	switch {
	case len(g.replayedGen) == 0:
		f.eagerOnly(g, event.Generation)
	case float64(len(g.eager)) >= minFallback*float64(g.steps) && len(g.eager) > 1:
		f.fallback(g)
	}
	if g.replayed > 0 && g.beside >= int64(g.replayed) {
		worth, path, source := f.launchIdle(event.Generation) // of launches that are captured, too
		worth = min(worth, us(g.besideNs))
		f.expand(event.Generation, g.beside, g.replayed, "outside the graph that is replayed", "in these calls", worth, Finding{Path: path, Source: source})
	}
}

// unphased is the same where it is not known which steps generate tokens, or no steps are:
// found is only that nothing is replayed at all. Without steps there is no forward pass, and
// the worth is of launch calls alone.
func (f *finder) unphased() {
	if f.replays() {
		return
	}
	if f.rep.Idle.Steps > 0 {
		if g := f.generation(event.Unknown); int64(g.steps) == f.rep.Idle.Steps {
			f.eagerOnly(g, event.Unknown)
		}
		return
	}
	g := &generation{steps: 1}
	f.eachEager(noPhase, func(_ string, k Eager) {
		if Capturable(k.Class) {
			g.launched += k.Count
		}
	})
	f.eagerOnly(g, noPhase)
}

// replays tells whether any graph is replayed.
func (f *finder) replays() bool {
	return f.rep.Graph.GraphLaunches+f.rep.Graph.Replayed+f.rep.Graph.Whole > 0
}

// eagerOnly reports steps of a phase in which no graph is replayed at all.
func (f *finder) eagerOnly(g *generation, phase event.Phase) {
	worth, path, source := f.launchIdle(phase)
	where, at := "in these calls", Finding{Path: path, Source: source}
	if within := min(us(g.within), f.eagerIdle(phase)); within > worth { // of all of the forward pass, and not of the range with most
		worth, where = within, "between the first and the last of them"
		at.Path, _, _ = strings.Cut(path, " > ")
		at.Source = f.c.opt.Source(at.Path)
	}
	which := "no graph is replayed at all"
	if f.replays() {
		which = "none of these steps replays a graph"
	}
	f.expand(phase, g.launched, g.steps, which, where, worth, at)
}

// generation looks at the steps of a phase, the generation steps as a rule, of all ranks.
// What eager steps idle more is by each rank's own median of the others. Steps beside a
// context step are left out, and of what runs beside a graph those after an eager step:
// some of its kernels may run in their period.
func (f *finder) generation(phase event.Phase) *generation {
	g := &generation{eagerGen: map[int64]bool{}, replayedGen: map[int64]bool{}}
	for _, v := range f.views {
		var idle, without []int64
		facts := v.facts()
		eager := f.eagerSteps(facts)
		for k := v.from; k < v.to; k++ {
			s, at := v.walk.Steps.At(k), k-v.from
			fact := &facts[at]
			if s.Phase != phase || v.besideContext(k) {
				continue
			}
			g.steps++
			g.launched += int64(fact.forward)
			g.within += fact.within
			switch {
			case eager[at]:
				g.eager = append(g.eager, eagerStep{v.id, k})
				g.eagerGen[s.Gen] = true
				without = append(without, fact.idle)
			case fact.replayed > 0:
				g.replayedGen[s.Gen] = true
				idle = append(idle, fact.idle)
				if at == 0 || !eager[at-1] {
					g.replayed++
					g.beside += int64(fact.forward)
					g.besideNs += fact.calls
				}
			}
		}
		slices.Sort(idle)
		for _, ns := range without {
			if len(idle) > 0 {
				g.excess += max(0, ns-idle[len(idle)/2])
			}
		}
	}
	g.excess = min(g.excess, int64(f.rep.Idle.TotalUs*1e3)) // gaps that end in a step may begin before the window
	return g
}

// eagerSteps tells of each step of a rank whether it runs eagerly: at least forwardKernels
// of its kernels were launched by themselves, and more than were replayed. Where steps are
// told by what the host did, so is this: a step without a graph launch, with forwardKernels
// launches more than half of the steps that have one. (The replay that was launched before
// an eager step may run in its period.) Without a record of calls only the kernels tell.
func (f *finder) eagerSteps(facts []stepFact) []bool {
	eager := make([]bool, len(facts))
	calls := slices.ContainsFunc(facts, func(fact stepFact) bool { return fact.launches+fact.graphs > 0 })
	if f.c.method != step.NVTX || !calls {
		for k, fact := range facts {
			eager[k] = fact.forward >= forwardKernels && fact.forward > fact.replayed
		}
		return eager
	}
	var beside []int32
	for _, fact := range facts {
		if fact.graphs > 0 {
			beside = append(beside, fact.launches)
		}
	}
	slices.Sort(beside)
	least := int32(forwardKernels)
	if n := len(beside); n > 0 {
		least += beside[n/2]
	}
	for k, fact := range facts {
		eager[k] = fact.graphs == 0 && fact.launches >= least
	}
	return eager
}

// besideContext tells whether the step before or after one is a context step, some of
// whose kernels may lie in its period.
func (v *view) besideContext(k int) bool {
	return k > v.from && v.walk.Steps.At(k-1).Phase == event.Context || k+1 < v.to && v.walk.Steps.At(k+1).Phase == event.Context
}

// fallback reports generation steps that find no graph to replay.
func (f *finder) fallback(g *generation) {
	f.add(GraphFallback, us(g.excess), Finding{}, "%d of %d generation steps (%.0f %%) run eagerly though the others replay a graph: %s%s; in each of them the GPU is idle %s longer on average: capture graphs for what they run",
		len(g.eager), g.steps, 100*float64(len(g.eager))/float64(g.steps), g.listed(), g.requests(), report.Micros(us(g.excess)/float64(len(g.eager))))
}

// listed names the first eager steps.
func (g *generation) listed() string {
	var list []string
	rank := g.eager[0].rank
	for _, s := range g.eager {
		if s.rank == rank {
			list = append(list, fmt.Sprint(s.step))
		}
	}
	more := ""
	if n := len(list) - maxSteps; n > 0 {
		list, more = list[:maxSteps], fmt.Sprintf(" and %d others", n)
	}
	return fmt.Sprintf("steps %s%s of rank %d", strings.Join(list, ", "), more, rank)
}

// requests says which numbers of requests the eager steps have, where none of the others
// has them.
func (g *generation) requests() string {
	var list []int64
	for n := range g.eagerGen {
		if n < 0 || g.replayedGen[n] {
			return ""
		}
		list = append(list, n)
	}
	slices.Sort(list)
	var counts []string
	for _, n := range list[:min(maxSteps, len(list))] {
		counts = append(counts, fmt.Sprint(n))
	}
	return ", with " + strings.Join(counts, ", ") + " requests, for which no step replays one"
}

// stepsOf names what kernels are counted in, by the phase of the steps; noPhase is of no steps.
var stepsOf = map[event.Phase]string{
	event.Generation: "per generation step", noPhase: "in the trace (in which no steps were found)",
	event.Unknown: "per step (of which was not recorded whether it generates tokens)",
}

// stepsOf is stepsOf[phase], without doubts about tokens where the run generates none.
func (f *finder) stepsOf(phase event.Phase) string {
	if f.rep.Workload != "" && phase == event.Unknown {
		return "per step"
	}
	return stepsOf[phase]
}

// expand reports n kernels in steps of a phase that belong into a graph; worth is the idle time
// where says, in us.
func (f *finder) expand(phase event.Phase, n int64, steps int, which, where string, worth float64, at Finding) {
	worth = min(worth, f.rep.Idle.TotalUs) // phases go beyond the window of the trace
	if n < int64(steps) || !f.worth(worth) {
		return
	}
	var names []string
	for _, e := range f.rep.Graph.Eager {
		can := e.Capturable || phase != event.Generation && Capturable(event.Class(slices.Index(event.Classes, e.Class)))
		if can && len(names) < 3 {
			names = append(names, fmt.Sprintf("%s (%s)", report.Short(e.Name), e.Class))
		}
	}
	f.add(GraphExpand, worth, at, "%s kernels %s that could be captured are launched by themselves (%s): %s%s; the GPU is idle %s %s",
		report.Digits(float64(n)/float64(steps)), f.stepsOf(phase), which, strings.Join(names, ", "), in(at.Path), f.per(worth), where)
}

// eagerIdle returns the idle time of the steps of a phase that the host spent in calls that
// launch one kernel, in other calls, or in its own code, in us: not in waits for the GPU,
// for memory, for the interpreter lock or for a CPU.
func (f *finder) eagerIdle(phase event.Phase) (us float64) {
	for _, c := range f.phaseCauses(phase) {
		switch c.Cause {
		case idle.Launch.String(), idle.API.String(), idle.Untraced.String():
			us += c.Us
		default:
			if strings.HasPrefix(c.Cause, hostPrefix) {
				us += c.Us
			}
		}
	}
	return us - f.lostUs(phase, idle.Launch, idle.API, idle.Untraced, idle.Host)
}

// phaseCauses are the causes of the idle time of the steps of a phase, of all of it for noPhase.
func (f *finder) phaseCauses(phase event.Phase) []Cause {
	if phase == noPhase {
		return f.rep.Idle.Causes
	}
	for _, p := range f.rep.Idle.Phases {
		if p.Phase == event.Phases[phase] {
			return p.Causes
		}
	}
	return nil
}

// launchIdle returns the idle time of the steps of a phase in calls that launch kernels which
// could be captured, without what launching threads had lost their CPU for, in us, and where
// most of it is.
func (f *finder) launchIdle(phase event.Phase) (worth float64, path, source string) {
	shares, lost := f.capturableShares(phase), f.lostIn(phase, idle.Launch)
	most := 0.0
	eachSite(f.phaseCauses(phase), event.Classes[event.Launch], func(s *Site) {
		if s.launchesGraphs() {
			return
		}
		part := (s.Us - us(lost[place{s.Site, s.Path}])) * shares[s.Path]
		if worth += part; part > most {
			most, path, source = part, s.Path, s.Source
		}
	})
	return worth, path, source
}

// eachEager calls fn with the kernels launched by themselves in the steps of a phase, by path
// of ranges.
func (f *finder) eachEager(phase event.Phase, fn func(path string, k Eager)) {
	for _, v := range f.views {
		for _, s := range v.segments {
			if g := s.groups[phase]; g != nil {
				g.eager.Each(func(at EagerSite, k Eager) { fn(f.c.sites.PathText(at.Path), k) })
			}
		}
	}
}

// capturableShares returns, by path of ranges, the share of the kernels launched by
// themselves in the steps of a phase that could be captured; mostly is all.
// Idle time is known by site and not by kernel, so that of a range is divided by its
// kernels' numbers.
func (f *finder) capturableShares(phase event.Phase) map[string]float64 {
	can, all := map[string]int64{}, map[string]int64{}
	f.eachEager(phase, func(path string, k Eager) {
		if all[path] += k.Count; Capturable(k.Class) {
			can[path] += k.Count
		}
	})
	shares := map[string]float64{}
	for path, n := range can {
		if shares[path] = float64(n) / float64(all[path]); shares[path] >= 0.5 {
			shares[path] = 1
		}
	}
	return shares
}
