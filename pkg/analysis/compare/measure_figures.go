package compare

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// Pair is the figures of both runs.
type Pair struct {
	Baseline *Figures `json:"baseline"` // never nil
	Target   *Figures `json:"target"`   // null if there is only one run
}

// Figures are means over the compared rank-steps of a run, times in us; null if there
// are no samples.
type Figures struct {
	Name     string   `json:"name"`           // of the run
	Method   string   `json:"method"`         // by which its steps were isolated
	Ranks    int      `json:"ranks"`          // with steps; the sum over repeated runs
	GPUs     int      `json:"lanes"`          // pairs of rank and device
	Steps    int      `json:"steps"`          // rank-steps
	Ctx      *float64 `json:"ctx"`            // context requests, null if unknown for some step
	Gen      *float64 `json:"gen"`            // generation requests, likewise
	Wall     *float64 `json:"wall_us"`        // period
	Busy     *float64 `json:"busy_us"`        // activity of the rank's GPUs in the period
	Idle     *float64 `json:"idle_us"`        // the rest of GPUs x period
	Duration *float64 `json:"duration_us"`    // between the points in Method.Duration
	Gap      Spread   `json:"gap_us"`         // between the points in Method.Gap
	Eager    *float64 `json:"eager_kernels"`  // kernels launched one by one
	Graph    *float64 `json:"graph_kernels"`  // kernels of recorded graph replays
	Replays  *float64 `json:"graph_launches"` // replays recorded as a whole, with one row
	GPU      *float64 `json:"gpu_us"`         // full durations of kernels and of such replays
	WallP50  *float64 `json:"wall_p50_us"`    // median of the period
	WallP90  *float64 `json:"wall_p90_us"`    // 90 % of the periods are shorter
}

// Spread is the distribution of N samples.
type Spread struct {
	N    int      `json:"n"`    // samples, of all ranks
	Mean *float64 `json:"mean"` // this and the rest in us, null if N is 0
	P50  *float64 `json:"p50"`  // the median; like P90, by linear interpolation
	P90  *float64 `json:"p90"`  // 90 % of the samples are below it
	Max  *float64 `json:"max"`  // the largest sample
}

// pair returns the figures of a side.
func (s *side) pair() *Figures {
	get := func(name string) *float64 { return number(s.figures[name].Mean) }
	f := &Figures{
		Name: s.run.Name, Method: s.run.Method, Ranks: len(s.run.ranks), GPUs: s.gpus(), Steps: s.samples.n,
		Wall: get(wall), Busy: get(busyTime), Idle: get(idleTime), Duration: get(duration),
		Eager: get(eagerKernels), Graph: get(graphKernels), Replays: get(graphLaunches), GPU: get(gpuTime),
		Gap: Spread{
			N: len(s.gaps.Sorted()), Mean: get(gap),
			P50: quantile(&s.gaps, 0.5), P90: quantile(&s.gaps, 0.9), Max: quantile(&s.gaps, 1),
		},
		WallP50: quantile(&s.walls, 0.5), WallP90: quantile(&s.walls, 0.9),
	}
	f.Ctx = s.requests(func(st *step, _ float64) float64 { return float64(st.ctx) })
	f.Gen = s.requests(func(st *step, _ float64) float64 { return float64(st.gen) })
	return f
}

// gpus returns the number of GPUs of all ranks.
func (s *side) gpus() (n int) {
	for _, p := range s.run.ranks {
		n += p.gpus
	}
	return n
}

// requests returns the mean number of requests per step, nil if it is unknown for some
// step.
func (s *side) requests(of func(*step, float64) float64) *float64 {
	x := s.samples.each(of)
	if slices.Contains(x, unknown) {
		return nil
	}
	return number(stat.Mean(x))
}
