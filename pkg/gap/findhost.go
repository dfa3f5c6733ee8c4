package gap

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/hoststate"
	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/osname"
	"github.com/hostbound/hostbound/pkg/report"
)

// What the operating system says of idle time, and what there is to do about it. These
// findings stand beside those of calls and ranges: the same time may be in both, seen from
// two sides.

// minDescheduled is the share of the idle time from which on it matters that launching
// threads had to give up their CPU.
const minDescheduled = 0.05

// hostTime is idle time for which one why holds.
type hostTime struct {
	ns      int64
	inCalls int64            // of it inside CUDA calls
	names   map[string]int64 // by the names of calls of the system, where they are known
	paths   map[int32]int64  // by path of ranges
}

// hostTimes adds up the idle time in the window by why, calls on a CPU by their class.
func (f *finder) hostTimes() map[string]*hostTime {
	times := map[string]*hostTime{}
	for _, v := range f.views {
		v.eachTotal(func(_ *scope, t *idle.Total) {
			key, why := f.c.sites.Undivided(t.Key)
			if why == hoststate.None {
				return
			}
			what, name := why.String(), f.c.sites.Calls.Text(why.Name())
			if why.Name() >= 0 {
				what = "os:" + osname.ClassOf(name)
			}
			h := times[what]
			if h == nil {
				h = &hostTime{names: map[string]int64{}, paths: map[int32]int64{}}
				times[what] = h
			}
			h.ns += t.Ns
			h.names[name] += t.Ns
			h.paths[f.c.sites.Path(key)] += t.Ns
			if cause := f.c.sites.Cause(key); cause >= idle.Launch && cause <= idle.API {
				h.inCalls += t.Ns
			}
		})
	}
	return times
}

// sum puts several whys together.
func sum(times map[string]*hostTime, whys ...string) *hostTime {
	all := &hostTime{names: map[string]int64{}, paths: map[int32]int64{}}
	for _, why := range whys {
		if h := times[why]; h != nil {
			all.ns, all.inCalls = all.ns+h.ns, all.inCalls+h.inCalls
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

// fetchesRequests matches ranges in which an engine waits for requests: an idle GPU there
// has nothing to do.
var fetchesRequests = regexp.MustCompile(`(?i)(fetch|recv|receive|get|poll|wait)\w*_?(new_)?req(uest)?s?\b|wait\w*_for_work|idle_loop`)

// hostFindings says what the operating system did with launching threads while GPUs were
// idle.
func (f *finder) hostFindings() {
	times := f.hostTimes()
	f.waiting(times)
	f.addHost(Serialize, sum(times, "blocked:lock"), func(h *hostTime) string {
		inside := ""
		if h.inCalls > 0 {
			inside = fmt.Sprintf(", %.0f %% of that inside CUDA calls, for locks of the driver", 100*ratio(h.inCalls, h.ns))
		}
		return fmt.Sprintf("launching threads wait for a lock that another thread holds%s: let one thread launch, or hold it for less", inside)
	})
	f.addHost(Hoist, sum(times, "blocked:file", "os:file"), func(h *hostTime) string {
		name, _ := largest(h.names)
		if name != "" {
			name = ", most of it in " + name
		}
		return "launching threads read and write files" + name + ": leave that to another thread"
	})
	f.addHost(DeadWork, sum(times, "blocked:sleep"), func(*hostTime) string {
		return "launching threads sleep: where they poll or limit a rate that may be intended, else wait for what they wait for"
	})
	if h := sum(times, "descheduled"); us(h.ns) >= minDescheduled*f.rep.Idle.TotalUs {
		f.addHost(Affinity, h, func(*hostTime) string {
			return "launching threads are ready to run and have no CPU, or wait inside the kernel: give each a CPU of its own (taskset, numactl), and look at the limits of the container"
		})
	}
	if h := sum(times, "load"); !f.found(JIT) {
		f.addHost(JIT, h, func(*hostTime) string {
			return "code is compiled or loaded in the window: warm up what runs before requests come, or load it eagerly (CUDA_MODULE_LOADING=EAGER)"
		})
	}
	f.distrust(times)
}

// waiting finds what comes from elsewhere: requests, and the answers of other threads and
// processes.
func (f *finder) waiting(times map[string]*hostTime) {
	all := sum(times, "blocked:io", "blocked:wait", "blocked:join", "blocked:sleep")
	requests := &hostTime{names: all.names, paths: map[int32]int64{}}
	for path, ns := range all.paths {
		if fetchesRequests.MatchString(f.c.PathText(path)) {
			requests.paths[path] = ns
			requests.ns += ns
		}
	}
	f.addHost(LowLoad, requests, func(*hostTime) string {
		return "launching threads wait for requests: the GPU has nothing to do, and no change of host code will give it any"
	})
	for _, why := range []string{"blocked:io", "blocked:wait", "blocked:join", "blocked:sleep"} {
		if h := times[why]; h != nil {
			for path := range requests.paths {
				h.ns -= h.paths[path]
				delete(h.paths, path)
			}
		}
	}
	f.addHost(Comm, sum(times, "blocked:io", "blocked:wait", "blocked:join"), func(h *hostTime) string {
		name, _ := largest(h.names)
		if name != "" {
			name = " (" + name + ")"
		}
		return "launching threads wait for what another thread or process sends" + name + ": see what that one does, take it off the way, or let the next step begin without it"
	})
}

// addHost adds a finding on the idle time for which a why holds.
func (f *finder) addHost(pattern string, h *hostTime, say func(*hostTime) string) {
	if !f.worth(us(h.ns)) {
		return
	}
	path, ns := largest(h.paths)
	text := f.c.PathText(path)
	if text == "" || 2*ns < h.ns {
		path, text = -1, ""
	}
	f.add(pattern, us(h.ns), Finding{Path: text, Source: f.c.Source(path)}, "the GPU is idle %s, %s of its idle time, while %s%s",
		f.per(us(h.ns)), report.Percent(us(h.ns)/f.rep.Idle.TotalUs), say(h), in(text))
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
		warn("%s of idle time is the profiler's own work on launching threads: without it there is less", report.Micros(us(h.ns)))
	}
	if h := times["queue_full"]; h != nil && f.worth(us(h.ns)) {
		warn("for %s of idle time a launch waits for a full queue: the GPU is busy with work that was not recorded", report.Micros(us(h.ns)))
	}
}

// Unrecorded is what a recording lacks to tell why host threads did not go on.
type Unrecorded struct {
	What   string `json:"what"`   // what is not known
	Option string `json:"option"` // of nsys profile, which records it
}

// unrecorded says what is not known of host threads on which GPUs waited.
func (c *computer) unrecorded(views []*view) (missing []Unrecorded) {
	var runs, calls, gil bool // on some rank they lack
	for _, v := range views {
		runs = runs || !c.header.Records(event.Run, v.id)
		calls = calls || !c.header.Records(event.OS, v.id)
	}
	gil = !slices.ContainsFunc(c.ranges.list(), func(name string) bool { return strings.Contains(name, "GIL") })
	missing = []Unrecorded{}
	if runs {
		missing = append(missing, Unrecorded{"when threads were on a CPU", "--cpuctxsw=process-tree"})
	}
	if calls {
		missing = append(missing, Unrecorded{"calls of the operating system's libraries", "-t osrt"})
	}
	if gil {
		missing = append(missing, Unrecorded{"waits for the interpreter lock", "-t python-gil"})
	}
	return missing
}

// onGPU are the causes that are no work of the host.
var onGPU = []string{idle.Tail.String(), idle.Graph.String(), idle.Queued.String()}

// waitsForHost tells whether GPUs waited for a host thread at all.
func (rep *Report) waitsForHost() bool {
	return slices.ContainsFunc(rep.Idle.Causes, func(c Cause) bool { return !slices.Contains(onGPU, c.Cause) })
}
