// A Series sums up the steps of a run over time and by rank, and draws them: drift,
// bursts, rare stalls, and the rank that differs.
//
// A step is divided completely into parts: GPU work, idle time by whatever the caller
// divides it by, and waits in collectives. Times are in us per step and GPU. A step of
// several ranks counts once per rank. In a long run several step numbers share a bin. It
// keeps its shortest and longest step, so that a rare stall does not vanish in a mean.
// Memory does not depend on the number of ranks, except for their own rows and the
// periods of all steps.

package timeline

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/report/figure"
)

// maxBins is the largest number of bins, maxRanks of ranks that are drawn.
const (
	maxBins  = 200
	maxRanks = 64
)

// Series is the steps over time and by rank.
type Series struct {
	Bins  []Bin  // in the order of steps
	Ranks []Rank // by number; if there are too many, those with the most idle time
	Left  int    // number of ranks that are left out
}

// Bin is the steps of consecutive numbers, of all ranks.
type Bin struct {
	First, Last int // numbers of steps, both inclusive
	Steps       int // rank-steps
	// Least, median and largest period, and idle time, of the steps.
	Period, Idle [3]float64
	Parts        []float64 // means: GPU work, the parts of idle time, waits
}

// Rank is the steps of a rank.
type Rank struct {
	Rank  int32     // number of the rank
	Steps int       // number of steps
	Parts []float64 // as in Bin
}

// Idle returns the mean idle time of a step.
func (r *Rank) Idle() float64 { return sum(r.Parts[1 : len(r.Parts)-1]) }

// Waits is the name of waits in collectives, and WaitsColor their colour in all figures.
// The GPU spins for a late rank: it is neither idle nor doing work.
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

// Builder sums steps up.
type Builder struct {
	first, width int
	parts        int // including work and waits
	bins         []bin
	ranks        []Rank
	last         int
}

// bin accumulates a Bin.
type bin struct {
	parts        []float64
	period, idle []float64 // by rank-step
}

// NewBuilder returns a builder for steps first to last, both inclusive, whose idle time
// has the given number of parts.
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
	idle []float64 // by step
	wait []float64 // by step
}

// Rank begins a rank with n steps, numbered from from on.
func (b *Builder) Rank(number int32, from, n int) *RankBuilder {
	return &RankBuilder{b, Rank{Rank: number, Parts: make([]float64, b.parts)}, from, make([]float64, n), make([]float64, n)}
}

// bin returns the bin of a step.
func (r *RankBuilder) bin(step int) *bin { return &r.of.bins[(step-r.of.first)/r.of.width] }

// Idle adds us to a part of the idle time of a step. Parts count from 0.
func (r *RankBuilder) Idle(step, part int, us float64) {
	r.bin(step).parts[part+1] += us
	r.rank.Parts[part+1] += us
	r.idle[step-r.from] += us
}

// Wait adds us to the waits of a step in collectives.
func (r *RankBuilder) Wait(step int, us float64) {
	r.bin(step).parts[r.of.parts-1] += us
	r.rank.Parts[r.of.parts-1] += us
	r.wait[step-r.from] += us
}

// Step adds a step of a period, in us, after its idle time and waits. The rest of the
// period is work.
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

// scale turns sums into means.
func scale(sums []float64, n int) {
	for k := range sums {
		sums[k] /= float64(n)
	}
}

// Close returns the series. All ranks must have been closed.
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

// extent returns the least, the median and the largest value. It sorts values.
func extent(values []float64) [3]float64 {
	slices.SortFunc(values, cmp.Compare)
	return [3]float64{values[0], values[len(values)/2], values[len(values)-1]}
}

// MostOf keeps the ranks with the most of something, as many as are drawn, in their
// order. left is the number of the others.
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
