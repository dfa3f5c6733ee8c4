package sim

// Helper is a thread besides those of the engine, which lives for the whole run.
type Helper struct {
	Name string // name of its process, "" for a thread of the first rank
	// Busy is the share of time that it is on a CPU, 0 to 1. The rest of the time it
	// waits for work in epoll_wait.
	Busy float64
	// Call is the system call that it makes repeatedly while on a CPU, "" for none.
	Call string
}

// The thread of helper i has the id of the first rank's main thread plus firstHelper+i.
// With a process of its own, it has the id helperPID+i.
const (
	firstHelper = 11
	helperPID   = firstPID - 300
)

// helperRound is the mean time from one piece of work to the next of a helper, ns, and callRound
// that from one call to the next.
const (
	// helperRound is a helper's mean time from one piece of work to the next, callRound
	// the time from one call to the next, in ns.
	helperRound = 2_000_000
	callRound   = 50_000
)

// help records what helpers do.
func (s *simulator) help() {
	end := int64(0)
	for _, r := range s.ranks {
		end = max(end, r.now)
	}
	for i, h := range s.c.Helpers {
		r := s.ranks[0]
		process, tid := r.process, r.tid+firstHelper+uint32(i)
		if h.Name != "" {
			tid = helperPID + uint32(i)
			process = r.t.AddProcess(Process{PID: tid, VM: 1, Name: h.Name})
		}
		chance := s.chance("helper", i, 0)
		call := func(name string, from, to int64) {
			r.t.OSCalls.Add(OSCall{Start: from, End: to, Name: r.t.String(name), Process: process, TID: tid})
		}
		on := func(at int64, in bool) {
			r.t.Switches.Add(Switch{At: at, Process: process, TID: tid, CPU: int32(20 + i), In: in})
		}
		on(s.c.Start, true)
		for at := s.c.Start; at < end; {
			round := int64(helperRound * (0.5 + chance.Float64()))
			busy := int64(h.Busy * float64(round))
			for k := at; h.Call != "" && k+callRound < at+busy; k += callRound {
				call(h.Call, k, k+callRound-1000)
			}
			if busy < round {
				call("epoll_wait", at+busy, at+round)
				on(at+busy+switchCost, false)
				on(at+round-switchCost, true)
			}
			at += round
		}
		on(end, false)
	}
}

// limit is a limit on the CPU time of all processes in each period. Times are in ns.
type limit struct {
	period   int64    // number of the current period
	used     int64    // CPU time that the first rank used in it
	since    int64    // end of the time counted in used
	from, to int64    // the last stretch in which all were stopped
	workers  [2]int64 // start times of threads of the first rank that always run
}

// quotaPeriod is the length of a period in ns, the kernel's default.
const quotaPeriod = 100_000_000

// throttle stops the rank once the CPU time of the period is used up. The first rank's
// use stands for that of all ranks.
func (r *rank) throttle() {
	l := &r.s.limit
	if r.index == 0 {
		period := r.now / quotaPeriod
		if period != l.period {
			l.period, l.used, l.since = period, 0, max(l.since, period*quotaPeriod)
		}
		l.used += r.now - l.since
		l.since = r.now
		if l.used < int64(r.s.c.Why.US*1e3) {
			return
		}
		l.from, l.to = r.now, (period+1)*quotaPeriod
		for k := range l.workers {
			thread := uint32(lockHolder + 20 + k)
			r.switches(max(l.workers[k], r.s.c.Start), thread, int32(30+k), true)
			r.switches(l.from+int64(k)*1500, thread, int32(30+k), false)
			l.workers[k] = l.to + int64(k+1)*4000
		}
	}
	if from := max(r.now, l.from); from < l.to {
		r.switches(from, 0, r.cpu, false)
		r.lostFrom, r.lostTo, r.true.Lost = from, l.to, l.to-from
		r.now = l.to + int64(r.index)*3000
		r.switches(r.now, 0, r.cpu, true)
		if r.index == 0 {
			l.since = r.now
		}
	}
}
