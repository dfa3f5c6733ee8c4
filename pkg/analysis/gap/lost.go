package gap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// lostCPUs is idle time in which launching threads had lost their CPUs, in ns, and who ran there:
// the CPU that a thread has lost is the one that it was on last.
//
// Only runs of the same report count, as nobody knows which reports are of one machine. Who runs
// there takes part of the time, whether it came there because of that or not. Where nobody was
// recorded a process outside of the recording may have been there, or nobody: a thread that is off
// its CPU in a page fault or in a call that is not recorded has lost none.
type lostCPUs struct {
	ns  int64
	ran map[who]int64
}

// cpuOf is a CPU of a report's machine.
type cpuOf struct {
	report *event.Report
	cpu    int64
}

// awayThread is a launching thread, with the spans in which it had lost its CPU, those of several
// GPUs one after the other, in order; next is the first of them that is not before its last run.
type awayThread struct {
	spans []stat.Span
	next  int
	cpu   int64 // of its last run
}

// lose adds the spans before a time to those of the CPU of the last run.
func (a *awayThread) lose(before int64, of *event.Report, lost map[cpuOf][]stat.Span) {
	from := a.next
	for a.next < len(a.spans) && a.spans[a.next].From < before {
		a.next++
	}
	if of != nil && a.cpu != noCPU && a.cpu != event.SomeCPU {
		at := cpuOf{of, a.cpu}
		lost[at] = append(lost[at], a.spans[from:a.next]...)
	}
}

// lostCPUs returns that of the windows of views.
// They are looked for where leaving the time out could bring what a finding brings at least.
func (c *Watch) lostCPUs(views []*view, window int64) (all lostCPUs) {
	all.ran = map[who]int64{}
	covers := map[*event.Report]map[int64]*cover{}
	for at, spans := range c.lostSpans(views, int64(findings.Least*float64(window))) {
		if covers[at.report] == nil {
			covers[at.report] = map[int64]*cover{}
		}
		covers[at.report][at.cpu] = newCover(spans)
		all.ns += stat.Length(spans)
	}
	if all.ns == 0 {
		return all
	}
	ends := make([]int64, len(c.threads.list)) // of the last runs: two at a time are one
	c.threads.runs.Each(spill.Columns(runFrom, runTo, runCPU), func(rows spill.Rows) {
		for i, thread := range rows[spill.Key] {
			of := c.threads.list[thread]
			on := covers[c.machine(of.rank)][rows[runCPU][i]]
			if run := (stat.Span{From: max(rows[runFrom][i], ends[thread]), To: rows[runTo][i]}); on != nil && of != idleTask && run.Len() > 0 {
				ends[thread] = run.To
				if ns := on.within(run); ns > 0 {
					all.ran[of] += ns
				}
			}
		}
	})
	return all
}

// idleTask is what the kernel says runs on a CPU on which nothing does.
var idleTask = who{noRank, 0}

// lostSpans returns when launching threads had lost each CPU, nil for less than least ns.
func (c *Watch) lostSpans(views []*view, least int64) map[cpuOf][]stat.Span {
	away, lost, ns := map[int64]*awayThread{}, map[cpuOf][]stat.Span{}, int64(0)
	for _, v := range views {
		v.idle.EachSpan(func(slice int, thread, from, to int64, lost bool) {
			t := c.threads.threads[who{v.id, thread}]
			if t == nil || !lost || !v.hasSlice(slice) {
				return
			}
			if away[t.number] == nil {
				away[t.number] = &awayThread{cpu: noCPU}
			}
			a := away[t.number]
			a.spans, ns = append(a.spans, stat.Span{From: from, To: to}), ns+to-from
		})
	}
	if len(away) == 0 || ns < least {
		return nil
	}
	for _, a := range away {
		slices.SortFunc(a.spans, func(a, b stat.Span) int { return cmp.Compare(a.From, b.From) })
	}
	c.threads.runs.Each(spill.Columns(runFrom, runCPU), func(rows spill.Rows) {
		for i, thread := range rows[spill.Key] {
			if a := away[thread]; a != nil {
				a.lose(rows[runFrom][i], c.machine(c.threads.list[thread].rank), lost)
				a.cpu = rows[runCPU][i]
			}
		}
	})
	for thread, a := range away {
		a.lose(math.MaxInt64, c.machine(c.threads.list[thread].rank), lost)
	}
	return lost
}

// machine returns the report that stands for the machine of a rank's threads, nil where nobody
// knows which one that is.
func (c *Watch) machine(rank int32) *event.Report {
	if len(c.header.Reports) == 1 {
		return &c.header.Reports[0]
	}
	return c.header.Report(rank)
}

// named returns who ran there, those who did for longest, "" for nobody, and for which part of the
// time nobody did.
func (l *lostCPUs) named() (names string, alone float64) {
	var order []who
	seen := int64(0)
	for of, ns := range l.ran {
		if seen += ns; ratio(ns, l.ns) >= minBesideShare {
			order = append(order, of)
		}
	}
	slices.SortFunc(order, func(a, b who) int { return cmp.Or(cmp.Compare(l.ran[b], l.ran[a]), a.compare(b)) })
	var list []string
	for k, of := range order[:min(len(order), maxMeanwhile)] {
		text := fmt.Sprintf("%s (%s", of.named(), report.Percent(ratio(l.ran[of], l.ns)))
		if k == 0 {
			text += " of that time"
		}
		list = append(list, text+")")
	}
	return strings.Join(list, " and "), ratio(max(0, l.ns-seen), l.ns)
}

// named is the thread as text.
func (w who) named() string {
	if w.rank == noRank {
		return fmt.Sprintf("thread %d of a process without a GPU", w.thread)
	}
	return fmt.Sprintf("thread %d of rank %d", w.thread, w.rank)
}
