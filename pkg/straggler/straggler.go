package straggler

import (
	"cmp"
	"slices"
)

// Persistence is the share of steps that a rank has to be the straggler of to be
// named, and that without a straggler for there to be none.
const (
	Persistence = 0.8
	quiet       = 0.5
)

// Collective is a kernel that ranks run together.
type Collective struct {
	Step       int32 // of the rank, counted from the beginning of its window
	Name       int32 // the same for all ranks
	Allreduce  bool
	Start, End int64
}

// Rank is what one rank did, in the order of Start, and so of Step. It is read
// only.
type Rank struct {
	ID          int32
	Report      int
	Steps       int
	Collectives []Collective
}

// Kind says whether it is always the same rank that is late.
type Kind string

// The kinds.
const (
	Nobody     Kind = "none"
	Rotating   Kind = "rotating"
	Persistent Kind = "persistent"
)

// Result says who is late.
type Result struct {
	Kind Kind
	// Rank is the number of the persistent straggler, or of the rank that is most
	// often the straggler, as an index of the ranks given; -1 where nobody is late.
	Rank int
	// Share is the share of the window's steps of which it is the straggler.
	Share float64
	// Window is how many steps all ranks have. Steps is how many had matched
	// collectives, and Matched how many of these
	// there were; Unmatched how many collectives of the first rank had none.
	Window, Steps, Matched, Unmatched int
	// ClockError is the error that remains between clocks, ns.
	ClockError int64
	// Offsets is what was taken off each rank's times, ns, in the middle of the run,
	// and Drift, ns a second, what that changes by.
	Offsets []int64
	Drift   []float64
	// Shifts is by how many steps each rank was moved.
	Shifts []int
	// Ranks sums up each rank.
	Ranks []Summary
	// PerStep has an entry for each step with matched collectives.
	PerStep []Step
	// PerName has an entry for each name of collectives, the longest waits first.
	PerName []Name
}

// Summary sums up a rank over all matched collectives.
type Summary struct {
	Late      int64 // ns
	Last      int   // collectives at which it came last, by more than the clock error
	Straggler int   // steps
	Wait      int64 // ns, for the last one
	Transfer  int64 // ns
}

// Step is who was late in one step.
type Step struct {
	Step      int // of the first rank
	Straggler int // index of the rank, -1: nobody
	Late      int64
	Wait      int64 // of all ranks, ns
}

// Name sums up the collectives of a name.
type Name struct {
	Name           int32
	Count          int
	Late           int64 // ns, whoever it was
	Wait, Transfer int64 // of all ranks, ns
}

// Find matches the collectives of ranks, two at least, and says who is late. It
// returns nil where there is nothing to compare.
func Find(ranks []Rank) *Result {
	if len(ranks) < 2 {
		return nil
	}
	m := match(ranks)
	if m.n == 0 {
		return nil
	}
	res := &Result{Rank: -1, Kind: Nobody, Matched: m.n, Unmatched: len(ranks[0].Collectives) - m.n, Shifts: m.shifts}
	res.Window = ranks[0].Steps
	for _, r := range ranks {
		res.Window = min(res.Window, r.Steps)
	}
	m.align(res)
	m.judge(res)
	return res
}

// judge sums up lateness and waiting by rank, step and name.
func (m *matched) judge(res *Result) {
	res.Ranks = make([]Summary, len(m.ranks))
	names := map[int32]int{}
	late := make([]int64, len(m.ranks))
	for from := 0; from < m.n; {
		to := from + 1
		for to < m.n && m.step(to) == m.step(from) {
			to++
		}
		clear(late)
		step := Step{Step: int(m.step(from)), Straggler: -1}
		for i := from; i < to; i++ {
			k, known := names[m.name(i)]
			if !known {
				k = len(res.PerName)
				names[m.name(i)] = k
				res.PerName = append(res.PerName, Name{Name: m.name(i)})
			}
			step.Wait += m.one(i, res, &res.PerName[k], late)
		}
		for r, ns := range late {
			res.Ranks[r].Late += ns
			if ns > step.Late {
				step.Straggler, step.Late = r, ns
			}
		}
		if step.Straggler >= 0 {
			res.Ranks[step.Straggler].Straggler++
		}
		res.PerStep = append(res.PerStep, step)
		from = to
	}
	res.Steps = len(res.PerStep)
	slices.SortStableFunc(res.PerName, func(a, b Name) int { return cmp.Compare(b.Wait, a.Wait) })
	res.conclude()
}

// one takes the i-th matched collective and returns the wait of all ranks.
func (m *matched) one(i int, res *Result, name *Name, late []int64) (wait int64) {
	last, before, who := int64(none), int64(none), 0
	for r := range m.ranks {
		switch start := m.start(r, i); {
		case start > last:
			last, before, who = start, last, r
		case start > before:
			before = start
		}
	}
	name.Count++
	if by := last - before; by > res.ClockError {
		late[who] += by
		name.Late += by
		res.Ranks[who].Last++
	}
	for r := range m.ranks {
		start, end := m.start(r, i), m.end(r, i)
		w := max(0, min(last, end)-start)
		res.Ranks[r].Wait += w
		res.Ranks[r].Transfer += end - start - w
		name.Transfer += end - start - w
		wait += w
	}
	name.Wait += wait
	return wait
}

// conclude says whether one rank is the straggler.
func (res *Result) conclude() {
	res.Window = max(res.Window, res.Steps)
	most, quietSteps := -1, res.Window
	for r := range res.Ranks {
		quietSteps -= res.Ranks[r].Straggler
		if n := res.Ranks[r].Straggler; n > 0 && (most < 0 || n > res.Ranks[most].Straggler) {
			most = r
		}
	}
	if most < 0 || float64(quietSteps) > quiet*float64(res.Window) {
		return
	}
	res.Rank, res.Kind = most, Rotating
	res.Share = float64(res.Ranks[most].Straggler) / float64(res.Window)
	if res.Share > Persistence {
		res.Kind = Persistent
	}
}
