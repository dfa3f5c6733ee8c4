package compare

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// Pair is the figures of both runs; Target is nil where there is one only.
type Pair struct {
	Baseline *Figures `json:"baseline"` // never nil
	Target   *Figures `json:"target"`   // null where there is one run only
}

// Figures are means over the rank-steps of a run that were compared, times in us; null
// where there are no samples.
type Figures struct {
	Name     string   `json:"name"`           // of the run
	Method   string   `json:"method"`         // by which its steps were isolated
	Ranks    int      `json:"ranks"`          // with steps; of repeated runs all of them
	GPUs     int      `json:"lanes"`          // pairs of rank and device
	Steps    int      `json:"steps"`          // rank-steps
	Ctx      *float64 `json:"ctx"`            // context requests, null where not known of all steps
	Gen      *float64 `json:"gen"`            // generation requests, likewise
	Wall     *float64 `json:"wall_us"`        // period
	Busy     *float64 `json:"busy_us"`        // activity of the rank's GPUs in the period
	Idle     *float64 `json:"idle_us"`        // the rest of GPUs x period
	Duration *float64 `json:"duration_us"`    // extent, as Method.Duration says
	Gap      Spread   `json:"gap_us"`         // as Method.Gap says
	Eager    *float64 `json:"eager_kernels"`  // launched one by one
	Graph    *float64 `json:"graph_kernels"`  // run by recorded graph replays
	Replays  *float64 `json:"graph_launches"` // replays with one row for all their kernels
	GPU      *float64 `json:"gpu_us"`         // full durations of kernels and such replays
	WallP50  *float64 `json:"wall_p50_us"`    // median of the period
	WallP90  *float64 `json:"wall_p90_us"`    // 90 % of the periods are shorter
}

// Spread is how N samples lie; all is null where there are none.
type Spread struct {
	N    int      `json:"n"`    // samples, of all ranks
	Mean *float64 `json:"mean"` // this and the rest in us, null where N is 0
	P50  *float64 `json:"p50"`  // the median, by linear interpolation as P90 is
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

// gpus is the number of GPUs of all ranks.
func (s *side) gpus() (n int) {
	for _, p := range s.run.ranks {
		n += p.gpus
	}
	return n
}

// requests is the mean number of requests of a step, nil where a step's is not
// known.
func (s *side) requests(of func(*step, float64) float64) *float64 {
	x := s.samples.each(of)
	if slices.Contains(x, unknown) {
		return nil
	}
	return number(stat.Mean(x))
}
