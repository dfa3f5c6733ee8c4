// Slack says how far ahead of its GPU a host runs: the slack of a launch is the
// time from the return of its call to the start of its first kernel or replay, which is
// how much work was queued. It is near zero up to 10 us, which a launch takes on a GPU
// that has nothing else to do.
//
// Figures are medians over steps of each step's quantiles, so that one step with many
// launches does not stand for all; the trend is the distance between the medians of the
// last and the first third of the steps without context requests, per step.

package gap

import (
	"cmp"
	"math"
	"slices"
)

// maxValues is how many samples of a step are kept. Where there are more, every second
// one is dropped, and so on.
const maxValues = 1 << 13

// nearZero is the slack, in ns, up to which the GPU waited for the launch.
const nearZero = 10_000

// minTrend is how many steps a trend needs at least.
const minTrend = 10

// Sampler collects the slack of the launches of one step after the other.
type Sampler struct {
	values []int64
	mark   int
	stride int // one value in so many is kept
	skip   int
}

// Add adds the slack of a launch, in ns.
func (s *Sampler) Add(ns int64) {
	if s.skip > 0 {
		s.skip--
		return
	}
	if len(s.values) >= maxValues {
		n := 0
		for i := 0; i < len(s.values); i += 2 {
			s.values[n] = s.values[i]
			n++
		}
		s.values = s.values[:n]
		s.mark = (s.mark + 1) / 2
		s.stride = max(1, s.stride) * 2
	}
	s.values = append(s.values, ns)
	s.skip = max(0, s.stride-1)
}

// Mark remembers what was added so far, for Drop.
func (s *Sampler) Mark() { s.mark = len(s.values) }

// Drop drops what was added since Mark: it turned out not to belong to the step.
func (s *Sampler) Drop() { s.values = s.values[:s.mark] }

// End sums up the slack since the last End.
func (s *Sampler) End() Step {
	sum := summarise(s.values)
	scale := int64(max(1, s.stride))
	sum.Launches *= scale
	sum.Near *= scale
	*s = Sampler{values: s.values[:0]}
	return sum
}

// Step sums up the slack of one step, or of a trace without steps. Times are in ns.
type Step struct {
	Launches      int64 // 0 where nothing is known
	Near          int64 // of them those with slack near zero
	Min, P10, P50 int64 // of the launches; 0 where there are none
}

// summarise sums up the slack of launches, in ns, and sorts values in place.
func summarise(values []int64) (s Step) {
	if len(values) == 0 {
		return s
	}
	slices.Sort(values)
	for _, v := range values {
		if v <= nearZero {
			s.Near++
		}
	}
	s.Launches = int64(len(values))
	s.Min, s.P10, s.P50 = values[0], quantile(values, 0.1), quantile(values, 0.5)
	return s
}

// quantile returns a quantile of sorted values, interpolated linearly.
func quantile(sorted []int64, q float64) int64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + int64((at-float64(i))*float64(sorted[i+1]-sorted[i]))
}

// SlackReport says how far ahead of the GPU the host runs. Times are in us.
type SlackReport struct {
	Launches int64 `json:"launches"` // calls that launch a kernel or a graph, of which it is known
	// P50Us and P10Us are medians over the steps of each step's quantile, MinUs is the
	// least of all launches.
	P50Us float64 `json:"p50_us"`
	P10Us float64 `json:"p10_us"`
	MinUs float64 `json:"min_us"`
	// NearZero is the share of launches whose kernel started at once, 0 to 1.
	NearZero float64 `json:"near_zero_share"`
	// TrendUs is what the median of a step changes by from step to step, of several ranks
	// the median; null for less than ten steps.
	TrendUs *float64     `json:"trend_us_per_step"`
	Steps   []StepReport `json:"steps,omitempty"` // where they were asked for
}

// StepReport is the slack of one step.
type StepReport struct {
	Rank     int32   `json:"rank"`            // number of the rank
	Step     int     `json:"step"`            // number in its rank, from 0
	Launches int64   `json:"launches"`        // 1 or more
	P50Us    float64 `json:"p50_us"`          // median of its launches
	P10Us    float64 `json:"p10_us"`          // what nine in ten have at least
	MinUs    float64 `json:"min_us"`          // the least
	NearZero float64 `json:"near_zero_share"` // 0 to 1
}

// SlackSummary adds up the slack of the steps that count, rank after rank.
type SlackSummary struct {
	rep      SlackReport
	near     int64
	lowest   int64
	p50, p10 []int64
	medians  []int64 // of this rank's steps without context requests
	trends   []float64
}

// Add adds what is known of a step, or of a trace without steps. trending tells that it
// counts for the trend: it has no context requests.
func (s *SlackSummary) Add(k Step, trending bool) {
	if k.Launches == 0 {
		return
	}
	if s.rep.Launches == 0 {
		s.lowest = math.MaxInt64
	}
	s.rep.Launches += k.Launches
	s.near += k.Near
	s.p50, s.p10 = append(s.p50, k.P50), append(s.p10, k.P10)
	s.lowest = min(s.lowest, k.Min)
	if trending {
		s.medians = append(s.medians, k.P50)
	}
}

// List adds a step to those that are listed.
func (s *SlackSummary) List(rank int32, step int, k Step) {
	if k.Launches > 0 {
		s.rep.Steps = append(s.rep.Steps, StepReport{
			Rank: rank, Step: step, Launches: k.Launches, P50Us: us(k.P50), P10Us: us(k.P10),
			MinUs: us(k.Min), NearZero: float64(k.Near) / float64(k.Launches),
		})
	}
}

// EndRank ends the steps of a rank.
func (s *SlackSummary) EndRank() {
	if len(s.medians) >= minTrend {
		s.trends = append(s.trends, trend(s.medians))
	}
	s.medians = s.medians[:0]
}

// SlackReport reports on what was added, nil where no launch is known.
func (s *SlackSummary) Report() *SlackReport {
	rep := s.rep
	if rep.Launches == 0 {
		return nil
	}
	slices.Sort(s.p50)
	slices.Sort(s.p10)
	rep.P50Us, rep.P10Us, rep.MinUs = us(quantile(s.p50, 0.5)), us(quantile(s.p10, 0.5)), us(s.lowest)
	rep.NearZero = float64(s.near) / float64(rep.Launches)
	if len(s.trends) > 0 {
		slices.SortFunc(s.trends, cmp.Compare[float64])
		rep.TrendUs = new(s.trends[len(s.trends)/2] / 1e3)
	}
	return &rep
}

// trend returns by how much values change from one to the next: the distance between
// the medians of the first and the last third.
func trend(values []int64) float64 {
	n := len(values) / 3
	first, last := slices.Clone(values[:n]), slices.Clone(values[len(values)-n:])
	slices.Sort(first)
	slices.Sort(last)
	return float64(quantile(last, 0.5)-quantile(first, 0.5)) / float64(len(values)-n)
}
