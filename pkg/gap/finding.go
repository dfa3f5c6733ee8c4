package gap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
)

// The patterns that treat a finding.
const (
	CustomOp    = "CUSTOM_OP"    // one operation in place of a chain of small ones
	GraphExpand = "GRAPH_EXPAND" // capture kernels that run eagerly
	GraphSplit  = "GRAPH_SPLIT"  // split an operation that blocks the capture
	Sync        = "SYNC"         // remove or defer a wait for the GPU
	Hoist       = "HOIST"        // do once a step what is done once a layer
	Alloc       = "ALLOC"        // make objects ahead of time
	Coordinator = "COORDINATOR"  // take work off the rank that the others wait for
	SlowGPU     = "SLOW_GPU"     // see why a GPU, or its share of the work, is slower
	GCManage    = "GC_MGMT"      // keep the garbage collector out of steps
	GIL         = "GIL_CONTENTION"
	Recapture   = "RECAPTURE" // the recording does not answer
)

// Limits below which nothing is found.
const (
	minChainShare = 0.005 // of a step's length
	minLateShare  = 0.005 // of a step's length, that a straggler is late by
	minCauseShare = 0.02  // of idle time, for the collector and the interpreter lock
	perLayer      = 0.8   // calls for each layer
	minLayers     = 3
	tinyKernel    = 10.0  // us
	maxSmallGap   = 100.0 // us
	minCallShare  = 0.001 // of the trace, for calls in traces without steps
)

// finder collects findings.
type finder struct {
	c      *computer
	rep    *Report
	groups []*group // of the steps that count: generation and unknown phase
	all    []*group
	steps  int64 // rank-steps of groups
	stepUs float64
}

// find fills in the findings.
func (c *computer) find(rep *Report, views []*view) {
	f := &finder{c: c, rep: rep}
	for _, v := range views {
		for _, s := range v.segments {
			for phase, g := range s.groups {
				if g == nil {
					continue
				}
				f.all = append(f.all, g)
				if phase != int(event.Context) {
					f.groups = append(f.groups, g)
				}
			}
		}
		for _, s := range v.counted() {
			if s.Phase != event.Context {
				f.steps++
			}
		}
	}
	if rep.Idle.Steps > 0 && rep.Idle.Lanes > 0 {
		f.stepUs = rep.Idle.WindowUs / float64(rep.Idle.Steps)
	}
	f.straggler()
	f.partial()
	f.expand()
	f.split(views)
	f.chains()
	f.smallKernels()
	f.calls()
	f.runtime()
	slices.SortStableFunc(rep.Findings, func(a, b Finding) int { return cmp.Compare(b.UsStep, a.UsStep) })
}

// add adds a finding with us at stake in each step.
func (f *finder) add(pattern string, usStep float64, source, format string, args ...any) {
	f.rep.Findings = append(f.rep.Findings, Finding{
		Pattern: pattern, Evidence: fmt.Sprintf(format, args...), UsStep: usStep, Source: source,
	})
}

// perStep divides by the steps that count, or by one where there are none.
func (f *finder) perStep(x float64) float64 { return x / float64(max(1, f.steps)) }

// each says what a figure is for.
func (f *finder) each() string {
	if f.steps == 0 {
		return "in the trace"
	}
	return "a step"
}

func (f *finder) straggler() {
	s := f.rep.Straggler
	if s == nil || s.Rank == nil || s.LateUs < minLateShare*f.stepUs {
		return
	}
	when := fmt.Sprintf("rank %d is late at collectives by %s a step, the last in %.0f %% of the steps, with %.0f %% of all lateness",
		*s.Rank, length(s.LateUs), 100*s.ShareOfSteps, 100*s.ShareOfLateness)
	if s.Side == "gpu" {
		var parts []string
		for _, w := range s.Why {
			if w.What == "kernels" && len(parts) < 3 {
				parts = append(parts, fmt.Sprintf("%s %s against %s", w.Name, length(w.UsStep), length(w.OthersUs)))
			}
		}
		f.add(SlowGPU, s.LateUs, "", "%s: its own kernels take longer (%s a step): compare its clocks, power and temperature, and its share of the work; its host is not the cause",
			when, strings.Join(parts, ", "))
		return
	}
	what := "nothing on its host or GPU explains it"
	source := ""
	for _, w := range s.Why {
		if w.What == "operation" && slices.Contains(s.Causes, w.Name) {
			what = fmt.Sprintf("it spends %s a step in %s, the others %s", length(w.UsStep), w.Name, length(w.OthersUs))
			source = w.Source
			break
		}
	}
	f.add(Coordinator, s.LateUs, source, "%s: %s", when, what)
}

func (f *finder) partial() {
	for _, p := range f.rep.Graph.Partial {
		f.add(Recapture, 0, "", "rank %d launched %d graphs, but only %d replays (%.0f %%) were recorded: its idle time is too large, record again with %s",
			p.Rank, p.Launches, p.Recorded, 100*ratio(p.Recorded, p.Launches), f.rep.Graph.Recapture)
	}
}

// launchIdle is the idle time a step of generation that launching takes.
func (f *finder) launchIdle() float64 {
	for _, p := range f.rep.Idle.Phases {
		if p.Phase != event.Phases[event.Generation] {
			continue
		}
		for _, c := range p.Causes {
			if c.Cause == "launch" && c.UsPerStep != nil {
				return *c.UsPerStep
			}
		}
	}
	return 0
}

// expand finds kernels that belong into a graph and run eagerly in generation
// steps.
func (f *finder) expand() {
	var n int64
	var names []string
	path, source := "", ""
	for _, e := range f.rep.Graph.Eager {
		if !e.Capturable {
			continue
		}
		n += e.Generation
		if len(names) < 3 {
			names = append(names, fmt.Sprintf("%s (%s)", e.Name, e.Class))
		}
		if path == "" {
			path, source = e.Path, e.Source
		}
	}
	var steps int64
	for _, p := range f.rep.Idle.Phases {
		if p.Phase == event.Phases[event.Generation] {
			steps = p.Steps
		}
	}
	if steps == 0 || n < steps {
		return
	}
	where := ""
	if path != "" {
		where = ", launched in " + path
	}
	why := "what they run among is replayed"
	if f.rep.Graph.Launches == 0 {
		why = "no graph is replayed at all"
	}
	f.add(GraphExpand, f.launchIdle(), source, "%.1f kernels a generation step that could be captured run eagerly (%s): %s%s",
		float64(n)/float64(steps), why, strings.Join(names, ", "), where)
}

// stretch is eager kernels between two replays that were launched in one range.
type stretch struct {
	path  int32
	names string
}

// split finds operations between replays that launch kernels which could be captured
// together with some that cannot.
func (f *finder) split(views []*view) {
	counts := map[stretch]int{}
	steps := 0
	for _, kept := range []func(*segment) *keeper{
		func(s *segment) *keeper { return &s.steady }, func(s *segment) *keeper { return &s.context },
	} {
		for _, kernels := range f.c.keptSteps(views, kept) {
			steps++
			f.stretches(kernels, func(s stretch) { counts[s]++ })
		}
		if len(counts) > 0 {
			break
		}
	}
	best, most := stretch{}, 0
	for s, n := range counts {
		if n > most || n == most && s.names < best.names {
			best, most = s, n
		}
	}
	if most == 0 || most < steps { // less than once a step
		return
	}
	f.add(GraphSplit, 0, f.c.source(best.path), "%.1f times a step one operation between two graph replays launches kernels that cannot be captured and kernels that can: %s%s",
		float64(most)/float64(steps), best.names, f.in(best.path))
}

// in says where a path is.
func (f *finder) in(path int32) string {
	if path < 0 {
		return ""
	}
	return ", in " + f.c.pathText(path)
}

// stretches calls found with the stretches of eager kernels between replays that mix
// kernels of both sorts.
func (f *finder) stretches(kernels []kernelAt, found func(stretch)) {
	seen := false // a replay
	for i := 0; i < len(kernels); i++ {
		if kernels[i].replayed {
			seen = true
			continue
		}
		from := i
		for i < len(kernels) && !kernels[i].replayed {
			i++
		}
		if !seen || i == len(kernels) {
			continue
		}
		part := kernels[from:i]
		can, cannot := 0, 0
		var names []string
		for k := range part {
			if part[k].path != part[0].path {
				can, cannot = 0, 0 // more than one operation
				break
			}
			if name := f.c.kernels.text(part[k].name); capturable(part[k].class) {
				can++
				names = append(names, name)
			} else {
				cannot++
				names = append(names, name)
			}
		}
		if can > 0 && cannot > 0 {
			found(stretch{part[0].path, strings.Join(names[:min(4, len(names))], ", ")})
		}
	}
}

// chains finds chains of view operations before launches.
func (f *finder) chains() {
	sums := map[int32]*chains{}
	for _, g := range f.all {
		for path, c := range g.chains {
			if sums[path] == nil {
				sums[path] = &chains{}
			}
			sums[path].count += c.count
			sums[path].ops += c.ops
			sums[path].ns += c.ns
		}
	}
	best := int32(-2)
	var total chains
	for path, c := range sums {
		total.count, total.ops, total.ns = total.count+c.count, total.ops+c.ops, total.ns+c.ns
		if best == -2 || c.ns > sums[best].ns || c.ns == sums[best].ns && path < best {
			best = path
		}
	}
	steps := f.rep.Idle.Steps
	us := us(total.ns) / float64(max(1, steps))
	if total.count == 0 || f.stepUs > 0 && us < minChainShare*f.stepUs {
		return
	}
	f.add(CustomOp, us, f.c.source(best), "%.1f chains of tensor views before a launch %s, %.1f operations and %s each%s",
		float64(total.count)/float64(max(1, steps)), f.each(), float64(total.ops)/float64(total.count),
		length(us*float64(max(1, steps))/float64(total.count)), f.in(best))
}

// smallKernels finds rows of small kernels in the layer, which one kernel could
// replace; the gap before the first of them would stay.
func (f *finder) smallKernels() {
	p := f.rep.Pattern
	if p == nil {
		return
	}
	small := func(k *PatternKernel) bool {
		return k.Us < tinyKernel && (k.Class == "elementwise" || k.Class == "copy" || k.Class == "reduce")
	}
	whole := f.stepUs
	if f.steps == 0 {
		whole = f.rep.Idle.WindowUs
	}
	for i := 0; i < len(p.Kernels); i++ {
		from, saved := i, 0.0
		for ; i < len(p.Kernels) && small(&p.Kernels[i]); i++ {
			// A long gap is not what small kernels cost.
			if g := p.Kernels[i].GapUs; i > from && g < maxSmallGap {
				saved += g
			}
		}
		all := saved * float64(p.Repetitions)
		if i-from < minChain || all < minChainShare*whole {
			continue
		}
		f.add(CustomOp, all, "", "kernels %d-%d of the layer are %d small ones in a row (%s first): %s of gaps × %d repetitions = %s %s",
			from, i-1, i-from, p.Kernels[from].Name, length(saved), p.Repetitions, length(all), f.each())
	}
}

// calls finds calls that wait or make objects inside steps.
func (f *finder) calls() {
	sums := map[site]*calls{}
	for _, g := range f.groups {
		for s, k := range g.calls {
			if sums[s] == nil {
				sums[s] = &calls{class: k.class}
			}
			sums[s].count += k.count
			sums[s].ns += k.ns
		}
	}
	sites := make([]site, 0, len(sums))
	for s := range sums {
		sites = append(sites, s)
	}
	slices.SortFunc(sites, func(a, b site) int {
		return cmp.Or(cmp.Compare(sums[b].ns, sums[a].ns), cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	})
	found := map[string]int{}
	for _, s := range sites {
		pattern := f.patternOf(s, sums[s])
		if f.steps == 0 && us(sums[s].ns) < minCallShare*f.rep.Idle.WindowUs {
			continue
		}
		if found[pattern]++; pattern == "" || found[pattern] > 3 {
			continue
		}
		k := sums[s]
		n := f.perStep(float64(k.count))
		what := map[string]string{
			Hoist: "once a layer", Sync: "waits for the GPU", Alloc: "makes or frees objects",
		}[pattern]
		f.add(pattern, f.perStep(us(k.ns)), f.c.source(s.path), "%s (%s) %.3g times %s, %s each%s",
			f.c.kernels.text(s.name), what, n, f.each(), length(us(k.ns)/float64(k.count)), f.in(s.path))
	}
}

// patternOf tells what calls of one site are a case of, "" for nothing.
func (f *finder) patternOf(s site, k *calls) string {
	flags := f.c.kernels.of(s.name)
	if flags&objects != 0 {
		return Alloc
	}
	if k.class != event.APISync && flags&blocking == 0 || f.steps == 0 {
		return ""
	}
	n := f.perStep(float64(k.count))
	if p := f.rep.Pattern; p != nil && p.Layers != nil && *p.Layers >= minLayers && n >= perLayer*float64(*p.Layers) {
		return Hoist
	}
	// One wait a step is how tokens come back; more, or one inside the forward
	// step, is not.
	if n >= 1.5 || n >= 0.5 && f.inForward(s.path) {
		return Sync
	}
	return ""
}

// inForward tells whether a path is inside a forward-step marker.
func (f *finder) inForward(path int32) bool {
	return slices.ContainsFunc(f.c.sites.RangesOf(path), func(n int32) bool { return f.c.ranges.of(n)&marksStep != 0 })
}

// runtime finds idle time that the language's runtime takes.
func (f *finder) runtime() {
	for _, c := range f.rep.Idle.Causes {
		if c.Share < minCauseShare {
			continue
		}
		usStep := c.Us / float64(max(1, f.rep.Idle.Steps))
		switch c.Cause {
		case "gc":
			f.add(GCManage, usStep, "", "the GPU waits %s for garbage collections, %.1f %% of idle time: freeze what is long-lived, collect between steps", length(c.Us), 100*c.Share)
		case "gil":
			f.add(GIL, usStep, "", "the GPU waits %s while the launching thread waits for the interpreter lock, %.1f %% of idle time", length(c.Us), 100*c.Share)
		}
	}
}
