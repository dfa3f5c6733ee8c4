package straggler

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
)

// Kind says whether it is always the same rank that is late.
type Kind string

// The kinds.
const (
	Unknown    Kind = "unknown"    // it cannot be told
	Nobody     Kind = "none"       // no rank is late beyond chance
	Rotating   Kind = "rotating"   // now one rank, now another
	Persistent Kind = "persistent" // always the same rank: see the package comment
	Together   Kind = "together"   // several, at once
)

// Result says who is late.
type Result struct {
	Kind Kind // whether it is always the same one
	// Reason says why it cannot be told, "" where it can.
	Reason string
	// Rank is the number of the persistent straggler, or of the rank that is most
	// often the straggler, as an index of Lanes; -1 where nobody is late.
	Rank int
	// Together are the ranks that come after the others at once, likewise, and Apart by how
	// much, ns a step: none where there is no such group in most steps.
	Together []int
	Apart    int64
	// Lanes are the numbers of the lanes that were compared, as they were given.
	Lanes []int
	// Share is the share of the window's steps of which it is the straggler, and
	// ShareLate that of all lateness which is its.
	Share, ShareLate float64
	// Lasting is set where the persistent straggler's lateness is more than chance also where a
	// rank that fell behind stays behind for a while. Correlation is that of ranks' lateness with
	// that of the step before.
	Lasting     bool
	Correlation float64
	Compared
	// ClockError is the error that remains between clocks, ns.
	ClockError int64
	// Clocks are those of the ranks.
	Clocks []collective.Clock
	// Ranks sums up each rank.
	Ranks []Summary
	// PerStep has an entry for each step with matched collectives.
	PerStep []Step
	// PerName has an entry for each name of collectives, the longest waits first.
	PerName []Name

	squares float64 // of each rank's lateness in each step
	ofOne   int     // steps in which one rank has nearly all lateness

	neighbours []neighbours // of each rank
}

// Compared is how much was compared: Window is how many steps all ranks have, Steps how many had
// matched collectives, and Matched how many of these there were; Unmatched is how many kernels of
// theirs had none.
type Compared struct{ Window, Steps, Matched, Unmatched int }

// neighbours are sums over steps that give the correlation of a rank's lateness with that of the
// step before, in us.
type neighbours struct{ n, before, after, beforeSquares, afterSquares, products float64 }

// correlation is that of the lateness of all ranks, each about its own mean.
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
	Wait      int64   // ns, for the last one
	Transfer  int64   // ns
	Steps     []int32 // of its own, that have matched collectives
}

// Step is who was late in one step.
type Step struct {
	Step      int   // of the first rank, counted from the first that counts
	Straggler int   // index of the rank, -1: nobody
	Late      int64 // of that rank, ns

	together string // the ranks that wait least, a rune each, "" where there is no such group
	apart    int64  // by how much, ns
}

// Name sums up the collectives of a name.
type Name struct {
	Name           int32 // its number, as of a Collective
	Count          int   // that were matched
	Late           int64 // ns, whoever it was
	Wait, Transfer int64 // of all ranks, ns
}

// Window is the steps of a lane that count: From and those after it, up to To and without it.
type Window struct{ From, To int }

// Find says who is late among lanes, each of which counts in a window. Ranks wait for those only
// that run collectives with them: of several groups it is the one in which a rank is late most.
// It returns nil where there is nothing to compare. Others may see all collectives on the way.
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

// newResult returns the result of lanes of which nothing was compared.
func newResult(m *collective.Match, lanes []int, windows []Window) *Result {
	res := &Result{Kind: Nobody, Rank: -1, Lanes: lanes, Compared: Compared{Window: math.MaxInt}, Ranks: make([]Summary, len(lanes)), neighbours: make([]neighbours, len(lanes))}
	for _, k := range lanes {
		clock, _ := m.Clock(k)
		res.Clocks = append(res.Clocks, clock)
		res.Window = min(res.Window, windows[k].To-windows[k].From)
	}
	return res
}

// unknown is the result of lanes that share no collectives, nil where there is nothing to compare.
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

// better tells which of two groups says more: in which a rank is late most, or else which is
// larger, or in which several are late most at once.
func (res *Result) better(other *Result) bool {
	return cmp.Or(cmp.Compare(res.perStep(), other.perStep()), cmp.Compare(len(res.Lanes), len(other.Lanes)),
		cmp.Compare(res.Apart, other.Apart), cmp.Compare(res.Matched, other.Matched)) > 0
}

// perStep returns by how much the persistent straggler is late per step, ns, 0 where there
// is none.
func (res *Result) perStep() int64 {
	if res.Kind != Persistent {
		return 0
	}
	return res.Ranks[res.Rank].Late / int64(max(1, res.Steps))
}

// counts reports whether a collective is of steps that count on all lanes.
func counts(ev *collective.Meeting, windows []Window) bool {
	for i := range ev.Members {
		w := &ev.Members[i]
		if s := int(w.Step); s < windows[w.Lane].From || s >= windows[w.Lane].To {
			return false
		}
	}
	return true
}

// spread is how far the ends of collectives are apart: of all-reduces where there are enough of
// them, because some others do not end together.
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

// error returns what nine in ten distances are below, with 95 % confidence: of less than 45
// that is the largest.
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

// summing sums up lateness and waiting by rank, step and name. What is late by more than clocks are
// off is known at the end.
type summing struct {
	res   *Result
	names map[int32]int // index in res.PerName
	steps []int         // as Step.Step
	waits []int64       // in each of them, by rank
	lates []lateness    // of collectives, in their order
}

// lateness is by how much the last rank of a collective comes after the one before it, ns.
type lateness struct {
	step, rank, name int32 // index in steps, Result.Ranks and PerName
	by               int64
}

// finish goes through the steps.
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

// add adds a step: how late ranks are in it, and were in the one before, and how long they wait.
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

// find finds the ranks that wait least where they are several and at most half: those before the
// largest distance between ranks in order of how long they wait.
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

// Late returns the ranks that are named, nil for none.
func (res *Result) Late() []int {
	switch res.Kind {
	case Persistent:
		return []int{res.Rank}
	case Together:
		return res.Together
	}
	return nil
}

// conclude says whether one rank is the straggler, or several are at once.
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

// single says whether one rank is the straggler.
func (res *Result) single() {
	often, most := -1, -1 // the straggler of most steps, the one with most lateness
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

// stepsOf returns the share of the window's steps of which a rank is the straggler.
func (res *Result) stepsOf(r int) float64 {
	return float64(res.Ranks[r].Straggler) / float64(res.Window)
}

// lasts reports whether one is late by more than all others are by more than chance where steps
// resemble the one before: by the long-run variance. late returns how late somebody is in a step,
// and whether that is the one.
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

// concentrated reports whether a share of all lateness is more than a few long waits by
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
