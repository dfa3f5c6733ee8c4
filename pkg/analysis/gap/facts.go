package gap

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// gathering collects the facts of a run for package findings.
type gathering struct {
	c     *Watch
	rep   *Report
	views []*view
	list  []findings.Fact
	kinds map[*view][]step.Kind // of the steps that count, in order

	called  map[place]*called
	sources map[string]string
	limited map[int32]int // by rank: how often a CPU quota stopped it
	found   *evidence
	sampled []findings.Fact // facts from CPU samples that the catalogue recognises
}

// recording adds facts about ranks with missing replays and about CPU quotas. A quota counts
// if it stopped threads in a share of its periods of at least findings.Least. It is a fact of
// its own only if the recording does not tell when threads were on a CPU.
func (f *gathering) recording() (err error) {
	for _, v := range f.views {
		if f.limited[v.id], err = f.c.trace.Limited(v.id); err != nil {
			return err
		}
		r := f.c.header.Report(v.id)
		if r == nil || r.Throttled == nil || float64(r.Throttled.Stopped) < findings.Least*float64(r.Throttled.Periods) {
			continue
		}
		f.limited[v.id] = max(f.limited[v.id], int(r.Throttled.Stopped))
		if !f.c.header.Records(event.Run, v.id) {
			f.add(findings.Fact{Of: findings.Recording, Is: []string{"throttled"}, Numbers: map[string]float64{
				"stopped_most": float64(r.Throttled.Stopped), "periods_most": float64(r.Throttled.Periods), "throttled_share": ratio(r.Throttled.Stopped, r.Throttled.Periods)}})
		}
	}
	for _, p := range f.rep.Graph.Partial {
		f.add(findings.Fact{Of: findings.Recording, Is: []string{"partial"}, Names: map[string]string{"command": f.rep.Graph.Recapture}, Numbers: map[string]float64{
			"rank_most": float64(p.Rank), "launched": float64(p.GraphLaunches), "recorded": float64(p.Recorded), "recorded_share": ratio(p.Recorded, p.GraphLaunches),
		}})
	}
	return nil
}

// place is a call and the ranges around it, as text.
type place struct{ call, path string }

// called is what is known of the calls at a place. after counts those that are in no range by the
// range that they follow. idle is the idle time in them, in ns.
type called struct {
	tally
	idle  int64
	after map[string]int64
}

// at returns the calls at a place.
func (f *gathering) at(p place) *called {
	if f.called[p] == nil {
		f.called[p] = &called{after: map[string]int64{}}
	}
	return f.called[p]
}

// gather returns the facts of a run.
func (c *Watch) gather(rep *Report, views []*view, found *evidence) ([]findings.Fact, error) {
	f := &gathering{
		c: c, rep: rep, views: views, found: found, kinds: map[*view][]step.Kind{},
		called: map[place]*called{}, sources: map[string]string{}, limited: map[int32]int{},
	}
	for _, v := range views {
		f.kinds[v] = v.walk.Kinds(c.method, v.from, v.to)
	}
	if err := f.recording(); err != nil {
		return nil, err
	}
	f.tally()
	f.samples()
	f.idle(f.pauses())
	f.calls()
	f.ahead()
	f.steps()
	f.kernels()
	f.straggler()
	f.list = append(f.list, f.sampled...)
	return append(f.list, c.threads.busy()...), nil
}

// add adds a fact.
func (f *gathering) add(one findings.Fact) {
	if one.Source == "" {
		one.Source = f.sources[one.Path]
	}
	f.list = append(f.list, one)
}

// spot identifies idle time for which everything that findings ask about is the same.
type spot struct {
	cause      idle.Cause
	call, path string
	why        string // as package idle names it
	is         string // more of the catalogue's words, separated by spaces
	rank       int32  // -1 for all
}

// idle adds facts about idle time: what launching threads were in, and why they were stalled.
// Causes in paused, which pauses explain, are left out.
func (f *gathering) idle(paused map[string]bool) {
	times := map[spot]int64{}
	followers := f.c.followers(f.views)
	for _, v := range f.views {
		total := map[idle.Key]int64{}
		for _, t := range v.total {
			total[t.key] += t.ns
		}
		for _, k := range slices.Sorted(maps.Keys(total)) {
			key, why := f.c.sites.Undivided(k)
			path := f.c.sites.Path(key)
			s := spot{cause: f.c.sites.Cause(key), call: f.c.sites.Name(key), path: f.c.sites.PathText(path), rank: -1}
			if s.cause == idle.Graph || s.cause == idle.Queued { // the name is that of the kernel that ended the gap
				s.call = ""
			}
			f.sources[s.path] = f.c.Source(path)
			if s.cause.InCall() {
				f.at(place{s.call, s.path}).idle += total[k]
			}
			if paused[causeOf(&s)] {
				continue
			}
			if why != idle.None {
				s.why = f.c.sites.WhyName(why)
			}
			s.is = f.words(v, k, &s, why, followers)
			times[s] += total[k]
		}
	}
	order := slices.SortedFunc(maps.Keys(times), func(a, b spot) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	for _, s := range order {
		if times[s] > 0 {
			if f.spot(&s, times[s]); len(followers) > 0 {
				f.list[len(f.list)-1].Names["fetcher"] = "the rank"
			}
		}
	}
}

// words returns the catalogue's words for idle time beyond its cause and why. It also sets
// s.rank if the rank waits for the one that fetches requests.
func (f *gathering) words(v *view, k idle.Key, s *spot, why idle.Why, followers map[int32]bool) string {
	var is []string
	if s.cause == idle.Sync || s.cause == idle.Memop {
		is = append(is, "wait")
	}
	if why.Lost() {
		is = append(is, "lost")
		if f.limited[v.id] > 0 {
			is = append(is, "limited")
		}
	}
	if s.cause == idle.Launch && cudaname.ClassAPI(s.call) == event.GraphLaunch {
		is = append(is, "graph_launch")
	}
	if s.cause == idle.GIL && v.idle.Free(k) {
		is = append(is, "free")
	}
	if h, ok := f.c.sites.Holder(k); ok && h.InStack() {
		is = append(is, "stack:gil")
	}
	switch {
	case slices.Contains(waits, s.why) && marker.FetchesRequests(s.path):
		is = append(is, "requests")
	case followers[v.id] && slices.Contains(follows, s.why):
		is = append(is, "requests")
		s.rank = v.id
	}
	return strings.Join(is, " ")
}

// waits are the whys of a thread that waits, or may wait, for something from elsewhere.
// follows are those for which a rank may wait for another one.
var (
	waits   = []string{"blocked:io", "blocked:wait", "blocked:join", "blocked:sleep", "off", "in:io", "in:wait", "in:join", "in:sleep"}
	follows = []string{"blocked:io", "blocked:wait", "in:io", "in:wait"}
)

// spot adds the fact about ns of idle time.
func (f *gathering) spot(s *spot, ns int64) {
	one := findings.Fact{
		Of: findings.Idle, Is: append(strings.Fields(s.is), s.cause.String(), findings.IsWhy(s.why)), Call: s.call, Path: s.path,
		Numbers: map[string]float64{"idle_us": us(ns)}, Names: map[string]string{},
	}
	if s.rank >= 0 {
		one.Rank = &s.rank
	}
	if strings.HasPrefix(s.why, "in:") {
		one.Numbers["unseen_idle_us"] = us(ns)
	}
	if all := f.rep.Idle.Meanwhile; len(all) > 0 {
		one.Names["meanwhile"] = fmt.Sprintf("%s runs for %s of the time, against %s of the window", all[0].named(), report.Percent(all[0].Share), report.Percent(all[0].WindowShare))
	}
	if s.cause == idle.GIL {
		f.holding(&one)
	}
	if slices.Contains(one.Is, "limited") {
		for _, times := range f.limited {
			one.Numbers["periods_most"] = max(one.Numbers["periods_most"], float64(times))
		}
	}
	if slices.Contains(one.Is, "graph_launch") {
		g, t := &f.rep.Graph, f.at(place{one.Call, one.Path})
		if n := g.Recorded - g.Whole; n > 0 && g.Whole == 0 { // nodes per graph, and launch time per node
			each, nodes := us(t.ns)/float64(max(1, t.count)), float64(g.Replayed)/float64(n)
			one.Numbers["nodes_most"], one.Numbers["launch_us_most"], one.Numbers["node_us_most"] = math.Round(nodes), each, each/max(1, nodes)
		}
	}
	if slices.Contains(one.Is, "lost") || slices.Contains(one.Is, "free") {
		f.moved(&one)
		if c := f.rep.Idle.cause(idle.GIL.String()); c != nil { // the other waits for the interpreter lock, as a share of all of them
			one.Numbers["rest_share"] = 1 - ratio(ns, c.Ns)
		}
	}
	if cause := f.operation(s); cause != nil {
		one.Is = append(one.Is, "operation")
		f.working(&one, s, cause)
	}
	f.add(one)
}

// causeOf returns the cause of idle time, as the report names it.
func causeOf(s *spot) string {
	if s.cause == idle.Host {
		return hostPrefix + findings.Innermost(s.path)
	}
	return s.cause.String()
}

// operation returns the cause of idle time if it is an operation of a host thread, else nil.
// Waits and unknown time are no operations. Neither is a range whose nested ranges have more
// idle time than it has itself: it consists of many operations.
func (f *gathering) operation(s *spot) *Cause {
	name := causeOf(s)
	switch s.cause {
	case idle.Host:
		own, inside := int64(0), int64(0)
		for _, c := range f.rep.Idle.Causes {
			for _, at := range c.Sites {
				if at.Path == s.path {
					own += at.Ns
				} else if strings.HasPrefix(at.Path, s.path+" > ") {
					inside += at.Ns
				}
			}
		}
		if own < inside {
			return nil
		}
	case idle.Launch, idle.Memop, idle.Alloc, idle.API, idle.Untraced:
	default:
		return nil
	}
	if s.cause == idle.Untraced && s.why == "" {
		return nil
	}
	return f.rep.Idle.cause(name)
}

// working fills in what the launching thread does in an operation, and what to do about it.
func (f *gathering) working(one *findings.Fact, s *spot, c *Cause) {
	one.Names["doing"], one.Names["remedy"] = f.doing(c.Cause, one.Call)
	if s.cause == idle.Host || s.cause == idle.Untraced {
		one.Call = strings.TrimPrefix(c.Cause, hostPrefix)
	}
	if len(c.Why) > 0 && stat.MostOf(c.Why[0].Ns, c.Ns) {
		if phrase := findings.Phrase(c.Why[0].Why); phrase != "" {
			one.Names["why"], one.Numbers["why_share"] = phrase, ratio(c.Why[0].Ns, c.Ns)
		}
	}
	for _, w := range c.Why {
		for _, other := range f.sampled {
			if w.Ns > 0 && w.Why == s.why {
				one.Numbers["other_us"] += w.of(other.Is[0]) * one.Numbers["idle_us"] / us(w.Ns)
			}
		}
	}
	if line := f.found.lineIn(c.Cause); line != nil {
		one.Names["line"], one.Numbers["line_share"] = line.Line, line.Us/c.Us
	}
}

// doing returns what a launching thread does in a cause of idle time, and what to do about
// it. call is the API call of the cause, if it has one.
func (f *gathering) doing(cause, call string) (does, remedy string) {
	advised := cause
	switch name, ok := strings.CutPrefix(cause, hostPrefix); {
	case ok:
		if does = "is in " + name; strings.ContainsAny(name, " [") {
			does = "is in range '" + name + "'"
		}
		if f.c.isMarker(name) { // the step itself: its work has no range
			advised = idle.Untraced.String()
		}
	case doings[cause] != "":
		does = doings[cause]
	default:
		does = "is in " + call
		if cudaname.ClassAPI(call) == event.GraphLaunch {
			advised = "graph_launch"
		}
	}
	return does, cmp.Or(f.c.opt.Advice(advised), "find the lines that take the time, and move what the next launch does not need to after it")
}

// doings are what a launching thread does in causes that are no calls.
var doings = map[string]string{"untraced": "runs code with no NVTX range", "gc": "runs Python's garbage collector", "gil": "waits for Python's GIL"}

// who identifies a thread of a rank, or of a process without a GPU (noRank).
type who struct {
	rank   int32
	thread int64
}

// compare orders threads by rank, then by id.
func (w who) compare(o who) int {
	return cmp.Or(cmp.Compare(w.rank, o.rank), cmp.Compare(w.thread, o.thread))
}

// holding fills in which known thread held the interpreter lock for longest while launching
// threads waited for it.
func (f *gathering) holding(one *findings.Fact) {
	c := f.rep.Idle.cause(idle.GIL.String())
	waits := int64(0)
	for _, h := range c.Holders {
		waits += h.waits
	}
	one.Names["remedy"] = cmp.Or(f.c.opt.Advice(c.Cause), "move that thread's work to a process of its own")
	k := slices.IndexFunc(c.Holders, func(h Holder) bool { return h.Thread != nil })
	if k < 0 {
		return
	}
	h := c.Holders[k]
	one.Names["holder"], one.Names["doing"] = fmt.Sprintf("thread %d (rank %d)", *h.Thread, *h.Rank), cmp.Or(findings.Innermost(h.Path), h.Doing)
	switch {
	case h.Doing == idle.GC.String():
		one.Names["doing"] = "Python's garbage collector"
	case h.Path == "" && h.Doing == idle.Untraced.String():
		one.Names["doing"] = "code with no range"
	}
	held := int64(0)
	for _, o := range c.Holders {
		if o.Thread != nil && *o.Rank == *h.Rank && *o.Thread == *h.Thread {
			held += o.Ns
		}
	}
	one.Numbers["held_share"] = ratio(held, c.Ns)
	if stat.MostOf(waits, c.Ns) {
		one.Numbers["blocked_share"], one.Names["remedy"] = ratio(waits, c.Ns), "release the lock around that blocking call"
	}
}

// moved fills in how often per step launching threads changed their CPU.
func (f *gathering) moved(one *findings.Fact) {
	moves := 0.0
	for _, p := range f.rep.Idle.Placement {
		moves += float64(p.Migrations)
	}
	if steps := f.rep.Idle.Steps; steps > 0 && moves > 0 {
		one.Numbers["moves_most"] = moves / float64(steps)
	}
}

// callKinds are the kinds of calls that are facts. The first that matches is used.
var callKinds = []struct {
	is, kind, remedy string
	of               func(name string) bool
}{
	{"waits", "waits for the GPU", "wait on an event, wait for less work, or wait later", func(n string) bool { return cudaname.ClassAPI(n) == event.APISync }},
	{"polls", "polls whether the GPU is done", "wait for the event, on a thread of its own", func(n string) bool { return cudaname.EffectOf(n)&cudaname.Polls != 0 }},
	{"copies", "is a copy that blocks", "use pinned memory and asynchronous copies, or avoid the copy (.item(), .tolist())", func(n string) bool { return cudaname.EffectOf(n)&cudaname.Blocks != 0 }},
	{"copies", mayBlock, "use pinned memory, or avoid the copy (.item(), .tolist())", func(n string) bool { return strings.Contains(n, "Memcpy") }},
	{"loads code", "", "", func(n string) bool { return cudaname.EffectOf(n)&cudaname.LoadsCode != 0 }},
	{"makes objects", "", "", func(n string) bool { return cudaname.EffectOf(n)&cudaname.MakesObjects != 0 }},
}

// mayBlock is the kind of asynchronous copies whose host memory may be pinned or pageable.
const mayBlock = "blocks if the host memory is pageable"

// ahead adds a fact if the host could run ahead of the GPU but does not: without its waits,
// the host's work in a step takes less time than the GPU's. The GPU's time includes its own
// waits for copies, other streams and preceding kernels (causes graph and queued).
func (f *gathering) ahead() {
	i := &f.rep.Idle
	if i.Steps == 0 || i.Window != WindowBenchmark || i.GPUs != len(f.views) {
		return
	}
	waits := int64(0)
	for p, t := range f.called {
		if class := cudaname.ClassAPI(p.call); stat.MostOf(t.parts, t.count) && (class == event.APISync || class == event.Memop) {
			waits += t.ns
		}
	}
	for _, v := range f.views {
		for b := range v.eachBin() {
			waits += b.messages
		}
	}
	own := i.WindowUs - i.TotalUs
	for _, name := range []idle.Cause{idle.Graph, idle.Queued} {
		if c := i.cause(name.String()); c != nil {
			own += c.Us
		}
	}
	step := i.WindowUs / float64(i.Steps)
	host, gpu := step-us(waits)/float64(i.Steps), own/float64(i.Steps)
	if host > 0 && host < gpu {
		f.add(findings.Fact{Of: findings.Steps, Is: []string{"serial"}, Numbers: map[string]float64{"host_us_most": host, "gpu_us_most": gpu, "step_us_most": step}})
	}
}

// tally adds up calls by place.
func (f *gathering) tally() {
	for _, v := range f.views {
		for b := range v.eachBin() {
			for at, n := range b.calls {
				p := place{f.c.kernels.Text(at.name), f.c.sites.PathText(at.path)}
				f.sources[p.path] = f.c.Source(at.path)
				t := f.at(p)
				t.tally.add(*n)
				t.after[f.c.ranges.Text(at.after)] += n.count
			}
		}
	}
}

// calls adds facts about calls in which launching threads wait for the GPU, poll, copy, create
// objects or load code.
func (f *gathering) calls() {
	layers := 0.0
	if p := f.rep.Pattern; p != nil && p.Layers != nil {
		layers = float64(*p.Layers)
	}
	for _, p := range slices.SortedFunc(maps.Keys(f.called), func(a, b place) int {
		return cmp.Or(cmp.Compare(f.called[b].ns, f.called[a].ns), strings.Compare(a.call+a.path, b.call+b.path))
	}) {
		t := f.called[p]
		for _, k := range callKinds {
			if !k.of(p.call) || t.count == 0 || !stat.MostOf(t.parts, t.count) || k.kind == mayBlock && t.pinned > 0 {
				continue
			}
			if k.kind == mayBlock && t.pinned < 0 {
				k.kind = "blocks because the host memory is pageable"
			}
			one := findings.Fact{Of: findings.Calls, Is: []string{k.is}, Call: p.call, Path: p.path, Names: map[string]string{"kind": k.kind, "remedy": k.remedy},
				Numbers: map[string]float64{"count": float64(t.count), "call_us": us(t.ns)}}
			if t.idle > 0 {
				one.Numbers["idle_us"] = us(t.idle)
			}
			for name, n := range t.after {
				if name != "" && stat.MostOf(n, t.count) {
					one.Names["after"] = name
				}
			}
			if f.rep.Idle.Steps == 0 && f.rep.Workload == "" {
				one.Names["doubt"] = "steps were not found: if it comes once a step, this is how tokens come back, and no fault"
			}
			if k.is == "loads code" {
				one.Numbers["loads"] = float64(t.count)
			}
			if layers > 1 {
				one.Numbers["per_layer_most"] = float64(t.count) / float64(max(1, f.rep.Idle.Steps)) / layers
			}
			f.add(one)
			break
		}
	}
}

// straggler adds facts about the rank that the others wait for: one about its GPU, or one for
// each host operation that explains its lateness.
func (f *gathering) straggler() {
	s := f.rep.Straggler
	if s == nil || s.Rank == nil {
		return
	}
	steps := float64(max(1, f.rep.Idle.Steps))
	numbers := func(more map[string]float64) map[string]float64 {
		more["rank_most"], more["late_us"], more["last_share"] = float64(*s.Rank), s.LateUs*steps, s.ShareOfSteps
		return more
	}
	one := findings.Fact{Of: findings.Rank, Rank: s.Rank, Names: map[string]string{}}
	if s.Side == "gpu" {
		own, others := 0.0, 0.0
		var parts []string
		for _, w := range s.Why {
			if w.What != "kernels" {
				continue
			}
			if own, others = own+w.UsStep, others+w.OthersUs; len(parts) < 3 {
				parts = append(parts, fmt.Sprintf("%s %s, the others' %s", report.Short(w.Name), report.Micros(w.UsStep), report.Micros(w.OthersUs)))
			}
		}
		one.Is, one.Names["names"] = []string{"gpu"}, strings.Join(parts, "; ")
		one.Numbers = numbers(map[string]float64{"factor": others / max(own, 1e-9)})
		f.add(one)
		return
	}
	for _, w := range s.Why {
		if w.What != "operation" || !slices.Contains(s.Causes, w.Name) {
			continue
		}
		op := one
		op.Is, op.Call, op.Source, op.Names = []string{"host"}, w.Name, w.Source, map[string]string{"call": w.Name}
		op.Numbers = numbers(map[string]float64{"factor": w.OthersUs / max(w.UsStep, 1e-9), "own_us": w.UsStep * steps, "others_us": w.OthersUs * steps})
		f.add(op)
	}
}

// samples collects facts from CPU samples of launching threads about function families that
// are not a cause of idle time already.
func (f *gathering) samples() {
	r := f.rep.Idle.Running
	if r == nil {
		return
	}
	for _, family := range r.Families {
		if f.rep.Idle.cause(family.Family) != nil {
			continue
		}
		low, total := family.Low*r.SampledUs, max(f.rep.Idle.TotalUs, 1e-9)
		one := findings.Fact{Of: findings.Samples, Is: []string{family.Family}, Names: map[string]string{}, Numbers: map[string]float64{
			"idle_us": family.Us, "low_us": low, "high_us": family.High * r.SampledUs, "low_share": low / total, "share": family.Share * r.SampledUs / max(r.Us, 1e-9),
		}}
		if findings.Recognised(&one) == nil {
			continue
		}
		for k := range f.rep.Idle.Causes {
			c := &f.rep.Idle.Causes[k]
			in := c.of(family.Family)
			if !stat.MostOf(in, family.Us) {
				continue
			}
			one.Names["within"], one.Numbers["within_share"] = strings.TrimPrefix(c.Cause, hostPrefix), min(1, in/family.Us)
			if line := f.found.lineIn(c.Cause); line != nil && stat.MostOf(line.Us, c.Us) {
				one.Names["line"], one.Numbers["line_share"] = line.Line, line.Us/c.Us
			}
		}
		f.sampled = append(f.sampled, one)
	}
}

// isMarker reports whether a range is a forward-step marker.
func (c *Watch) isMarker(name string) bool { return c.ranges.of(c.ranges.ID([]byte(name))).marker }
