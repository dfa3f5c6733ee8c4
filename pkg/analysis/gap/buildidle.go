package gap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// idleReport sums up idle time and its causes in the window. WindowUs is the length of each
// rank's window times its GPUs, so that TotalUs / WindowUs is the idle ratio. The causes add
// up to TotalUs, in ns. Without steps, InterStepUs is null, not 0.
func (c *Watch) idleReport(views []*view) Idle {
	rep := Idle{Window: WindowBenchmark, Phases: []PhaseIdle{}}
	if c.wholeTrace {
		rep.Window = WindowTrace
	}
	var whole keySums
	var window, inter int64
	for _, v := range views {
		gpus := int64(len(v.gpus))
		rep.GPUs += len(v.gpus)
		if o := v.walk.Remainder(); c.wholeTrace {
			rep.Steps += int64(v.walk.Steps.Len())
		} else if rep.Steps += v.steps; o.Steps > 0 {
			if rep.Outside != nil {
				o = rep.Outside.Most(o)
			}
			rep.Outside = &o
		}
		for b := range v.eachBin() {
			window += b.ns * gpus
		}
		for _, t := range v.total {
			if whole.add(t.key, t.ns); t.inter {
				inter += t.ns
			}
		}
	}
	if rep.Steps > 0 {
		rep.InterStepUs = new(us(inter))
	}
	rep.TotalUs, rep.WindowUs = us(whole.total()), us(window)
	rep.Causes = c.causes(whole, rep.Steps)
	c.beside(&rep, views)
	if c.phased {
		rep.Phases = c.phaseReport(views)
	}
	if c.opt.PerStep {
		rep.PerStep = c.stepReport(views)
	}
	return rep
}

// phaseReport sums up the idle time in the steps that count, by phase. It always covers the
// periods of steps, so in a report of the whole trace the phases do not add up to its total.
// Phases without steps are left out.
func (c *Watch) phaseReport(views []*view) []PhaseIdle {
	var sums [noPhase]keySums
	var window, steps [noPhase]int64
	for _, v := range views {
		gpus := int64(len(v.gpus))
		for _, t := range v.totals(v.stepsEnd(), v.ofStep) {
			sums[t.phase].add(t.key, t.ns)
		}
		for _, b := range v.bins {
			if v.ofStep(&b.scope) && b.phase < noPhase {
				window[b.phase] += b.ns * gpus
			}
		}
		for _, s := range v.counted() {
			steps[s.Phase]++
		}
	}
	list := []PhaseIdle{}
	for p, name := range event.Phases {
		if steps[p] > 0 {
			list = append(list, PhaseIdle{
				Phase: name, TotalUs: us(sums[p].total()), WindowUs: us(window[p]), Steps: steps[p],
				Causes: c.causes(sums[p], steps[p]),
			})
		}
	}
	return list
}

// stepReport lists the idle causes of each step that counts.
func (c *Watch) stepReport(views []*view) []StepIdle {
	list := []StepIdle{}
	for _, v := range views {
		sums := make([]keySums, v.steps)
		v.eachStepSample(func(k int32, s *idle.Sample) { sums[int(k)-v.from].add(s.Key, s.Ns) })
		for k, s := range v.counted() {
			sum := sums[k-v.from]
			list = append(list, StepIdle{
				Rank: v.id, Step: k, Phase: event.Phases[s.Phase], TotalUs: us(sum.total()),
				WindowUs: us(s.Period() * int64(len(v.gpus))), Causes: c.causes(sum, 1),
			})
		}
	}
	return list
}

// keySums is idle time by key, in ns.
type keySums map[idle.Key]int64

// add adds time to a key; the map may be nil.
func (s *keySums) add(k idle.Key, ns int64) {
	if *s == nil {
		*s = make(keySums)
	}
	(*s)[k] += ns
}

// total returns the sum over all keys, in ns.
func (s keySums) total() (ns int64) {
	for _, v := range s {
		ns += v
	}
	return ns
}

// causes lists causes with their sites, the largest first and equal ones by name. Ranges with
// the same name are one cause, and each key is a site of its own. UsPerStep is per steps, and
// null if that is 0.
func (c *texts) causes(sums keySums, steps int64) []Cause {
	total := sums.total()
	byName := map[string]*Cause{}
	whole, whys := keySums{}, map[[2]string]int64{} // summed over whys; by cause and why
	for k, ns := range sums {
		key, why := c.sites.Undivided(k)
		if whole[key] += ns; why != idle.None {
			whys[[2]string{c.sites.CauseName(key), c.sites.WhyName(why)}] += ns
		}
	}
	for k, ns := range whole {
		if ns == 0 {
			continue
		}
		name := c.sites.CauseName(k)
		cause := byName[name]
		if cause == nil {
			cause = &Cause{Part: Part{Cause: name}, Why: []Why{}, Sites: []Site{}}
			byName[name] = cause
		}
		cause.Ns += ns
		path := c.sites.Path(k)
		site := Site{Site: c.sites.Name(k), Path: c.sites.PathText(path), Ns: ns, Us: us(ns), Source: c.Source(path)}
		if c.sites.Cause(k) == idle.Host {
			site.Site = c.sites.RangeText(path)
		}
		if site.Site != "" || site.Path != "" {
			cause.Sites = append(cause.Sites, site)
		}
	}
	for w, ns := range whys {
		if cause := byName[w[0]]; cause != nil && ns != 0 {
			cause.Why = append(cause.Why, Why{Why: w[1], Ns: ns, Us: us(ns)})
		}
	}
	list := []Cause{}
	for _, cause := range byName {
		slices.SortFunc(cause.Why, func(a, b Why) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), strings.Compare(a.Why, b.Why)) })
		if cause.Cause == idle.GIL.String() {
			cause.Holders = c.holders(sums)
		}
		cause.Part = partOf(cause.Cause, cause.Ns, total, steps)
		slices.SortFunc(cause.Sites, Site.before)
		if strings.HasPrefix(cause.Cause, hostPrefix) && len(cause.Sites) > 0 { // sites may be missing: the name of a range may be empty
			cause.Path, cause.Source = cause.Sites[0].Path, cause.Sites[0].Source
		}
		list = append(list, *cause)
	}
	slices.SortFunc(list, func(a, b Cause) int { return a.compare(b.Part) })
	return list
}

// holders lists who held the interpreter lock, the largest first. A holder is a thread and
// what it was doing; rank and thread are null if unknown. The times add up to that of the
// cause gil.
func (c *texts) holders(sums keySums) []Holder {
	type holding struct {
		who
		doing, path, why string
	}
	all := map[holding]*Holder{}
	for k, ns := range sums {
		if c.sites.Cause(k) != idle.GIL {
			continue
		}
		w, waits := holding{who: who{thread: idle.NoTime}}, false
		if h, ok := c.sites.Holder(k); ok && h.Thread != idle.NoTime {
			_, why := c.sites.Undivided(h.Doing)
			w = holding{who{h.Rank, h.Thread}, c.sites.CauseName(h.Doing), c.sites.PathText(c.sites.Path(h.Doing)), c.sites.WhyName(why)}
			if name := c.sites.Name(h.Doing); name != "" {
				w.doing += " " + name
			}
			waits = c.sites.Cause(h.Doing) == idle.Sync || why.OffCPU() && !why.Lost() && why != idle.Off
		}
		if all[w] == nil {
			all[w] = &Holder{Doing: w.doing, Path: w.path, Why: w.why, of: w.who}
		}
		if all[w].Ns += ns; waits {
			all[w].waits += ns
		}
	}
	var list []Holder
	for w, h := range all {
		if h.Us = us(h.Ns); w.thread != idle.NoTime {
			h.Rank, h.Thread = &w.rank, &w.thread
		}
		if h.Ns != 0 {
			list = append(list, *h)
		}
	}
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), strings.Compare(a.Doing+a.Path+a.Why, b.Doing+b.Path+b.Why), a.of.compare(b.of))
	})
	return list
}

// hostPrefix is the prefix of causes that are ranges.
const hostPrefix = "host:"

// before compares sites for sorting, the largest first.
func (s Site) before(t Site) int {
	return cmp.Or(cmp.Compare(t.Ns, s.Ns), strings.Compare(s.Site, t.Site), strings.Compare(s.Path, t.Path))
}

// Source returns the source function of the innermost range of a path that has one, "" if
// none has.
func (c *texts) Source(path int32) string {
	for ; path >= 0; path = c.sites.Parent(path) {
		if s := c.source(c.sites.RangeText(path)); s != "" {
			return s
		}
	}
	return ""
}
