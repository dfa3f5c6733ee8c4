package gap

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/names/native"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// What the operating system says of idle time, and what there is to do about it. These
// findings stand beside those of calls and ranges. No time in a call that is a finding of its own
// (one that waits or allocates) is in both: what it is off its CPU for is the call's, but where
// that is a lock. What launching threads have lost their CPU for is in no finding about graphs or
// code that is compiled; other time in ranges and in calls that launch may be in both.

// minDescheduled is the share of the idle time from which on it matters that launching
// threads had to give up their CPU.
const minDescheduled = 0.05

// hostTime is idle time for which one why holds.
type hostTime struct {
	ns      int64
	inCalls int64            // of it inside CUDA calls
	unseen  int64            // of it inside calls of the system, and nobody knows whether on a CPU
	names   map[string]int64 // by the names of calls of the system, where they are known
	paths   map[int32]int64  // by path of ranges
	fetches map[fetch]int64  // of it in ranges that fetch requests
	follows map[fetch]int64  // of it in which a rank may wait for the one that fetches them
}

// fetch is where a rank waits for requests.
type fetch struct {
	rank, path int32
	name       string // of the call of the system
}

// hostTimes adds up the idle time in the window by why the launching thread did not go on:
// in a call of the system by its class ("os:" and a class of osname, whatever the call is
// named), without its CPU under one name however it was lost, else the why itself. Time that
// another finding explains is left out, so that none is counted twice: that of a wait for an
// interpreter lock that is held, that of a garbage collection, and that of calls which are a finding of their own (claims),
// but for locks inside these.
func (f *finder) hostTimes() map[string]*hostTime {
	times, fetchPaths := map[string]*hostTime{}, map[int32]bool{}
	for _, v := range f.views {
		v.eachTotal(func(of *scope, t *idle.Total) {
			key, why := f.c.sites.Undivided(t.Key)
			if why == idle.None || f.c.sites.Cause(key) == idle.GIL && why.OffCPU() && !v.idle.Free(t.Key) {
				return // who waits for an interpreter lock that another holds is off its CPU for that reason
			}
			what, name := why.String(), f.c.sites.Calls.Text(why.Name())
			switch {
			case why.Name() >= 0:
				what = "os:" + native.ClassOf(name)
			case why.Lost():
				what = idle.Descheduled.String()
			}
			if f.claims(key) && !forLock(why) || f.c.sites.Cause(key) == idle.GC && !why.Lost() { // a collection's time is GC_MGMT's
				return
			}
			h := times[what]
			if h == nil {
				h = &hostTime{names: map[string]int64{}, paths: map[int32]int64{}, fetches: map[fetch]int64{}, follows: map[fetch]int64{}}
				times[what] = h
			}
			path, ns := f.c.sites.Path(key), t.Ns-f.forInterpreter(v, of, t, why)
			h.ns += ns
			if why.InCall() && !why.OnCPU() && !why.OffCPU() {
				h.unseen += ns
			}
			h.names[name] += ns
			h.paths[path] += ns
			fetches, ok := fetchPaths[path]
			if !ok {
				fetches = marker.FetchesRequests(f.c.PathText(path))
				fetchPaths[path] = fetches
			}
			h.addFetch(fetch{v.id, path, name}, ns, fetches && slices.Contains(waits, what), f.c.canFollow && (fetches || slices.Contains(follows, what)))
			if cause := f.c.sites.Cause(key); cause >= idle.Launch && cause <= idle.API {
				h.inCalls += ns
			}
		})
	}
	return times
}

// addFetch adds time in which a rank waits for requests, or may wait for the one that fetches them.
func (h *hostTime) addFetch(at fetch, ns int64, fetches, follows bool) {
	if fetches {
		h.fetches[at] += ns
	}
	if follows {
		h.follows[at] += ns
	}
}

// forLock tells whether a thread waits for a lock, wherever that is taken.
func forLock(why idle.Why) bool {
	return !why.Lost() && !why.OnCPU() && strings.HasSuffix(why.String(), ":"+native.Lock)
}

// claims tells whether what happens in a call is another finding's: a wait for the GPU blocks
// until that is done, in whatever calls of the system.
func (f *finder) claims(k idle.Key) bool {
	return f.c.sites.Cause(k) == idle.Sync || len(f.claimed) > 0 && f.claimed[place{f.c.sites.Name(k), f.c.PathText(f.c.sites.Path(k))}]
}

// lockedNs returns the idle time in CUDA calls that wait for a lock, by place.
func (f *finder) lockedNs() map[place]int64 {
	locked := map[place]int64{}
	for _, v := range f.views {
		v.eachTotal(func(_ *scope, t *idle.Total) {
			key, why := f.c.sites.Undivided(t.Key)
			if cause := f.c.sites.Cause(key); cause >= idle.Launch && cause <= idle.API && forLock(why) {
				locked[place{f.c.sites.Name(key), f.c.PathText(f.c.sites.Path(key))}] += t.Ns
			}
		})
	}
	return locked
}

// lostIn adds up the idle time of the steps of a phase, of all of it for noPhase, in which
// launching threads had lost their CPU, by place of some causes.
func (f *finder) lostIn(phase event.Phase, causes ...idle.Cause) map[place]int64 {
	lost := map[place]int64{}
	for _, v := range f.views {
		v.eachTotal(func(of *scope, t *idle.Total) {
			key, why := f.c.sites.Undivided(t.Key)
			if why.Lost() && (phase == noPhase || of.phase == phase) && slices.Contains(causes, f.c.sites.Cause(key)) {
				lost[place{f.c.sites.Name(key), f.c.PathText(f.c.sites.Path(key))}] += t.Ns
			}
		})
	}
	return lost
}

// lostUs adds that up over all places.
func (f *finder) lostUs(phase event.Phase, causes ...idle.Cause) float64 {
	all := int64(0)
	for _, ns := range f.lostIn(phase, causes...) {
		all += ns
	}
	return us(all)
}

// sum puts several whys together.
func sum(times map[string]*hostTime, whys ...string) *hostTime {
	all := &hostTime{names: map[string]int64{}, paths: map[int32]int64{}}
	for _, why := range whys {
		if h := times[why]; h != nil {
			all.ns, all.inCalls, all.unseen = all.ns+h.ns, all.inCalls+h.inCalls, all.unseen+h.unseen
			for k, ns := range h.names {
				all.names[k] += ns
			}
			for k, ns := range h.paths {
				all.paths[k] += ns
			}
		}
	}
	return all
}

// largest returns the key with most time, of equal ones the least.
func largest[K cmp.Ordered](times map[K]int64) (best K, ns int64) {
	for k, n := range times {
		if n > ns || n == ns && n > 0 && k < best {
			best, ns = k, n
		}
	}
	return best, ns
}

// hostFindings says what the operating system did with launching threads while GPUs were
// idle.
func (f *finder) hostFindings() {
	times := f.hostTimes()
	f.interpreter()
	f.lowLoad(times)
	for _, t := range idle.Treatments {
		h := sum(times, t.Whys...)
		if t.Pattern == Affinity && us(h.ns) < minDescheduled*f.rep.Idle.TotalUs && !f.misplaced() || t.Pattern == JIT && f.raise(JIT, h) {
			continue
		}
		f.addHost(t.Pattern, h, "launching threads "+t.What+f.detail(h, &t)+f.meanwhile(times, &t)+unseen(h)+": "+f.order(h, &t))
	}
	f.distrust(times)
}

// raise makes the finding with a pattern, if there is one, worth the idle time that is known
// exactly, where that is more.
func (f *finder) raise(pattern string, h *hostTime) bool {
	k := slices.IndexFunc(f.rep.Findings, func(g Finding) bool { return g.Pattern == pattern })
	if k < 0 {
		return false
	}
	if worth := us(h.ns); worth/f.steps > f.rep.Findings[k].UsStep {
		f.rep.Findings[k].UsStep, f.rep.Findings[k].Share = worth/f.steps, new(worth/f.rep.Idle.TotalUs)
		f.rep.Findings[k].Evidence += "; it holds launching threads up for " + f.per(worth) + " of idle time"
	}
	return true
}

// detail says what else is known of idle time with a treatment.
func (f *finder) detail(h *hostTime, t *idle.Treatment) string {
	if t.Pattern == Affinity {
		return f.placed()
	}
	if t.Pattern == Serialize && h.inCalls > 0 {
		return fmt.Sprintf(", %.0f %% of that inside CUDA calls, for locks of the driver", 100*ratio(h.inCalls, h.ns))
	}
	if name, _ := largest(h.names); name != "" {
		return ", most of it in " + name
	}
	return ""
}

// unseen says where the calls that threads are in are all that is known.
func unseen(h *hostTime) string {
	if h.unseen == 0 {
		return ""
	}
	return fmt.Sprintf(" (for %.0f %% of that as far as their calls say: when they are on a CPU was not recorded)", 100*ratio(h.unseen, h.ns))
}

// waits are the whys for which a thread waits for what comes from elsewhere, or may do so.
var waits = []string{"blocked:io", "blocked:wait", "blocked:join", "blocked:sleep", "off", "in:io", "in:wait", "in:join", "in:sleep"}

// follows are those of them for which a rank may wait for another.
var follows = []string{"blocked:io", "blocked:wait", "in:io", "in:wait"}

// requestsOf returns the waits of a rank for requests, or for the rank that fetches them.
func (h *hostTime) requestsOf(rank int32, followers map[int32]bool) iter.Seq2[fetch, int64] {
	all := h.fetches
	if followers[rank] {
		all = h.follows
	}
	return func(yield func(fetch, int64) bool) {
		for at, ns := range all {
			if at.rank == rank && !yield(at, ns) {
				return
			}
		}
	}
}

// lowLoad finds the waits for requests, and takes them off the others.
func (f *finder) lowLoad(times map[string]*hostTime) {
	requests := &hostTime{paths: map[int32]int64{}}
	followers, parts := f.forRequests(times)
	for _, h := range times {
		for _, v := range f.views {
			f.requested(requests, h, h.requestsOf(v.id, followers), parts[v.id])
		}
	}
	from := ""
	if len(followers) > 0 {
		from = ", or for the rank that fetches them"
	}
	f.addHost(LowLoad, requests, "launching threads wait for requests"+from+": the GPU has nothing to do, and no change of host code will give it any"+f.batches())
}

// requested takes a part of waits for requests off those with a why.
func (f *finder) requested(requests, h *hostTime, of iter.Seq2[fetch, int64], part float64) {
	for at, ns := range of {
		ns = int64(float64(ns) * part)
		requests.paths[at.path] += ns
		requests.ns += ns
		h.ns -= ns
		h.paths[at.path] -= ns
		h.names[at.name] -= ns
		if h.unseen > 0 {
			h.unseen -= ns
		}
	}
}

// forRequests returns the ranks that wait for the one that fetches requests, and by rank which
// part of its waits is for want of requests. Ranks that reduce together run the same requests:
// where one of them waits less than another, the other waits for that one in the rest of the
// time.
func (f *finder) forRequests(times map[string]*hostTime) (followers map[int32]bool, parts map[int32]float64) {
	perGPU := func(v *view) (ns float64) {
		for _, h := range times {
			for _, one := range h.requestsOf(v.id, followers) {
				ns += float64(one)
			}
		}
		return ns / float64(max(1, len(v.gpus)))
	}
	if len(f.views) > 1 {
		most := 0.0
		for _, v := range f.views {
			most = max(most, perGPU(v))
		}
		if k := slices.IndexFunc(f.views, func(v *view) bool { return perGPU(v) > 0 && 2*perGPU(v) >= most }); k >= 0 {
			followers = f.c.followers(f.views[k+1:], f.views[k])
		}
	}
	least := math.Inf(1)
	for _, v := range f.views {
		least = min(least, perGPU(v))
	}
	parts = map[int32]float64{}
	for _, v := range f.views {
		if parts[v.id] = 1; f.c.header.ClassRows(event.Allreduce) > 0 && perGPU(v) > 0 {
			parts[v.id] = least / perGPU(v)
		}
	}
	return followers, parts
}

// batches says how many requests the steps without context requests have, "" where that
// is not known.
func (f *finder) batches() string {
	var sizes []int64
	most := int64(0)
	for _, v := range f.views {
		for _, s := range v.walk.Steps.Between(0, v.walk.Steps.Len()) {
			most = max(most, s.Gen)
		}
		for _, s := range v.counted() {
			if s.Ctx == 0 && s.Gen > 0 {
				sizes = append(sizes, s.Gen)
			}
		}
	}
	if len(sizes) == 0 {
		return ""
	}
	slices.Sort(sizes)
	return fmt.Sprintf("; half of the generation steps have %d requests or fewer, the largest %d", sizes[(len(sizes)-1)/2], most)
}

// addHost adds a finding on the idle time for which a why holds.
func (f *finder) addHost(pattern string, h *hostTime, text string) {
	if !f.worth(us(h.ns)) {
		return
	}
	path, ns := largest(h.paths)
	ranges := f.c.PathText(path)
	if ranges == "" || 2*ns < h.ns {
		path, ranges = -1, ""
	}
	f.add(pattern, us(h.ns), Finding{Path: ranges, Source: f.c.Source(path)}, "the GPU is idle %s, %s of its idle time, while %s%s",
		f.per(us(h.ns)), report.Percent(us(h.ns)/f.rep.Idle.TotalUs), text, in(ranges))
}

// found tells whether there is a finding with a pattern.
func (f *finder) found(pattern string) bool {
	return slices.ContainsFunc(f.rep.Findings, func(g Finding) bool { return g.Pattern == pattern })
}

// distrust warns where the recording itself is the cause.
func (f *finder) distrust(times map[string]*hostTime) {
	warn := func(format string, args ...any) {
		f.rep.Warnings = append(f.rep.Warnings, fmt.Sprintf(format, args...))
	}
	if h := times["profiler"]; h != nil && f.worth(us(h.ns)) {
		warn("%s of idle time is the profiler's own work on launching threads: without the profiler there is less", report.Micros(us(h.ns)))
	}
	if h := times["queue_full"]; h != nil && f.worth(us(h.ns)) {
		warn("for %s of idle time a launch waits for a full queue: the GPU is busy with work that was not recorded", report.Micros(us(h.ns)))
	}
}

// unrecorded says what is not known of host threads on which GPUs waited; bare says that
// none of the samples of them has a stack.
func (c *computer) unrecorded(views []*view, bare bool) []idle.Missing {
	var ranks []int32
	for _, v := range views {
		ranks = append(ranks, v.id)
	}
	missing := idle.Unrecorded(c.header, ranks)
	if slices.ContainsFunc(ranks, func(rank int32) bool { return !c.header.Records(event.Sample, rank) }) {
		missing = append(missing, idle.Missing{What: "which functions threads ran", Option: "--sample=process-tree"})
	} else if bare {
		missing = append(missing, idle.Missing{What: "which functions threads ran, as the export has no stacks of its samples", Option: "--sample=process-tree"})
	}
	if !slices.ContainsFunc(c.ranges.list(), func(name string) bool { return marker.GILStateOf(name) != marker.NoGIL }) {
		missing = append(missing, idle.Missing{What: "waits for the interpreter lock", Option: "-t python-gil"})
	}
	if c.torch() {
		for k := range missing {
			missing[k].Option = ""
		}
	}
	return missing
}

// torch tells whether PyTorch's profiler made the recording: what nsys records more is no option
// of it.
func (c *computer) torch() bool { return c.header.Source() == "torch" }

// onGPU are the causes that are no work of the host.
var onGPU = []string{idle.Tail.String(), idle.Graph.String(), idle.Queued.String()}

// waitsForHost tells whether GPUs waited for a host thread at all.
func (rep *Report) waitsForHost() bool {
	return slices.ContainsFunc(rep.Idle.Causes, func(c Cause) bool { return !slices.Contains(onGPU, c.Cause) })
}
