package gap

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/idle"
)

// maxBins is how many bins of steps there are at most, maxSeries how many causes a bin
// tells apart, maxSeriesRanks how many ranks.
const (
	maxBins        = 200
	maxSeries      = 8
	maxSeriesRanks = 64
)

// Series is how the steps that count went, one after the other and rank by rank. Times
// are in us per step and GPU.
type Series struct {
	Causes []string     // that are shown one by one, the largest first; what else there is comes after
	Bins   []Bin        // in the order of steps
	Ranks  []RankSeries // in order; of many those with the most idle time
	Left   int          // how many ranks are not among them
}

// Bin is a number of steps, of all ranks.
type Bin struct {
	First, Last int // numbers of steps, both included
	Steps       int // rank-steps
	// The least, median and largest of the steps' periods, and of their idle time.
	Period, Idle [3]float64
	Parts        []float64 // busy, then as Causes, then all others: means
}

// RankSeries is the steps of a rank.
type RankSeries struct {
	Rank  int32     // number of the rank
	Steps int       // in its window
	Parts []float64 // as those of a Bin
}

// share is time divided by busy, causes and other causes, of a number of steps.
type share struct {
	parts []float64
	steps int
}

// means are the parts per step.
func (s *share) means() []float64 {
	for k := range s.parts {
		s.parts[k] /= float64(s.steps)
	}
	return s.parts
}

// seriesBin is a Bin that is being added up.
type seriesBin struct {
	share
	period, idle []float64 // of each rank-step, us
}

// seriesBins are the steps from first on, so many to a bin.
type seriesBins struct {
	first, last, width int
	parts              int
	bins               []seriesBin
	known              map[idle.Key]int // parts
}

// newSeriesBins makes room for the steps that count, nil where there are none.
func newSeriesBins(views []*view, parts int) *seriesBins {
	s := &seriesBins{first: math.MaxInt, last: -1, parts: parts, known: map[idle.Key]int{}}
	for _, v := range views {
		if v.steps > 0 {
			s.first, s.last = min(s.first, v.from), max(s.last, v.to-1)
		}
	}
	if s.last < 0 {
		return nil
	}
	s.width = (s.last - s.first + maxBins) / maxBins
	s.bins = make([]seriesBin, (s.last-s.first)/s.width+1)
	for k := range s.bins {
		s.bins[k].parts = make([]float64, parts)
	}
	return s
}

// of is the bin of a step.
func (s *seriesBins) of(step int) *seriesBin { return &s.bins[(step-s.first)/s.width] }

// seriesReport adds the steps that count up by time and by rank, nil where there are none.
func (c *computer) seriesReport(views []*view, causes []Cause) *Series {
	s := &Series{}
	for _, cause := range causes[:min(maxSeries, len(causes))] {
		s.Causes = append(s.Causes, cause.Cause)
	}
	bins := newSeriesBins(views, len(s.Causes)+2)
	if bins == nil {
		return nil
	}
	for _, v := range views {
		if rank := v.addSeries(bins, s.Causes); rank.steps > 0 {
			s.Ranks = append(s.Ranks, RankSeries{v.id, rank.steps, rank.means()})
		}
	}
	s.Ranks, s.Left = mostOf(s.Ranks, func(r RankSeries) float64 { return r.idle() })
	for k := range bins.bins {
		if b := &bins.bins[k]; b.steps > 0 {
			first := bins.first + k*bins.width
			s.Bins = append(s.Bins, Bin{
				First: first, Last: min(first+bins.width-1, bins.last), Steps: b.steps,
				Period: extent(b.period), Idle: extent(b.idle), Parts: b.means(),
			})
		}
	}
	return s
}

// idle is the idle time of a rank, per step and GPU.
func (r *RankSeries) idle() float64 { return wall(r.Parts) - r.Parts[0] }

// mostOf keeps the ranks that have most of something, in their order, and counts those
// that it leaves out.
func mostOf[T any](ranks []T, of func(T) float64) (kept []T, left int) {
	if left = len(ranks) - maxSeriesRanks; left <= 0 {
		return ranks, 0
	}
	sizes := make([]float64, len(ranks))
	for k := range ranks {
		sizes[k] = of(ranks[k])
	}
	slices.Sort(sizes)
	for _, r := range ranks {
		if of(r) >= sizes[left] && len(kept) < maxSeriesRanks {
			kept = append(kept, r)
		}
	}
	return kept, left
}

// addSeries adds the steps of a rank to their bins, and returns what they come to.
func (v *view) addSeries(bins *seriesBins, causes []string) share {
	lanes := float64(max(len(v.lanes), 1))
	rank := share{parts: make([]float64, bins.parts), steps: int(v.steps)}
	idleOf := make([]float64, v.steps)
	v.eachStepSample(func(k int32, sample *idle.Sample) {
		part, t := v.c.partOf(bins.known, causes, sample.Key), us(sample.Ns)/lanes
		bins.of(int(k)).parts[part] += t
		rank.parts[part] += t
		idleOf[int(k)-v.from] += t
	})
	for i, st := range v.counted() {
		b, period := bins.of(v.from+i), us(st.Period())
		b.steps++
		b.parts[0] += period - idleOf[i]
		rank.parts[0] += period - idleOf[i]
		b.period, b.idle = append(b.period, period), append(b.idle, idleOf[i])
	}
	return rank
}

// partOf is which part of a bin a key belongs to.
func (c *computer) partOf(known map[idle.Key]int, causes []string, k idle.Key) int {
	part, ok := known[k]
	if !ok {
		key, _ := c.sites.Undivided(k)
		part = slices.Index(causes, c.sites.CauseName(key)) + 1
		if part == 0 {
			part = len(causes) + 1
		}
		known[k] = part
	}
	return part
}

// extent is the least, the median and the largest of some values.
func extent(values []float64) [3]float64 {
	slices.SortFunc(values, cmp.Compare)
	return [3]float64{values[0], values[len(values)/2], values[len(values)-1]}
}
