package gap

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// A thread is listed as running while launching threads wait if it is on a CPU for at least
// minBesideShare of that time. That share must be at least minLift times its share of the
// window. At most maxMeanwhile threads are listed.
const (
	minLift        = 1.5
	minBesideShare = 0.05
	maxMeanwhile   = 3
)

// Meanwhile is a thread that is on a CPU more than usual while a GPU is idle because a
// launching thread is blocked on others. This is a correlation: whether the launching thread
// waits for this one is unknown.
type Meanwhile struct {
	Rank   *int32 `json:"rank"`   // of the thread's process, null for a process that is no rank
	Thread int64  `json:"thread"` // thread id
	// Elsewhere is set if all the threads that waited are in other processes.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Us is its time on a CPU while launching threads on its machine waited. Share is Us divided
	// by the time that they waited. WindowShare is the share of the window in which it was on a
	// CPU, and Lift is Share / WindowShare.
	Us          float64 `json:"us"`
	Share       float64 `json:"share"`
	WindowShare float64 `json:"window_share"`
	Lift        float64 `json:"lift"`
}

// named is the thread as text.
func (m *Meanwhile) named() string {
	of := who{noRank, m.Thread}
	if m.Rank != nil {
		of.rank = *m.Rank
	}
	return of.named()
}

// named is the thread as text.
func (w who) named() string {
	if w.rank == noRank {
		return fmt.Sprintf("thread %d of a process without a GPU", w.thread)
	}
	return fmt.Sprintf("thread %d of rank %d", w.thread, w.rank)
}

// Placement is where a launching thread ran in the window.
type Placement struct {
	Rank   int32 `json:"rank"`   // of the thread's process
	Thread int64 `json:"thread"` // thread id
	// Migrations is how often its CPU changed from one run to the next. PerStep is the same per
	// rank-step, null without steps.
	Migrations int64    `json:"migrations"`
	PerStep    *float64 `json:"migrations_per_step"`
	// Crossings are the migrations between sockets, null if the sockets of CPUs are unknown.
	Crossings *int64 `json:"socket_crossings"`
	// FarUs is the part of OnCPUUs on CPUs of NUMA nodes that are not in GPUNodes, the nodes of
	// the rank's GPUs. Both are null if nodes are unknown.
	FarUs    *float64 `json:"far_from_gpu_us"`
	GPUNodes []int32  `json:"gpu_numa_nodes"`
	OnCPUUs  float64  `json:"on_cpu_us"` // its time on a CPU, in the window
}

// besideSections adds Meanwhile and Placement to a document.
func (i *Idle) besideSections(s *report.Section) {
	if len(i.Meanwhile) > 0 {
		t := s.Table("Threads that ran while launching threads were blocked (correlation only)",
			report.Columns("rank: right, thread: names, on a CPU: ratio, in the window: ratio 1, times as much: right 2")...)
		for _, m := range i.Meanwhile {
			rank := "none" // a process without a GPU
			if m.Rank != nil {
				rank = strconv.Itoa(int(*m.Rank))
			}
			t.Row(report.Str(rank), report.Str(strconv.FormatInt(m.Thread, 10)), report.Num(m.Share), report.Num(m.WindowShare), report.Str(report.Digits(m.Lift)))
		}
	}
	for _, p := range i.Placement {
		if text := p.text(); text != "" {
			s.Say("%s", text)
		}
	}
}

// maxMoves is the number of CPU changes per step above which they are reported.
const maxMoves = 1

// maxFar is the share of a launching thread's CPU time away from its GPUs above which that is
// reported.
const maxFar = 0.1

// text returns a sentence on where a launching thread ran, "" if it ran in a good place.
func (p *Placement) text() string {
	var parts []string
	if p.PerStep != nil && *p.PerStep > maxMoves {
		moved := fmt.Sprintf("moved to another CPU %s times per step", report.Digits(*p.PerStep))
		if p.Crossings != nil && *p.Crossings > 0 {
			moved += fmt.Sprintf(" (%d of %d times to another socket)", *p.Crossings, p.Migrations)
		}
		parts = append(parts, moved)
	}
	far := p.FarUs != nil && *p.FarUs > maxFar*p.OnCPUUs
	if far {
		parts = append(parts, fmt.Sprintf("spent %s of its time on a CPU in another NUMA node than its GPU's", report.Percent(*p.FarUs/p.OnCPUUs)))
	}
	if len(parts) == 0 {
		return ""
	}
	pin := "pin it (taskset, numactl)"
	if far && len(p.GPUNodes) == 1 {
		pin = fmt.Sprintf("pin it to CPUs of that node (numactl --cpunodebind=%d)", p.GPUNodes[0])
	}
	return fmt.Sprintf("Launching thread %d of rank %d %s: %s.", p.Thread, p.Rank, strings.Join(parts, "; "), pin)
}
