package gap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// inLockStacks returns the idle time, ns, in stacks of calls that wait for the interpreter lock.
func inLockStacks(strata map[stratum]*found) map[stratum]int64 {
	all := map[stratum]int64{}
	for s, f := range strata {
		if f.locked > 0 {
			all[s] = f.locked
		}
	}
	return all
}

// forInterpreter returns which part of idle time that no finding claims is a wait for the
// interpreter lock by the stacks of calls, and adds it up. Where ranges say who waits for the
// lock, they are believed, and it is none.
func (f *finder) forInterpreter(v *view, of *scope, t *idle.Total, why idle.Why) int64 {
	s := stratum{v.id, of.phase, f.c.sites.WithoutHolder(t.Key)}
	ns := min(f.stacked[s], t.Ns)
	if ns == 0 || !why.MayWait() || f.has(idle.GIL) {
		return 0
	}
	f.stacked[s] -= ns
	f.stackedNs += ns
	return ns
}

// interpreter finds waits for the interpreter lock that stacks of calls show.
func (f *finder) interpreter() {
	if worth := us(f.stackedNs); f.worth(worth) {
		text := f.ranBeside(idle.ForOthers, f.stackedNs, func(m *Meanwhile) bool { return !m.Elsewhere && m.Share >= 0.5 })
		f.add(GIL, worth, Finding{}, "the GPU is idle %s, %s of its idle time, while launching threads wait for the interpreter lock, by the stacks of their calls%s%s; record with -t python-gil to see who holds it",
			f.per(worth), report.Percent(worth/f.rep.Idle.TotalUs), text, f.colon(event.Classes[event.GIL]))
	}
}

// minRan is the share of the time that launching threads wait for others in which a thread is
// on a CPU that a finding names.
const minRan = 0.2

// ranMore tells whether a thread runs more while launching threads wait for others than in the
// rest of the window. Where they wait for most of the window, nobody runs much more than in the
// whole of it.
func ranMore(m *Meanwhile) bool { return m.Share >= minRan && m.Share >= minLift*m.WindowShare }

// meanwhile says who runs while launching threads are blocked in what a treatment is for, "" for
// nobody, or where that does not matter.
func (f *finder) meanwhile(times map[string]*hostTime, t *idle.Treatment) string {
	switch {
	case slices.Contains(t.Whys, "blocked:wait"):
		return f.ranBeside(idle.ForOthers, sum(times, "blocked:io", "blocked:wait", "blocked:join").ns, ranMore)
	case slices.Contains(t.Whys, "blocked:file"):
		return f.ranBeside(idle.AtFile, sum(times, "blocked:file").ns, ranMore)
	}
	return ""
}

// ranBeside says which of some threads is on a CPU for longest while launching threads are
// blocked, as idle.Wait says in what, "" for none. Ns is how long they are blocked for what is
// being told: the thread must run in that even where it runs in all the rest. Of many that run
// for short it is said where no one is found.
func (f *finder) ranBeside(blocked int32, ns int64, named func(*Meanwhile) bool) string {
	var most *Meanwhile
	list := f.rep.Idle.besides[blocked]
	rest := us(max(0, f.rep.Idle.blocked[blocked]-ns))
	for k := range list {
		if m := &list[k]; named(m) && f.worth(m.Us-rest) && (most == nil || (m.Thread >= 0) == (most.Thread >= 0) && m.Us > most.Us || m.Thread >= 0 && most.Thread < 0) {
			most = m
		}
	}
	if most == nil {
		return ""
	}
	return fmt.Sprintf(" (meanwhile %s for %s of such time, and for %s of the rest)", most.runs(), report.Percent(most.Share), report.Percent(most.WindowShare))
}

// runs says that a thread runs, or how many that are taken together.
func (m *Meanwhile) runs() string {
	switch {
	case m.Thread < 0 && m.Rank == nil:
		return fmt.Sprintf("some of %d threads of processes without a GPU run, none of them for long: together", -m.Thread)
	case m.Thread < 0:
		return fmt.Sprintf("some of %d threads of rank %d run, none of them for long: added up,", -m.Thread, *m.Rank)
	}
	who := Neighbour{Rank: m.Rank, Thread: m.Thread}
	return who.named() + " runs:"
}

// addBeside keeps how long a thread was on a CPU, ns, while launching threads were blocked, and
// in the window, in which gpus GPUs may wait at a time.
func (i *Idle) addBeside(w who, elsewhere bool, blocked int32, while, window during, gpus int) {
	if while.ran == 0 {
		return
	}
	n := int64(max(1, gpus))
	i.besides[blocked] = append(i.besides[blocked], Meanwhile{
		Rank: w.number(), Thread: w.thread, Elsewhere: elsewhere, Us: us(while.ran), Share: ratio(while.ran, while.ns),
		WindowShare: ratio(max(0, window.ran-while.ran/n), max(1, window.ns-while.ns/n)),
	})
}

// misplaced tells whether launching threads ran where they should not have.
func (f *finder) misplaced() bool {
	return slices.ContainsFunc(f.rep.Idle.Placement, func(p Placement) bool { return p.text() != "" })
}

// placed says how often launching threads changed their CPU, who took it, and whether it was
// far from their GPUs.
func (f *finder) placed() string {
	moves, crossings, others, far, on := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, p := range f.rep.Idle.Placement {
		moves, others = moves+float64(p.Migrations), others+p.OthersUs
		if p.Crossings != nil {
			crossings += float64(*p.Crossings)
		}
		if p.FarUs != nil {
			far, on = far+*p.FarUs, on+p.OnCPUUs
		}
	}
	var parts []string
	if moves > 0 {
		text := fmt.Sprintf("%s changes of the CPU %s", report.Digits(moves/f.steps), f.each())
		if crossings > 0 {
			text += fmt.Sprintf(", %.0f %% of them to another socket", 100*crossings/moves)
		}
		parts = append(parts, text)
	}
	if f.worth(others) {
		parts = append(parts, fmt.Sprintf("for %s %s other threads of the process run on the one they had", report.Micros(others/f.steps), f.each()))
	}
	if n := f.neighbour(); n != nil {
		parts = append(parts, fmt.Sprintf("for %s %s %s runs on the one they had", report.Micros(n.Us/f.steps), f.each(), n.named()))
	}
	if far > maxFar*on {
		parts = append(parts, fmt.Sprintf("%s of their time on a CPU in another NUMA node than their GPU's", report.Percent(far/on)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// neighbour returns the thread of another process that was on the CPU of a launching thread
// for longest, nil where that is not worth a word.
func (f *finder) neighbour() (most *Neighbour) {
	for _, p := range f.rep.Idle.Placement {
		if len(p.Neighbours) > 0 && (most == nil || p.Neighbours[0].Us > most.Us) {
			most = &p.Neighbours[0]
		}
	}
	if most == nil || !f.worth(most.Us) {
		return nil
	}
	return most
}

// order says what to do about launching threads of which something is known. That they lost their
// CPU to somebody is known only of the time in which somebody is seen there.
func (f *finder) order(h *hostTime, t *idle.Treatment) string {
	seen := 0.0
	for _, p := range f.rep.Idle.Placement {
		seen += p.seenUs
	}
	if t.Pattern != Affinity || us(h.ns) < minDescheduled*f.rep.Idle.TotalUs || 2*seen >= us(h.ns) {
		return t.Do
	}
	seenOn := ""
	if len(f.rep.Idle.Placement) > 0 {
		nobody := "no other thread"
		if f.c.others.unkept() {
			nobody = "no other thread of their own process"
		}
		seenOn = fmt.Sprintf("for %s of it %s was recorded on that CPU. ", report.Percent(1-seen/us(h.ns)), nobody)
	}
	return seenOn + "Record again with --sample=system-wide --cpuctxsw=system-wide. If another process was there, " + t.Do +
		". If not, the thread was in a page fault or an untraced wait such as sem_clockwait or pthread_cond_clockwait"
}
