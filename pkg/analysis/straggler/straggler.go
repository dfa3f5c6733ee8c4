package straggler

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
)

// Kind says whether the same rank is always late.
type Kind string

// The kinds.
const (
	Unknown    Kind = "unknown"    // cannot be told
	Nobody     Kind = "none"       // no rank is late beyond chance
	Rotating   Kind = "rotating"   // different ranks in turn
	Persistent Kind = "persistent" // always the same rank, see the package comment
	Together   Kind = "together"   // several ranks at once
)

// Result says who is late.
type Result struct {
	Kind Kind // whether it is always the same rank
	// Reason says why that cannot be told, "" if it can.
	Reason string
	// Rank is the persistent straggler, or else the most frequent one, as an index of Lanes; -1
	// if nobody is late, or if Kind is Together.
	Rank int
	// Together are the ranks that are late at once, as indices of Lanes, and Apart by how much
	// less they wait, in ns per step. There are none if no such group is late in most steps.
	Together []int
	Apart    int64
	// Lanes are the numbers of the compared lanes, as in Match.Lanes.
	Lanes []int
	// Share is the share of the window's steps in which Rank is the straggler, and ShareLate its
	// share of all lateness. If Kind is Together, they are those of the group.
	Share, ShareLate float64
	// Lasting is set if the lateness of the named ranks is more than chance, even if a rank that
	// fell behind stays behind for a while. Correlation is that of a rank's lateness with its
	// lateness in the step before.
	Lasting     bool
	Correlation float64
	Compared
	// ClockError is the error that remains between clocks, ns.
	ClockError int64
	// Clocks are the clocks of the ranks, in the order of Lanes.
	Clocks []collective.Clock
	// Ranks sums up each rank, in the order of Lanes.
	Ranks []Summary
	// PerStep has an entry for each step with matched collectives.
	PerStep []Step
	// PerName has an entry for each name of collectives, the longest waits first.
	PerName []Name

	squares float64 // sum of squares of each rank's lateness in each step
	ofOne   int     // steps in which one rank has nearly all lateness

	neighbours []neighbours // by rank
}

// Compared is how much was compared. Window is the number of steps that all ranks have, and Steps
// the number of those with matched collectives. Matched is the number of these collectives, and
// Unmatched the number of kernels without a match.
type Compared struct{ Window, Steps, Matched, Unmatched int }

// neighbours holds sums over steps for the correlation of a rank's lateness, in us, with that of
// the step before.
type neighbours struct{ n, before, after, beforeSquares, afterSquares, products float64 }

// correlation returns the correlation over all ranks, each around its own mean; 0 if nothing
// varies.
func correlation(ranks []neighbours) float64 {
	var covariance, before, after float64
	for _, b := range ranks {
		if b.n > 0 {
			covariance += b.products - b.before*b.after/b.n
			before += b.beforeSquares - b.before*b.before/b.n
			after += b.afterSquares - b.after*b.after/b.n
		}
	}
	if before <= 0 || after <= 0 {
		return 0
	}
	return covariance / math.Sqrt(before*after)
}

// Summary sums up a rank over all matched collectives.
type Summary struct {
	Late      int64   // ns
	Straggler int     // steps
	Wait      int64   // ns, for the last rank to arrive
	Transfer  int64   // ns
	Steps     []int32 // its own steps with matched collectives, in order
}

// Step is who was late in one step.
type Step struct {
	Step      int   // number of the step in the first rank's window, from 0
	Straggler int   // index of the rank, -1 for none
	Late      int64 // lateness of that rank, ns

	together string // ranks that are late at once, a rune each; "" for none
	apart    int64  // largest distance between ranks in order of their waits, ns
}

// Name sums up the collectives of a name.
type Name struct {
	Name           int32 // as Collective.Name
	Count          int   // number of matched ones
	Late           int64 // ns, of whichever rank is last
	Wait, Transfer int64 // ns, over all ranks
}

// Window is the range of steps of a lane that count: from From to To-1.
type Window struct{ From, To int }

// Find says who is late among the lanes of m; windows are by lane. Ranks wait only for ranks that
// run collectives with them, so with several groups the result is that of the group in which a rank
// is latest. Find returns nil if there is nothing to compare. It shows all collectives to others,
// too.
func Find(m *collective.Match, windows []Window, others ...collective.Viewer) *Result {
	groups := make([]*Result, len(m.Groups))
	several := false
	for g := range m.Groups {
		if lanes := m.Groups[g].Lanes; len(lanes) > 1 && !m.Groups[g].Partial() {
			groups[g], several = newResult(m, lanes, windows), true
		}
	}
	if !several {
		m.Show(others...)
		return unknown(m, windows)
	}
	spreads, sums := make([]spread, len(groups)), make([]summing, len(groups))
	for g, res := range groups {
		sums[g] = summing{res: res, names: map[int32]int{}}
	}
	m.Show(append(others, collective.Viewer{NoParts: true, Visit: func(ev *collective.Meeting) {
		if groups[ev.Group] != nil && counts(ev, windows) {
			spreads[ev.Group].add(ev)
			sums[ev.Group].add(ev, windows)
		}
	}})...)
	var best *Result
	for g, res := range groups {
		if res == nil {
			continue
		}
		res.ClockError = spreads[g].error()
		sums[g].finish()
		res.Steps = len(res.PerStep)
		res.Window = max(res.Window, res.Steps)
		slices.SortStableFunc(res.PerName, func(a, b Name) int { return cmp.Compare(b.Wait, a.Wait) })
		res.Unmatched = int(m.Groups[g].Unmatched)
		if res.Steps < minSteps || res.Matched < minMatched {
			res.Kind, res.Reason = Unknown, fmt.Sprintf("only %d collectives in %d steps were matched (needed: %d in %d)", res.Matched, res.Steps, minMatched, minSteps)
		} else {
			res.conclude()
		}
		if best == nil || res.better(best) {
			best = res
		}
	}
	return best
}

// newResult returns the result for lanes before anything is compared.
func newResult(m *collective.Match, lanes []int, windows []Window) *Result {
	res := &Result{Kind: Nobody, Rank: -1, Lanes: lanes, Compared: Compared{Window: math.MaxInt}, Ranks: make([]Summary, len(lanes)), neighbours: make([]neighbours, len(lanes))}
	for _, k := range lanes {
		clock, _ := m.Clock(k)
		res.Clocks = append(res.Clocks, clock)
		res.Window = min(res.Window, windows[k].To-windows[k].From)
	}
	return res
}

// unknown returns the result for lanes that share no collectives, nil if there is nothing to
// compare.
func unknown(m *collective.Match, windows []Window) *Result {
	if len(m.Lanes) < 2 || len(m.Groups) == 0 {
		return nil
	}
	var all []int
	for k := range m.Lanes {
		all = append(all, k)
	}
	res := newResult(m, all, windows)
	res.Kind, res.Reason = Unknown, "no two ranks end their collectives together: they may be stages of a pipeline"
	if c := m.Coverage(); c.Size != nil && *c.Size > c.Recorded {
		res.Reason = fmt.Sprintf("only %d of %d GPUs that run collectives together were recorded, and an unrecorded one may be later", c.Recorded, *c.Size)
	}
	for k := range m.Lanes {
		if _, run := m.Clock(k); run > 0 {
			res.Reason = fmt.Sprintf("the collectives of rank %d and those of rank %d do not end together on any clock: they are not of one run", m.Lanes[k].Rank, m.Lanes[0].Rank)
		}
	}
	return res
}

// better reports whether a group says more than another one: a rank is later in it or, if not, it
// has more lanes, or several ranks are later at once, or it has more matched collectives.
func (res *Result) better(other *Result) bool {
	return cmp.Or(cmp.Compare(res.perStep(), other.perStep()), cmp.Compare(len(res.Lanes), len(other.Lanes)),
		cmp.Compare(res.Apart, other.Apart), cmp.Compare(res.Matched, other.Matched)) > 0
}

// perStep returns the lateness of the persistent straggler, in ns per step, 0 if there is none.
func (res *Result) perStep() int64 {
	if res.Kind != Persistent {
		return 0
	}
	return res.Ranks[res.Rank].Late / int64(max(1, res.Steps))
}

// counts reports whether a collective belongs to steps that count, on all its lanes.
func counts(ev *collective.Meeting, windows []Window) bool {
	for i := range ev.Members {
		w := &ev.Members[i]
		if s := int(w.Step); s < windows[w.Lane].From || s >= windows[w.Lane].To {
			return false
		}
	}
	return true
}

// spread collects how far the ends of collectives are apart. It uses all-reduces if there are
// enough, because some other collectives do not end together.
type spread struct {
	reduces, others []int64 // ns
	stride, n       int
}

func (s *spread) add(ev *collective.Meeting) {
	if s.n++; s.stride > 1 && s.n%s.stride != 0 {
		return
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range ev.Members {
		low, high = min(low, ev.Members[i].End), max(high, ev.Members[i].End)
	}
	list := &s.others
	if ev.Allreduce {
		list = &s.reduces
	}
	if *list = append(*list, high-low); len(*list) == maxSpreads {
		s.stride = max(1, s.stride) * 2
		for i := range maxSpreads / 2 {
			(*list)[i] = (*list)[2*i]
		}
		*list = (*list)[:maxSpreads/2]
	}
}

// error returns the value that nine in ten spreads are below, with 95 % confidence: with
// fewer than 58, the largest. Without any it returns 0.
func (s *spread) error() int64 {
	all := s.reduces
	if len(all) < minAllreduces {
		all = append(all, s.others...)
	}
	n := len(all)
	if n == 0 {
		return 0
	}
	slices.Sort(all)
	x := float64(n)
	return all[min(n-1, int(math.Ceil(0.9*x+1.645*math.Sqrt(0.09*x))))]
}

// summing sums up lateness and waits by rank, step and name. Only at the end is the clock error
// known, and so which lateness counts.
type summing struct {
	res   *Result
	names map[int32]int // index in res.PerName
	steps []int         // as Step.Step
	waits []int64       // in each of steps, by rank, ns
	lates []lateness    // of collectives, in order
}

// lateness is by how much the last rank of a collective arrives after the one before it, in ns.
type lateness struct {
	step, rank, name int32 // indices in steps, Result.Ranks and Result.PerName
	by               int64
}

// finish adds the steps to the result.
func (s *summing) finish() {
	n, lates := len(s.res.Ranks), s.lates
	late, before := make([]int64, n), make([]int64, n)
	for k, number := range s.steps {
		for ; len(lates) > 0 && int(lates[0].step) == k; lates = lates[1:] {
			if l := &lates[0]; l.by > s.res.ClockError {
				late[l.rank] += l.by
				s.res.PerName[l.name].Late += l.by
			}
		}
		s.res.add(Step{Step: number, Straggler: -1}, late, before, s.waits[k*n:(k+1)*n])
		late, before = before, late
		clear(late)
	}
}

// add adds a step. late and before are the lateness of each rank in it and in the step before,
// waits how long each rank waits, in ns.
func (res *Result) add(step Step, late, before, waits []int64) {
	var sum int64
	for r, ns := range late {
		sum += ns
		if len(res.PerStep) > 0 {
			b := &res.neighbours[r]
			x, y := float64(before[r])/1e3, float64(ns)/1e3
			b.n++
			b.before, b.after = b.before+x, b.after+y
			b.beforeSquares, b.afterSquares, b.products = b.beforeSquares+x*x, b.afterSquares+y*y, b.products+x*y
		}
		res.Ranks[r].Late += ns
		res.squares += float64(ns) * float64(ns)
		if ns > step.Late {
			step.Straggler, step.Late = r, ns
		}
	}
	if step.Straggler >= 0 {
		res.Ranks[step.Straggler].Straggler++
	}
	if float64(step.Late) > Persistence*float64(sum) {
		res.ofOne++
	}
	step.find(waits, res.ClockError)
	res.PerStep = append(res.PerStep, step)
}

// find sets the ranks that are late at once. Sorted by their waits, they are those before the
// largest distance, if they are several and at most half of all ranks.
func (s *Step) find(waits []int64, clockError int64) {
	order := make([]rune, len(waits))
	for r := range order {
		order[r] = rune(r)
	}
	slices.SortFunc(order, func(a, b rune) int { return cmp.Compare(waits[a], waits[b]) })
	n := 0
	for k := 1; k < len(order); k++ {
		if by := waits[order[k]] - waits[order[k-1]]; by > max(s.apart, clockError) {
			n, s.apart = k, by
		}
	}
	if n > 1 && stat.MostOf(len(order)-n, len(order)) {
		slices.Sort(order[:n])
		s.together = string(order[:n])
	}
}

// add adds a collective.
func (s *summing) add(ev *collective.Meeting, windows []Window) {
	if step := int(ev.Members[0].Step) - windows[ev.Members[0].Lane].From; len(s.steps) == 0 || step != s.steps[len(s.steps)-1] {
		s.steps = append(s.steps, step)
		s.waits = append(s.waits, make([]int64, len(s.res.Ranks))...)
	}
	waits := s.waits[len(s.waits)-len(s.res.Ranks):]
	k, known := s.names[ev.Name]
	if !known {
		k = len(s.res.PerName)
		s.names[ev.Name] = k
		s.res.PerName = append(s.res.PerName, Name{Name: ev.Name})
	}
	name, before := &s.res.PerName[k], int64(math.MinInt64)
	for i := range ev.Members {
		w, r := &ev.Members[i], &s.res.Ranks[i]
		if i != ev.Late {
			before = max(before, w.Start)
		}
		if n := len(r.Steps); n == 0 || r.Steps[n-1] != w.Step {
			r.Steps = append(r.Steps, w.Step)
		}
		waits[i] += w.Wait
		transfer := w.End - w.Start - w.Wait
		r.Wait, r.Transfer = r.Wait+w.Wait, r.Transfer+transfer
		name.Wait, name.Transfer = name.Wait+w.Wait, name.Transfer+transfer
	}
	s.res.Matched++
	name.Count++
	if by := ev.Members[ev.Late].Start - before; by > 0 {
		s.lates = append(s.lates, lateness{int32(len(s.steps) - 1), int32(ev.Late), int32(k), by})
	}
}

// Late returns the named ranks, as indices of Lanes, nil for none.
func (res *Result) Late() []int {
	switch res.Kind {
	case Persistent:
		return []int{res.Rank}
	case Together:
		return res.Together
	}
	return nil
}

// conclude finds out whether one rank is the straggler, or several are at once.
func (res *Result) conclude() {
	res.single()
	counts := map[string]int{}
	for _, s := range res.PerStep {
		counts[s.together]++
	}
	for who, n := range counts {
		if who == "" || float64(n) <= Persistence*float64(res.Window) {
			continue
		}
		var sum, apart int64
		for _, s := range res.PerStep {
			if sum += s.apart; s.together == who {
				apart += s.apart
			}
		}
		res.Apart = apart / int64(len(res.PerStep))
		for _, r := range who {
			res.Together = append(res.Together, int(r))
		}
		if res.Kind != Persistent {
			res.Kind, res.Rank, res.Share, res.ShareLate = Together, -1, float64(n)/float64(res.Window), float64(apart)/float64(sum)
			res.Lasting = res.lasts(func(s *Step) (int64, bool) { return s.apart, s.together == who })
		}
	}
}

// single finds out whether one rank is the straggler.
func (res *Result) single() {
	often, most := -1, -1 // the most frequent straggler; the rank with the most lateness
	var late, total float64
	for r := range res.Ranks {
		s := &res.Ranks[r]
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
	res.Correlation = correlation(res.neighbours)
	switch {
	case res.stepsOf(often) > Persistence && res.chance(often) < unlikely:
		res.Kind = Persistent
	case late > Persistence*total && res.concentrated(late/total):
		res.Kind, who = Persistent, most
	case float64(res.Window-res.ofOne) > quiet*float64(res.Window):
		return
	case res.Correlation <= kept:
		res.Kind = Rotating
	}
	res.Lasting = res.Kind == Persistent && res.lasts(func(s *Step) (int64, bool) { return s.Late, s.Straggler == who })
	res.Rank, res.Share, res.ShareLate = who, res.stepsOf(who), float64(res.Ranks[who].Late)/total
}

// stepsOf returns the share of the window's steps in which a rank is the straggler.
func (res *Result) stepsOf(r int) float64 {
	return float64(res.Ranks[r].Straggler) / float64(res.Window)
}

// lasts reports whether one candidate is later than all others by more than chance, even if steps
// resemble the one before: it uses the long-run variance. late returns how late the straggler of a
// step is, and whether that is the candidate.
func (res *Result) lasts(late func(*Step) (int64, bool)) bool {
	more := make([]float64, len(res.PerStep))
	for i := range res.PerStep {
		ns, same := late(&res.PerStep[i])
		if more[i] = float64(ns); !same {
			more[i] = -more[i]
		}
	}
	n := len(more)
	zero, mean := stat.Constant(0, n, float64(n)), new(stat.Estimator).Mean(more)
	d := stat.Compare(&zero, &mean)
	return d.Delta > 0 && d.P < unlikely
}

// chance returns how likely it is that one of equal ranks is the straggler of as many steps as
// rank r, if steps are independent.
func (res *Result) chance(r int) float64 {
	n := 0
	for _, s := range res.Ranks {
		n += s.Straggler
	}
	return float64(len(res.Ranks)) * tail(n, res.Ranks[r].Straggler, 1/float64(len(res.Ranks)))
}

// tail returns the binomial probability of k or more successes in n trials.
func tail(n, k int, p float64) (sum float64) {
	all, _ := math.Lgamma(float64(n + 1))
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// concentrated reports whether a share of all lateness is more than chance, and not due to a few
// long waits: one pause of 30 ms may exceed everything else.
func (res *Result) concentrated(share float64) bool {
	var sum float64
	for _, s := range res.Ranks {
		sum += float64(s.Late)
	}
	worth := sum * sum / res.squares
	p := 1 / float64(len(res.Ranks))
	return worth >= minWorth && (share-p)/math.Sqrt(p*(1-p)/worth) >= deviations
}
