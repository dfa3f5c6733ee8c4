package straggler

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
)

// Report says which rank the others wait for, and why. Its figures per step are means
// over the steps with matched collectives.
type Report struct {
	// Rank is the straggler, null if none is named.
	Rank *int32 `json:"rank"`
	// Together are ranks that are late at once, and ApartUs by how much less than the others
	// they wait per step. Both are null if no such group is late in most steps.
	Together []int32  `json:"late_together"`
	ApartUs  *float64 `json:"late_together_us_per_step"`
	// ShareOfSteps is the share of the steps in which the named rank, or else the most frequent
	// one, is the straggler. ShareOfLateness is its share of all lateness.
	ShareOfSteps    float64 `json:"share_of_steps"`
	ShareOfLateness float64 `json:"share_of_lateness"` // 0 to 1
	LateUs          float64 `json:"late_us_per_step"`  // its mean lateness, or ApartUs if Kind is together
	// StepCorrelation is the correlation of a rank's lateness with that of the step before. It is
	// near 1 if a rank that fell behind stays behind for a while.
	StepCorrelation float64 `json:"step_correlation"`
	// Causes are what the straggler spends more time on than the others, the largest
	// excess first: its own kernels by class ("kernels:gemm"), or host operations.
	Causes []string `json:"causes"`
	// Side is gpu if its own kernels explain most of its lateness, host if host operations do,
	// "" if neither does.
	Side         string  `json:"side"`
	ClockErrorUs float64 `json:"clock_error_us"` // error that remains between clocks

	// Kind is persistent (Rank is set), together (only Together is set), rotating, none, or
	// unknown; then Reason says why.
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"`
	// Steps is the number of steps with matched collectives, Matched the number of these
	// collectives, and Unmatched the number of kernels without a match.
	Steps     int          `json:"steps"`
	Matched   int          `json:"matched"`
	Unmatched int          `json:"unmatched"`
	Why       []Excess     `json:"why"`         // empty if no rank is named
	Ranks     []RankReport `json:"ranks"`       // in the order of Result.Lanes
	Kinds     []NameReport `json:"collectives"` // the longest waits first
}

// Excess is something that the straggler spends more time on than each of the other ranks.
type Excess struct {
	What string `json:"what"` // kernels, operation or idle
	// Name is a class of kernels, a host operation, or a cause of idle time.
	Name     string  `json:"name"`
	UsStep   float64 `json:"us_per_step"`        // time of the straggler
	OthersUs float64 `json:"others_us_per_step"` // mean time of the others
	ExcessUs float64 `json:"excess_us_per_step"` // the difference
	Source   string  `json:"source,omitempty"`   // function that Name stands for, "" if unknown
}

// RankReport sums up a rank.
type RankReport struct {
	Rank int32 `json:"rank"` // number of the rank
	// OffsetUs is the offset of its clock in the middle of the run, already subtracted from its
	// times. It changes by DriftPpm microseconds per second.
	OffsetUs     float64 `json:"offset_us"`
	DriftPpm     float64 `json:"drift_ppm"`
	ShareOfSteps float64 `json:"share_of_steps"` // share of steps in which it is the straggler, 0 to 1
	// LateUs is its lateness, WaitUs how long it waits for the last rank, and TransferUs the
	// rest of its collectives.
	LateUs     float64 `json:"late_us_per_step"`
	WaitUs     float64 `json:"wait_us_per_step"`
	TransferUs float64 `json:"transfer_us_per_step"`
}

// NameReport sums up the collectives of one name.
type NameReport struct {
	Name    string  `json:"name"`     // of the kernel
	PerStep float64 `json:"per_step"` // number per step
	// LateUs is the lateness of whichever rank is last. WaitUs and TransferUs are means over the
	// ranks.
	LateUs     float64 `json:"late_us_per_step"`
	WaitUs     float64 `json:"wait_us_per_rank_step"`
	TransferUs float64 `json:"transfer_us_per_rank_step"`
}

// Report returns the report of a result; name returns the name for a collective's number. Call
// Explain to add why the straggler is late.
func (res *Result) Report(lanes []collective.Lane, name func(int32) string) *Report {
	steps := float64(max(1, res.Steps))
	us := func(ns int64) float64 { return float64(ns) / 1e3 / steps }
	rep := &Report{
		ShareOfSteps: res.Share, ShareOfLateness: res.ShareLate, StepCorrelation: res.Correlation, Reason: res.Reason, Causes: []string{}, ClockErrorUs: float64(res.ClockError) / 1e3,
		Kind: string(res.Kind), Steps: res.Steps, Matched: res.Matched, Unmatched: res.Unmatched,
		Why: []Excess{}, Ranks: []RankReport{}, Kinds: []NameReport{},
	}
	for k, s := range res.Ranks {
		rep.Ranks = append(rep.Ranks, RankReport{
			Rank: lanes[res.Lanes[k]].Rank, OffsetUs: float64(res.Clocks[k].Offset) / 1e3, DriftPpm: res.Clocks[k].Drift * 1e6,
			ShareOfSteps: float64(s.Straggler) / steps, LateUs: us(s.Late), WaitUs: us(s.Wait), TransferUs: us(s.Transfer),
		})
	}
	for _, n := range res.PerName {
		rep.Kinds = append(rep.Kinds, NameReport{
			Name: name(n.Name), PerStep: float64(n.Count) / steps, LateUs: us(n.Late),
			WaitUs: us(n.Wait) / float64(len(res.Lanes)), TransferUs: us(n.Transfer) / float64(len(res.Lanes)),
		})
	}
	slices.SortStableFunc(rep.Kinds, func(a, b NameReport) int { return cmp.Compare(b.WaitUs, a.WaitUs) })
	for _, k := range res.Together {
		rep.Together, rep.ApartUs = append(rep.Together, rep.Ranks[k].Rank), new(float64(res.Apart)/1e3)
	}
	switch {
	case res.Kind == Together:
		rep.LateUs = *rep.ApartUs
	case res.Rank >= 0:
		rep.LateUs = rep.Ranks[res.Rank].LateUs
	}
	if res.Kind == Persistent {
		rep.Rank = &lanes[res.Lanes[res.Rank]].Rank
	}
	return rep
}

// Times is what one rank spends its time on in the compared steps, in us per step.
type Times struct {
	Kernels    map[string]float64 // kernels other than collectives, by class
	Operations map[string]float64 // what its launching threads do: ranges, and calls by class
	Idle       map[string]float64 // idle time of its GPUs, by cause; host:NAME is a range
}

// receives matches host operations in which all ranks but the first wait for the first. A rank
// that is late for that reason has no excess work.
var receives = regexp.MustCompile(`(?i)broadcast|recv|receive`)

// Explain sets Why, Causes and Side: what each of the late ranks spends more time on than any of
// the others. late are indices into ranks. source returns the function that a name stands for,
// "" for none.
func (rep *Report) Explain(late []int, ranks []Times, source func(string) string) {
	kernels := rep.excess("kernels", late, ranks, func(t *Times) map[string]float64 { return t.Kernels })
	operations := rep.excess("operation", late, ranks, func(t *Times) map[string]float64 { return t.Operations })
	idle := rep.excess("idle", late, ranks, func(t *Times) map[string]float64 { return t.Idle })
	idles := map[string]float64{}
	for i := range idle {
		idle[i].Source = source(idle[i].Name)
		idles[strings.TrimPrefix(idle[i].Name, "host:")] = idle[i].ExcessUs
	}
	for i := range operations {
		operations[i].Source = source(operations[i].Name)
	}
	rep.Why = slices.Concat(kernels, operations, idle)
	enough, most := enoughExcess*rep.LateUs, mostExcess*rep.LateUs
	gpu := 0.0
	for _, w := range kernels {
		if gpu += w.ExcessUs; w.ExcessUs >= enough {
			rep.Causes = append(rep.Causes, "kernels:"+w.Name)
		}
	}
	if gpu > 0 && gpu >= most {
		rep.Side = "gpu"
	}
	host := 0.0
	for _, w := range operations {
		// A host that waits for its slow GPU is busy longer, too. Then an operation is a cause
		// only if it leaves that GPU idle.
		if w.ExcessUs < enough || !slices.Contains(late, 0) && receives.MatchString(w.Name) || rep.Side != "" && idles[w.Name] < enough {
			continue
		}
		host += w.ExcessUs
		rep.Causes = append(rep.Causes, w.Name)
	}
	if rep.Side == "" && host > 0 && host >= most {
		rep.Side = "host"
	}
}

// Acquit withdraws the named ranks: equal ranks may show as much.
func (rep *Report) Acquit() {
	rep.Kind, rep.Rank, rep.Causes, rep.Why = string(Nobody), nil, []string{}, []Excess{}
	rep.Together, rep.ApartUs = nil, nil
}

// excess lists what the late ranks spend more time on than each of the others, the largest excess
// first.
func (rep *Report) excess(what string, late []int, ranks []Times, of func(*Times) map[string]float64) (list []Excess) {
	for name := range of(&ranks[late[0]]) {
		least, most, mean, others := math.Inf(1), math.Inf(-1), 0.0, 0.0
		for i := range ranks {
			t := of(&ranks[i])[name]
			if slices.Contains(late, i) {
				least, mean = min(least, t), mean+t/float64(len(late))
			} else {
				most, others = max(most, t), others+t/float64(len(ranks)-len(late))
			}
		}
		// More than every other rank, not just more than their mean.
		if least <= most || mean-others < enoughExcess*rep.LateUs/2 {
			continue
		}
		list = append(list, Excess{What: what, Name: name, UsStep: mean, OthersUs: others, ExcessUs: mean - others})
	}
	slices.SortFunc(list, func(a, b Excess) int {
		return cmp.Or(cmp.Compare(b.ExcessUs, a.ExcessUs), strings.Compare(a.Name, b.Name))
	})
	return list
}
