// Series adds up how the steps of a run went, one after another and rank by rank,
// and draws that: drift, bursts, rare stalls, and the rank that differs.
//
// A step is divided into parts without remainder: what the GPUs work for, idle time by whatever
// an analysis knows of it, and what they wait for in collectives. Times are in microseconds per step and GPU.
// Steps of one number in several ranks count as one each; of a long run several numbers
// are a bin, of which the shortest and the longest step are kept, so that a rare stall
// does not vanish in a mean. What is kept does not depend on the number of ranks but for
// their own rows, and the periods of all steps.

package timeline

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/report/figure"
)

// maxBins is how many bins of steps there are at most, maxRanks how many ranks.
const (
	maxBins  = 200
	maxRanks = 64
)

// Series is how the steps that count went.
type Series struct {
	Bins  []Bin  // in the order of steps
	Ranks []Rank // in order; of many those with the most idle time
	Left  int    // how many ranks are not among them
}

// Bin is a number of steps, of all ranks.
type Bin struct {
	First, Last int // numbers of steps, both included
	Steps       int // rank-steps
	// The least, median and largest of the steps' periods, and of their idle time.
	Period, Idle [3]float64
	Parts        []float64 // busy, then the parts of idle time: means
}

// Rank is the steps of a rank.
type Rank struct {
	Rank  int32     // number of the rank
	Steps int       // that count
	Parts []float64 // as those of a Bin
}

// Idle is the idle time of a step.
func (r *Rank) Idle() float64 { return sum(r.Parts[1 : len(r.Parts)-1]) }

// Waits names waits in collectives, and WaitsColor is theirs in all figures: the GPU spins for a
// late rank, and is neither idle nor at work.
const (
	Waits      = "waits in collectives"
	WaitsColor = figure.Bad
)

// Waits reports whether GPUs wait in collectives.
func (s *Series) Waits() bool {
	return slices.ContainsFunc(s.Ranks, func(r Rank) bool { return r.Parts[len(r.Parts)-1] > 0 })
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// Builder adds steps up.
type Builder struct {
	first, width int
	parts        int // with work and waits
	bins         []bin
	ranks        []Rank
	last         int
}

// bin is a Bin that is being added up.
type bin struct {
	parts        []float64
	period, idle []float64 // of each rank-step
}

// NewBuilder makes room for steps from number first to number last, with so many parts of
// idle time.
func NewBuilder(first, last, parts int) *Builder {
	b := &Builder{first: first, last: last, parts: parts + 2, width: (last - first + maxBins) / maxBins}
	b.bins = make([]bin, (last-first)/b.width+1)
	for k := range b.bins {
		b.bins[k].parts = make([]float64, b.parts)
	}
	return b
}

// RankBuilder adds the steps of a rank.
type RankBuilder struct {
	of   *Builder
	rank Rank
	from int
	idle []float64 // of each step
	wait []float64 // likewise
}

// Rank begins a rank of which n steps count, from number from on.
func (b *Builder) Rank(number int32, from, n int) *RankBuilder {
	return &RankBuilder{b, Rank{Rank: number, Parts: make([]float64, b.parts)}, from, make([]float64, n), make([]float64, n)}
}

// bin is that of a step.
func (r *RankBuilder) bin(step int) *bin { return &r.of.bins[(step-r.of.first)/r.of.width] }

// Idle adds to a part of the idle time of a step; the first part is number 0.
func (r *RankBuilder) Idle(step, part int, us float64) {
	r.bin(step).parts[part+1] += us
	r.rank.Parts[part+1] += us
	r.idle[step-r.from] += us
}

// Wait adds to the time that a step waits in collectives.
func (r *RankBuilder) Wait(step int, us float64) {
	r.bin(step).parts[r.of.parts-1] += us
	r.rank.Parts[r.of.parts-1] += us
	r.wait[step-r.from] += us
}

// Step adds a step whose idle time and waits were added: what is left of its period is work.
func (r *RankBuilder) Step(step int, period float64) {
	b, idle := r.bin(step), r.idle[step-r.from]
	work := period - idle - r.wait[step-r.from]
	b.parts[0] += work
	r.rank.Parts[0] += work
	r.rank.Steps++
	b.period, b.idle = append(b.period, period), append(b.idle, idle)
}

// Close ends the rank.
func (r *RankBuilder) Close() {
	if r.rank.Steps > 0 {
		scale(r.rank.Parts, r.rank.Steps)
		r.of.ranks = append(r.of.ranks, r.rank)
	}
}

// scale makes means of sums.
func scale(sums []float64, n int) {
	for k := range sums {
		sums[k] /= float64(n)
	}
}

// Close ends the ranks and returns what they come to.
func (b *Builder) Close() *Series {
	s := &Series{}
	s.Ranks, s.Left = MostOf(b.ranks, func(r Rank) float64 { return r.Idle() })
	for k := range b.bins {
		if one := &b.bins[k]; len(one.period) > 0 {
			scale(one.parts, len(one.period))
			first := b.first + k*b.width
			s.Bins = append(s.Bins, Bin{
				First: first, Last: min(first+b.width-1, b.last), Steps: len(one.period),
				Period: extent(one.period), Idle: extent(one.idle), Parts: one.parts,
			})
		}
	}
	return s
}

// extent is the least, the median and the largest of some values.
func extent(values []float64) [3]float64 {
	slices.SortFunc(values, cmp.Compare)
	return [3]float64{values[0], values[len(values)/2], values[len(values)-1]}
}

// MostOf keeps the ranks that have most of something, as many as are drawn, in their
// order, and counts those that it leaves out.
func MostOf[T any](ranks []T, of func(T) float64) (kept []T, left int) {
	if left = len(ranks) - maxRanks; left <= 0 {
		return ranks, 0
	}
	sizes := make([]float64, len(ranks))
	for k := range ranks {
		sizes[k] = of(ranks[k])
	}
	slices.Sort(sizes)
	for _, r := range ranks {
		if of(r) >= sizes[left] && len(kept) < maxRanks {
			kept = append(kept, r)
		}
	}
	return kept, left
}
