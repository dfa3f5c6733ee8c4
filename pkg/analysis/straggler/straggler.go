package straggler

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Persistence is the share of steps, or of all lateness, that a rank has to have to be
// named, quiet the share of steps without a straggler for there to be none.
const (
	Persistence = 0.8
	quiet       = 0.5
)

// What is compared at least.
const (
	minSteps   = 8
	minMatched = 16
)

// Rank is what one rank did.
type Rank struct {
	ID     int32 // number of the rank
	Report int   // number of its report: ranks of one share a clock
	// Clocked is set where the report's clock is that of the first one but for an
	// error: recordings that do not overlap on it are not of one run.
	Clocked bool
	// From and To are the steps that count. Of the results, steps are counted from From.
	From, To    int
	Collectives *Collectives
}

// Kind says whether it is always the same rank that is late.
type Kind string

// The kinds.
const (
	Unknown    Kind = "unknown" // it cannot be told
	Nobody     Kind = "none"
	Rotating   Kind = "rotating"
	Persistent Kind = "persistent"
)

// Result says who is late.
type Result struct {
	Kind Kind // whether it is always the same one
	// Reason says why it cannot be told, "" where it can.
	Reason string
	// Rank is the number of the persistent straggler, or of the rank that is most
	// often the straggler, as an index of the ranks given; -1 where nobody is late.
	Rank int
	// Share is the share of the window's steps of which it is the straggler, and
	// ShareLate that of all lateness which is its.
	Share, ShareLate float64
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

	squares float64 // of each rank's lateness in each step
	period  int64   // of a step of the first rank, ns; without end where no clock error matters
}

// Summary sums up a rank over all matched collectives.
type Summary struct {
	Late      int64 // ns
	Straggler int   // steps
	Wait      int64 // ns, for the last one
	Transfer  int64 // ns
}

// Step is who was late in one step.
type Step struct {
	Step      int   // of the first rank
	Straggler int   // index of the rank, -1: nobody
	Late      int64 // of that rank, ns
}

// Name sums up the collectives of a name.
type Name struct {
	Name           int32 // its number, as of a Collective
	Count          int   // that were matched
	Late           int64 // ns, whoever it was
	Wait, Transfer int64 // of all ranks, ns
}

// Find matches the collectives of ranks, two at least, and says who is late. It
// returns nil where there is nothing to compare. What it needs for a while and grows with
// the run is in a store.
func Find(ranks []Rank, store *spill.Store) *Result {
	if len(ranks) < 2 {
		return nil
	}
	m := match(ranks, store)
	if m.n == 0 {
		return nil
	}
	res := &Result{Rank: -1, Kind: Nobody, Matched: m.n, Unmatched: m.unmatched, Shifts: m.shifts}
	res.Window = ranks[0].To - ranks[0].From
	for _, r := range ranks {
		res.Window = min(res.Window, r.To-r.From)
	}
	m.align(res)
	if res.ClockError > agreeNs {
		if again := m.byEnd(store); again != nil {
			m = again
			res.Matched, res.Unmatched, res.Drift = m.n, m.unmatched, nil
			res.Window = int(m.last[0].Step-m.first[0].Step) + 1
			m.align(res)
		}
	}
	m.sum(res)
	if res.period = math.MaxInt64; res.ClockError > agreeNs {
		res.period = periodOf(m.stepEnds(0))
	}
	res.Window = max(res.Window, res.Steps)
	if res.Reason = m.doubt(res); res.Reason != "" {
		res.Kind = Unknown
		return res
	}
	res.conclude()
	return res
}

// sum sums up lateness and waiting by rank, step and name.
func (m *matched) sum(res *Result) {
	res.Ranks = make([]Summary, len(m.ranks))
	s := summing{res: res, names: map[int64]int{}, late: make([]int64, len(m.ranks)), starts: make([]int64, len(m.ranks)), ends: make([]int64, len(m.ranks))}
	s.step.Step = -1
	all := make([]int, len(m.ranks))
	for r := range all {
		all[r] = r
	}
	m.each(all, func(of []spill.Rows) {
		for i, step := range of[0][colStep] {
			if int(step) != s.step.Step {
				s.endStep()
				s.step = Step{Step: int(step), Straggler: -1}
			}
			for r, rows := range of {
				start := rows[spill.Key][i]
				s.starts[r], s.ends[r] = m.correct(r, start), m.correct(r, start+rows[colLength][i])
			}
			s.add(of[0][colName][i] >> 1)
		}
	})
	s.endStep()
	res.Steps = len(res.PerStep)
	slices.SortStableFunc(res.PerName, func(a, b Name) int { return cmp.Compare(b.Wait, a.Wait) })
}

// summing is the state of sum.
type summing struct {
	res   *Result
	names map[int64]int // index in res.PerName
	step  Step          // under way
	late  []int64       // in it, by rank
	// The times of the collective under way, by rank.
	starts, ends []int64
}

// endStep ends the step under way, if there is one.
func (s *summing) endStep() {
	if s.step.Step < 0 {
		return
	}
	for r, ns := range s.late {
		s.res.Ranks[r].Late += ns
		s.res.squares += float64(ns) * float64(ns)
		if ns > s.step.Late {
			s.step.Straggler, s.step.Late = r, ns
		}
	}
	if s.step.Straggler >= 0 {
		s.res.Ranks[s.step.Straggler].Straggler++
	}
	s.res.PerStep = append(s.res.PerStep, s.step)
	clear(s.late)
}

// add adds the collective under way.
func (s *summing) add(number int64) {
	k, known := s.names[number]
	if !known {
		k = len(s.res.PerName)
		s.names[number] = k
		s.res.PerName = append(s.res.PerName, Name{Name: int32(number)})
	}
	name, ranks := &s.res.PerName[k], s.res.Ranks
	last, before, who := int64(none), int64(none), 0
	for r, start := range s.starts {
		switch {
		case start > last:
			last, before, who = start, last, r
		case start > before:
			before = start
		}
	}
	name.Count++
	if by := last - before; by > s.res.ClockError {
		s.late[who] += by
		name.Late += by
	}
	for r, start := range s.starts {
		wait := max(0, min(last, s.ends[r])-start)
		transfer := s.ends[r] - start - wait
		ranks[r].Wait += wait
		ranks[r].Transfer += transfer
		name.Wait += wait
		name.Transfer += transfer
	}
}

// conclude says whether one rank is the straggler.
func (res *Result) conclude() {
	often, most := -1, -1 // the straggler of most steps, the one with most lateness
	quietSteps := res.Window
	var late, total float64
	for r := range res.Ranks {
		s := &res.Ranks[r]
		quietSteps -= s.Straggler
		total += float64(s.Late)
		if s.Straggler > 0 && (often < 0 || s.Straggler > res.Ranks[often].Straggler) {
			often = r
		}
		if float64(s.Late) > late {
			most, late = r, float64(s.Late)
		}
	}
	if often < 0 {
		return
	}
	who := often
	switch {
	case res.stepsOf(often) > Persistence && res.chance(often) < unlikely:
		res.Kind = Persistent
	case late > Persistence*total && res.concentrated(late/total):
		res.Kind, who = Persistent, most
	case float64(quietSteps) > quiet*float64(res.Window):
		return
	default:
		res.Kind = Rotating
	}
	res.Rank, res.Share, res.ShareLate = who, res.stepsOf(who), float64(res.Ranks[who].Late)/total
}

// stepsOf returns the share of the window's steps of which a rank is the straggler.
func (res *Result) stepsOf(r int) float64 {
	return float64(res.Ranks[r].Straggler) / float64(res.Window)
}

// unlikely is how rarely a rank may be named by chance where all are equal.
const unlikely = 1e-3

// chance is how likely it is that among equal ranks, of which each step has another one
// late, one is the straggler of as many steps.
func (res *Result) chance(r int) float64 {
	n := 0
	for _, s := range res.Ranks {
		n += s.Straggler
	}
	return float64(len(res.Ranks)) * tail(n, res.Ranks[r].Straggler, 1/float64(len(res.Ranks)))
}

// tail returns the probability of k or more of n.
func tail(n, k int, p float64) (sum float64) {
	all, _ := math.Lgamma(float64(n + 1))
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// What a rank's share of all lateness needs to be no chance: so many equally late steps
// that the lateness is worth, and so many standard deviations from an equal share.
const (
	minWorth   = 8
	deviations = 3.5
)

// concentrated tells whether a share of all lateness is more than a few long waits by
// chance: one pause of 30 ms may be more than all else.
func (res *Result) concentrated(share float64) bool {
	var sum float64
	for _, s := range res.Ranks {
		sum += float64(s.Late)
	}
	worth := sum * sum / res.squares
	p := 1 / float64(len(res.Ranks))
	return worth >= minWorth && (share-p)/math.Sqrt(p*(1-p)/worth) >= deviations
}
