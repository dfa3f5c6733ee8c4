package gap

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// A thread is said to run while launching threads wait for others where its share of that
// time is minLift times as large as that of the window, and minBesideShare at least.
const (
	minLift        = 1.5
	minBesideShare = 0.05
	maxMeanwhile   = 3
)

// Meanwhile is a thread that is on a CPU more than else while a GPU is idle because a
// launching thread is blocked until others do something. That is an association: nobody
// knows whether that thread is who it waits for.
type Meanwhile struct {
	Rank   *int32 `json:"rank"`   // of the thread's process, null for a process that is no rank
	Thread int64  `json:"thread"` // thread id
	// Elsewhere: those who waited are all in other processes.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Us is the time that it was on a CPU while launching threads of ranks of its machine waited;
	// Share its share of that time, WindowShare that of the window in which it was on a CPU, Lift how
	// many times as large the former is.
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
	// Migrations is how often it came to another CPU than its last one; PerStep the same
	// per rank-step, null without steps.
	Migrations int64    `json:"migrations"`
	PerStep    *float64 `json:"migrations_per_step"`
	// Crossings are the migrations between sockets, null where it is not known which CPU is in
	// which.
	Crossings *int64 `json:"socket_crossings"`
	// FarUs is the part of OnCPUUs on CPUs of another NUMA node than those in GPUNodes, where
	// the rank's GPUs are; both null where that is not known.
	FarUs    *float64 `json:"far_from_gpu_us"`
	GPUNodes []int32  `json:"gpu_numa_nodes"`
	OnCPUUs  float64  `json:"on_cpu_us"` // the time that it was on a CPU
}

// besideSections says both for people.
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

// maxMoves is how many times per step a launching thread changes its CPU without a word.
const maxMoves = 1

// maxFar is which part of its time a launching thread runs away from its GPUs without a word.
const maxFar = 0.1

// text says where a launching thread ran, if it ought to have run elsewhere.
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
