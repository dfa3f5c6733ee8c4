package compare

import (
	"math"

	"github.com/hostbound/hostbound/pkg/stat"
)

// maxCells is how many parts of a run its steps are put together to, at most,
// before the doubt of a mean is estimated: so the time that takes does not grow
// with the run.
const maxCells = 1024

// sheet is the chosen steps of a run, laid out: a position for each, rank after
// rank. A row becomes a number for each position.
//
// Figures are means over all positions. Their doubt, and the evidence for a
// change, is taken from whole steps, because the last step of a segment is cut
// short, and the same cut is another share of 20 steps than of 400. Positions that
// are a like way through their rank's steps share a cell: ranks run in step, and
// what all of them feel at once is one sample and not many.
type sheet struct {
	c      choice
	at     [][]int32 // position of a step, by rank and step; -1: not chosen
	step   []*step   // by position
	group  []int32   // by position
	cell   []int32   // by position; -1: cut
	cells  int
	weight []float64 // by group; they add up to 1
	lanes  []float64 // by position

	est      stat.Estimator
	all, of  []sums // by group
	u, spare []float64
}

// sums is a sum over positions of a group and their number.
type sums struct{ sum, n float64 }

// weights says how much the steps of each batch count together; nil for all steps
// alike. They add up to 1.
type weights map[batch]float64

func newSheet(c choice, w weights) *sheet {
	s := &sheet{c: c, weight: []float64{1}}
	groups := map[batch]int32{}
	if w != nil {
		s.weight = s.weight[:0]
	}
	s.cells = min(c.longest, maxCells)
	for _, r := range c.ranks {
		at := make([]int32, len(r.rank.steps))
		for i := range at {
			at[i] = -1
		}
		for _, i := range r.steps {
			one := &r.rank.steps[i]
			g := int32(0)
			if w != nil {
				b := batch{one.ctx, one.gen}
				share, ok := w[b]
				if !ok {
					continue
				}
				if g, ok = groups[b]; !ok {
					g = int32(len(s.weight))
					groups[b] = g
					s.weight = append(s.weight, share)
				}
			}
			at[i] = int32(len(s.step))
			s.step = append(s.step, one)
			s.group = append(s.group, g)
			s.lanes = append(s.lanes, float64(r.rank.lanes))
		}
		s.at = append(s.at, at)
	}
	s.putInCells()
	s.all, s.of = make([]sums, len(s.weight)), make([]sums, len(s.weight))
	s.u = make([]float64, s.cells)
	return s
}

// putInCells gives each whole step its cell.
func (s *sheet) putInCells() {
	s.cell = make([]int32, len(s.step))
	for _, at := range s.at {
		var whole []int32
		for _, p := range at {
			if p < 0 {
				continue
			}
			if s.cell[p] = -1; !s.step[p].cut {
				whole = append(whole, p)
			}
		}
		for k, p := range whole {
			s.cell[p] = int32(k * s.cells / len(whole))
		}
	}
}

// value is a figure of one run.
type value struct {
	mean  float64       // over all positions; NaN where there is none
	est   stat.Estimate // over whole steps
	floor float64       // how far halves of the run differ by chance
}

// estimate returns the mean of x, in units of scale. Positions that are NaN do not
// count.
func (s *sheet) estimate(x []float64, scale float64) value {
	clear(s.all)
	clear(s.of)
	for p, v := range x {
		if v != v {
			continue
		}
		g := s.group[p]
		s.all[g].sum += v
		s.all[g].n++
		if s.cell[p] >= 0 {
			s.of[g].sum += v
			s.of[g].n++
		}
	}
	v := value{mean: s.mean(s.all) * scale}
	whole, total := s.mean(s.of)*scale, s.total(s.of)
	clear(s.u)
	for p, y := range x {
		n := &s.of[s.group[p]]
		if y != y || s.cell[p] < 0 {
			continue
		}
		rest := (y - n.sum/n.n) * scale * s.weight[s.group[p]] / total / n.n
		if len(s.weight) > 1 && n.n > 1 {
			// The mean of each batch has taken a degree of freedom.
			rest *= math.Sqrt(n.n / (n.n - 1))
		}
		s.u[s.cell[p]] += rest
	}
	v.est = s.est.Influence(whole, s.u)
	if count(s.of) < stat.MinSamples {
		v.est.Var, v.est.DF = math.NaN(), math.NaN()
	}
	s.spare = s.spare[:0]
	for _, u := range s.u {
		s.spare = append(s.spare, u*float64(s.cells))
	}
	v.floor = stat.Halves(s.spare)
	return v
}

// count is the number of samples in all groups.
func count(of []sums) float64 {
	n := 0.0
	for g := range of {
		n += of[g].n
	}
	return n
}

// mean returns the weighted mean of the groups that have any samples.
func (s *sheet) mean(of []sums) float64 {
	mean := 0.0
	for g, w := range s.weight {
		if of[g].n > 0 {
			mean += w * of[g].sum / of[g].n
		}
	}
	return mean / s.total(of)
}

// total is the weight of the groups that have any samples.
func (s *sheet) total(of []sums) float64 {
	total := 0.0
	for g, w := range s.weight {
		if of[g].n > 0 {
			total += w
		}
	}
	return total
}

// each returns a number for each position.
func (s *sheet) each(f func(st *step, lanes float64) float64) []float64 {
	x := make([]float64, len(s.step))
	for p, st := range s.step {
		x[p] = f(st, s.lanes[p])
	}
	return x
}

// sequence returns the whole steps' values of x that are there, by cell.
func (s *sheet) sequence(x []float64) stat.Sequence {
	cells := make([][]float64, s.cells)
	for p, v := range x {
		if c := s.cell[p]; c >= 0 && v == v {
			cells[c] = append(cells[c], v)
		}
	}
	return stat.Sequence{Cells: cells}
}

// The figures of a step that stand in the summary, in ns.
func wallOf(s *step, _ float64) float64     { return float64(s.period) }
func busyOf(s *step, _ float64) float64     { return float64(s.busy) }
func idleOf(s *step, lanes float64) float64 { return lanes*float64(s.period) - float64(s.busy) }
func idleOutOf(s *step, _ float64) float64  { return float64(s.inter) }
func idleInOf(s *step, lanes float64) float64 {
	return idleOf(s, lanes) - float64(s.inter)
}
func durationOf(s *step, _ float64) float64 { return float64(s.end - s.start) }
func gpuOf(s *step, _ float64) float64      { return float64(s.gpu) }
func eagerOf(s *step, _ float64) float64    { return float64(s.eager) }
func graphOf(s *step, _ float64) float64    { return float64(s.graph) }
func replaysOf(s *step, _ float64) float64  { return float64(s.replays) }

// gapOf is the time from the end of a step to the next one, NaN where there is
// none.
func gapOf(s *step, _ float64) float64 {
	if gap := s.period - (s.end - s.start); gap > 0 {
		return float64(gap)
	}
	return math.NaN()
}
