package gap

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/report"
)

// A thread is said to run while launching threads wait for others where its share of that
// time is minLift times as large as that of the window, and minBesideShare at least.
const (
	minLift        = 1.5
	minBesideShare = 0.05
	maxMeanwhile   = 3
)

// Meanwhile is a thread that is on a CPU more than else while a lane is idle because a
// launching thread is blocked until others do something. That is an association: nobody
// knows whether that thread is who it waits for.
type Meanwhile struct {
	Rank   *int32 `json:"rank"`   // of the thread's process, null for a process that is no rank
	Thread int64  `json:"thread"` // thread id
	// Us is the time that it was on a CPU while launching threads of the rank waited, or of all
	// ranks where Rank is null, over all tracks; Share its share of their waiting, WindowShare that of the window in which it
	// was on a CPU, Lift how many times as large the former is.
	Us          float64 `json:"us"`
	Share       float64 `json:"share"`
	WindowShare float64 `json:"window_share"`
	Lift        float64 `json:"lift"`
}

// Placement is where a launching thread ran in the window.
type Placement struct {
	Rank   int32 `json:"rank"`   // of the thread's process
	Thread int64 `json:"thread"` // thread id
	// Migrations is how often it came to another CPU than its last one; PerStep the same
	// per rank-step, null without steps.
	Migrations int64    `json:"migrations"`
	PerStep    *float64 `json:"migrations_per_step"`
	// OnCPUUs is the time that it was on a CPU, LostUs the idle time, over all lanes, in
	// which it had lost its CPU, of which OthersUs while another thread of the process was
	// seen there; the others were not recorded.
	OnCPUUs  float64 `json:"on_cpu_us"`
	LostUs   float64 `json:"descheduled_us"`
	OthersUs float64 `json:"neighbours_us"`
}

// besides adds up what threads of a rank did in its window, by thread id.
func (v *view) besides() (all []idle.ThreadBeside, window int64) {
	v.idle.EachBeside(func(t idle.ThreadBeside) {
		if !v.has(&v.scopes[t.Group]) {
			return
		}
		k := slices.IndexFunc(all, func(o idle.ThreadBeside) bool { return o.Thread == t.Thread })
		if k < 0 {
			all = append(all, t)
			return
		}
		all[k].Add(t.Beside)
	})
	slices.SortFunc(all, func(a, b idle.ThreadBeside) int { return cmp.Compare(a.Thread, b.Thread) })
	for k := range v.scopes {
		if v.has(&v.scopes[k]) {
			window += v.sums[k].ns
		}
	}
	return all, window
}

// beside fills in what other threads did while launching threads waited, and where those
// ran.
func (c *computer) beside(rep *Idle, views []*view) {
	rep.Meanwhile, rep.Placement = []Meanwhile{}, []Placement{}
	for _, v := range views {
		all, window := v.besides()
		var waited, took int64
		for _, t := range all {
			waited, took = waited+t.Waited, took+t.Took
		}
		for _, t := range all {
			if m, ok := meanwhile(&v.id, t.Thread, t.OnCPU, waited, t.Ran, window); ok {
				rep.Meanwhile = append(rep.Meanwhile, m)
			}
			if t.Launches && t.Ran > 0 {
				p := Placement{Rank: v.id, Thread: t.Thread, Migrations: t.Moves, OnCPUUs: us(t.Ran), LostUs: us(t.Lost), OthersUs: us(min(took, t.Lost))}
				if v.steps > 0 {
					p.PerStep = perStep(float64(t.Moves), v.steps)
				}
				rep.Placement = append(rep.Placement, p)
			}
		}
	}
	rep.Meanwhile = append(rep.Meanwhile, c.others.meanwhile(views)...)
	slices.SortStableFunc(rep.Meanwhile, func(a, b Meanwhile) int { return cmp.Compare(b.Us, a.Us) })
	rep.Meanwhile = rep.Meanwhile[:min(len(rep.Meanwhile), maxMeanwhile)]
}

// meanwhile says what a thread did while launching threads waited for so long: it was on a
// CPU for beside of that, and for ran of the window; ok is false where that is no more than
// else.
func meanwhile(rank *int32, thread, beside, waited, ran, window int64) (m Meanwhile, ok bool) {
	m = Meanwhile{rank, thread, us(beside), ratio(beside, waited), ratio(ran, window), 0}
	if m.WindowShare > 0 {
		m.Lift = m.Share / m.WindowShare
	}
	return m, m.Lift >= minLift && m.Share >= minBesideShare
}

// besideSections says both for people.
func (i *Idle) besideSections(s *report.Section) {
	if len(i.Meanwhile) > 0 {
		t := s.Table("While launching threads waited for others, these ran (which is no evidence that they were waited for)",
			report.Column{Title: "rank", Right: true}, report.Column{Title: "thread", Kind: report.Names}, report.Column{Title: "on a CPU", Kind: report.Ratio},
			report.Column{Title: "in the window", Kind: report.Ratio, Minor: 1}, report.Column{Title: "times as much", Right: true, Minor: 2})
		for _, m := range i.Meanwhile {
			rank := "none" // a process without a GPU
			if m.Rank != nil {
				rank = strconv.Itoa(int(*m.Rank))
			}
			t.Row(report.Str(rank), report.Str(strconv.FormatInt(m.Thread, 10)), report.Num(m.Share), report.Num(m.WindowShare), report.Str(report.Digits(m.Lift)))
		}
	}
	for _, p := range i.Placement {
		if p.PerStep != nil && *p.PerStep > maxMoves {
			s.Say("%s", p.text())
		}
	}
}

// maxMoves is how many times per step a launching thread changes its CPU without a word.
const maxMoves = 1

// text says where a launching thread ran.
func (p *Placement) text() string {
	text := fmt.Sprintf("Launching thread %d of rank %d came to another CPU %s times per step", p.Thread, p.Rank, report.Digits(*p.PerStep))
	if p.OthersUs > 0 {
		text += fmt.Sprintf("; while it had none, other threads of its process ran on its last one for %s", report.Micros(p.OthersUs))
	}
	return text + ": pin it (taskset, numactl)."
}
