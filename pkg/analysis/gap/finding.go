package gap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The patterns that treat a finding.
const (
	Sync          = "SYNC"           // remove or defer a wait for the GPU
	Hoist         = "HOIST"          // do once a step what is done once a layer
	Alloc         = "ALLOC"          // make objects ahead of time
	JIT           = "JIT"            // compile and load code before requests come
	GraphExpand   = "GRAPH_EXPAND"   // capture kernels that run eagerly
	GraphFallback = "GRAPH_FALLBACK" // capture graphs for the steps that find none
	GraphSplit    = "GRAPH_SPLIT"    // split an operation that blocks the capture
	CustomOp      = "CUSTOM_OP"      // one operation in place of a chain of small ones
	Coordinator   = "COORDINATOR"    // take work off the rank that the others wait for
	SlowGPU       = "SLOW_GPU"       // see why a GPU, or its share of the work, is slower
	GCManage      = "GC_MGMT"        // keep the garbage collector out of steps
	GIL           = "GIL_CONTENTION"
	Serialize     = "SERIALIZE" // let threads wait less for one another
	Wait          = "WAIT"      // wait less for what other threads and processes do
	Sleep         = "SLEEP"     // do not sleep
	IO            = "IO"        // leave files and pipes to another thread
	Affinity      = "AFFINITY"  // give threads CPUs of their own
	LowLoad       = "LOW_LOAD"  // there is nothing to do: no host overhead
	Recapture     = "RECAPTURE" // the recording does not answer
)

// What a finding is worth at least: a share of the idle time, and of the window.
const (
	minIdleShare   = 0.02
	minWindowShare = 0.003
)

// finder collects findings.
type finder struct {
	c         *computer
	rep       *Report
	views     []*view
	groups    []*group
	steps     float64 // rank-steps that count, 1 where there are none
	calls     map[place]tally
	tokens    map[place]tally // waits that are the first after sampling, and the idle time in them
	tokenIdle map[place]tally
	// What lies in the calls of a place is claimed by a finding about it, but for what they
	// wait for locks, locked, in ns, which is one of its own.
	claimed map[place]bool
	locked  map[place]int64
	// What is in stacks of calls that wait for the interpreter lock, ns, and how much of it is
	// met and in no other finding.
	stacked   map[stratum]int64
	stackedNs int64
}

// place is a call and the ranges around it, as text.
type place struct{ call, path string }

// find fills in the findings: what costs idle time and has a known treatment, by the
// idle time that it is worth.
// Findings come from the idle time of sites, never from the time of calls: what runs while a
// GPU is busy costs nothing. One idle instant may be in two findings, as a wait and as the
// straggler's, so that worths do not add up. RECAPTURE goes first: it doubts all others.
func (c *computer) find(rep *Report, views []*view, strata map[stratum]*found) {
	f := &finder{c: c, rep: rep, views: views, steps: float64(max(1, rep.Idle.Steps)), claimed: map[place]bool{}, stacked: inLockStacks(strata)}
	for _, v := range views {
		for _, s := range v.segments {
			for _, g := range s.groups {
				if g != nil {
					f.groups = append(f.groups, g)
				}
			}
		}
	}
	f.countCalls()
	f.locked = f.lockedNs()
	f.straggler()
	f.partial()
	f.graphs()
	f.split()
	f.waits()
	f.objects()
	f.compiling()
	f.chains()
	f.smallKernels()
	f.runtime()
	f.hostFindings()
	f.sampled()
	slices.SortStableFunc(rep.Findings, func(a, b Finding) int {
		return cmp.Or(-compareBool(a.Pattern == Recapture, b.Pattern == Recapture), cmp.Compare(b.UsStep, a.UsStep))
	})
	rep.First = f.target(strata)
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// countCalls sums up the calls of each place. Where copies are queued and others block at one place,
// as outside of any range, it is those that block which have most of the time, and only these count.
func (f *finder) countCalls() {
	var blocks map[place]tally
	for _, g := range f.groups {
		for s, n := range g.calls {
			tallied(&f.calls, f.placeOf(s), n)
		}
		for s, n := range g.tokens {
			tallied(&f.tokens, f.placeOf(s), n)
		}
		for s, n := range g.tokenIdle {
			tallied(&f.tokenIdle, f.placeOf(s), n)
		}
		for s, n := range g.blocks {
			tallied(&blocks, f.placeOf(s), n)
		}
	}
	for p, n := range blocks {
		if 2*float64(n.count) >= f.steps && 2*n.ns >= f.calls[p].ns {
			f.calls[p] = n
		}
	}
}

// placeOf returns the place of a call as text.
func (f *finder) placeOf(s site) place {
	return place{f.c.kernels.text(s.name), f.c.sites.PathText(s.path)}
}

// worth tells whether an amount of idle time, in us over the window, is worth a finding.
func (f *finder) worth(us float64) bool {
	return us > 0 && us >= minIdleShare*f.rep.Idle.TotalUs && us >= minWindowShare*f.rep.Idle.WindowUs
}

// add adds a finding that is worth us of idle time over the window.
// at says where; the other fields are filled in here. A share is of the idle time, and null
// where the worth is of the others' waiting, which is none of it.
func (f *finder) add(pattern string, us float64, at Finding, format string, args ...any) {
	at.Pattern, at.Evidence, at.UsStep = pattern, fmt.Sprintf(format, args...), us/f.steps
	if total := f.rep.Idle.TotalUs; total > 0 && pattern != Coordinator && pattern != SlowGPU {
		at.Share = new(us / total)
	}
	f.rep.Findings = append(f.rep.Findings, at)
}

// stepUs is the length of a step on a GPU.
func (f *finder) stepUs() float64 { return f.rep.Idle.WindowUs / f.steps }

// each says what a figure is for.
func (f *finder) each() string {
	if f.rep.Idle.Steps == 0 {
		return "in the trace"
	}
	return "per step"
}

// often says how many times per step something happens.
func (f *finder) often(n float64) string {
	if fmt.Sprintf("%.3g", n) == "1" {
		return "once " + f.each()
	}
	return report.Digits(n) + " times " + f.each()
}

// per is an amount of time of the window per step, as text.
func (f *finder) per(us float64) string { return report.Micros(us/f.steps) + " " + f.each() }

// in says where a path is.
func in(path string) string {
	if path == "" {
		return ""
	}
	return ", in " + path
}

// sites calls fn with the sites of the causes, over all phases.
func (f *finder) sites(cause string, fn func(*Site)) { eachSite(f.rep.Idle.Causes, cause, fn) }

// launchesGraphs tells whether a site is a call that launches graphs.
func (s *Site) launchesGraphs() bool { return cudaname.ClassAPI(s.Site) == cudaname.GraphLaunch }

// eachSite calls fn with the sites of a cause, which fn may not keep beyond the report.
func eachSite(causes []Cause, cause string, fn func(*Site)) {
	for i := range causes {
		if causes[i].Cause != cause {
			continue
		}
		for k := range causes[i].Sites {
			fn(&causes[i].Sites[k])
		}
	}
}

// straggler reports a rank that the others wait for: one whose own kernels take longer by
// its lateness, any other by what its own GPU idles more than the others', and by no more
// than it is late and than its host spends more on the operations that are named.
func (f *finder) straggler() {
	s := f.rep.Straggler
	if s == nil || s.Rank == nil || s.LateUs < minLateShare*f.stepUs() {
		return
	}
	when := fmt.Sprintf("rank %d is late at collectives by %s per step, the last in %.0f %% of the steps, with %.0f %% of all lateness",
		*s.Rank, report.Micros(s.LateUs), 100*s.ShareOfSteps, 100*s.ShareOfLateness)
	if s.Side == "gpu" {
		var parts []string
		for _, w := range s.Why {
			if w.What == "kernels" && len(parts) < 3 {
				parts = append(parts, fmt.Sprintf("%s %s against %s", report.Short(w.Name), report.Micros(w.UsStep), report.Micros(w.OthersUs)))
			}
		}
		f.add(SlowGPU, s.LateUs*f.steps, Finding{}, "%s: its own kernels take longer (%s per step): compare its clocks, power and temperature, and its share of the work; its host is not the cause",
			when, strings.Join(parts, ", "))
		return
	}
	// What the others wait is no idle time: the worth is what its own GPU idles more, in
	// whatever the host does then. (Where it runs ahead, that is later than its cause.)
	what, worth, own := "", 0.0, 0.0
	at := Finding{}
	for _, w := range s.Why {
		if w.What == "idle" && (s.Side == "host" || w.Name == idle.Untraced.String() || slices.Contains(s.Causes, strings.TrimPrefix(w.Name, "host:"))) {
			worth += w.ExcessUs
		}
	}
	for _, w := range s.Why {
		if w.What != "operation" || !slices.Contains(s.Causes, w.Name) {
			continue
		}
		if own += w.ExcessUs; what == "" {
			what = fmt.Sprintf("it spends %s per step in %s, the others %s", report.Micros(w.UsStep), w.Name, report.Micros(w.OthersUs))
			at = Finding{Site: w.Name, Source: w.Source}
		}
	}
	if own > 0 { // what waits for it, as launches that come late, is no more than it
		worth = min(worth, own)
	}
	if len(s.Causes) == 0 && worth >= s.LateUs/2 && s.Lasts() {
		what = fmt.Sprintf("its own GPU idles %s per step more than the others' while its host does what no range names: record ranges to see what", report.Micros(worth))
	}
	if what == "" {
		return
	}
	if !f.worth(worth * f.steps) { // there is nothing to take off it
		return
	}
	f.add(Coordinator, min(worth, s.LateUs)*f.steps, at, "%s: %s", when, what)
}

// minLateShare is the share of a step's length that a straggler is late by to be worth a
// finding.
const minLateShare = 0.005

// heldShare is the share of the waits for the interpreter lock from which on it matters that
// whoever holds it waits, too.
const heldShare = 0.2

// heldBy says who holds the interpreter lock for most of the time, us, in which it is waited for
// and not free, and whether holders wait with it, or have no CPU to go on; else do goes after it.
func (c *Cause) heldBy(held float64, do string) string {
	threads, whole := map[who]int64{}, map[who]Holder{}
	waits, lost := int64(0), int64(0)
	for _, h := range c.Holders {
		waits, lost = waits+h.waits, lost+h.lost
		if h.Thread == nil {
			continue
		}
		of := who{*h.Rank, *h.Thread}
		if threads[of] += h.Ns; whole[of].Thread == nil { // the longest it does goes first
			whole[of] = h
		}
	}
	if len(threads) == 0 {
		return do
	}
	most := slices.SortedFunc(maps.Keys(threads), func(a, b who) int { return cmp.Or(cmp.Compare(threads[b], threads[a]), a.compare(b)) })[0]
	first := whole[most]
	where := ", in " + cmp.Or(innermost(first.Path), first.Doing)
	if first.Path == "" && first.Doing == idle.Untraced.String() {
		where = ", in code with no range"
	}
	text := fmt.Sprintf("; thread %d (rank %d) holds it %.0f %% of that time%s", *first.Thread, *first.Rank, 100*us(threads[most])/held, where)
	if us(waits) >= heldShare*held {
		text += fmt.Sprintf("; for %.0f %% the holder is itself blocked: release the lock around that blocking call", 100*us(waits)/held)
	}
	if us(max(waits, lost)) < heldShare*held {
		text += do
	}
	if us(lost) >= heldShare*held {
		text += fmt.Sprintf("; for %.0f %% the holder is runnable but not scheduled: give each thread a CPU of its own", 100*us(lost)/held)
	}
	return text
}

// freeUs is the idle time in which launching threads wait for an interpreter lock that
// nobody holds: what they lack is a CPU.
func (f *finder) freeUs() float64 {
	ns := int64(0)
	for _, v := range f.views {
		v.eachTotal(func(_ *scope, t *idle.Total) {
			if v.idle.Free(t.Key) {
				ns += t.Ns
			}
		})
	}
	return us(ns)
}

// runtime finds idle time that the language's runtime takes.
func (f *finder) runtime() {
	for _, c := range f.rep.Idle.Causes {
		if !f.worth(c.Us) {
			continue
		}
		switch c.Cause {
		case event.Classes[event.GC]:
			if own := c.Us - f.lostUs(noPhase, idle.GC); f.worth(own) {
				f.add(GCManage, own, Finding{}, "the GPU waits %s for garbage collections, %.1f %% of idle time: freeze what is long-lived, collect between steps",
					f.per(own), 100*own/f.rep.Idle.TotalUs)
			}
		case event.Classes[event.GIL]:
			if held := c.Us - f.freeUs(); f.worth(held) {
				f.add(GIL, held, Finding{}, "the GPU waits %s while the launching thread waits for the interpreter lock, %.1f %% of idle time%s",
					f.per(held), 100*held/f.rep.Idle.TotalUs, c.heldBy(held, f.colon(c.Cause)))
			}
		}
	}
}
