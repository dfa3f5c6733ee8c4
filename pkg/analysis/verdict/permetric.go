package verdict

// Voting has something for each metric that votes; package metric says what they are.
type Voting[T any] struct {
	GPUIdle         T `json:"gpu_idle_ratio"`             // idle GPU time / all GPU time
	Launch          T `json:"launch_overhead_ratio"`      // time in kernel-launch calls / wall time
	PrepExposed     T `json:"host_prep_exposed_ratio"`    // input preparation while GPUs are idle / input preparation
	PrepImpact      T `json:"host_prep_perf_impact"`      // the same / all GPU time
	PrepAttribution T `json:"host_prep_idle_attribution"` // the same / idle GPU time
	GPUUtilization  T `json:"gpu_utilization"`            // busy GPU time / all GPU time
}

// PerMetric has something for each metric that has a threshold: those that vote, and
// the caveat.
type PerMetric[T any] struct {
	Voting[T]   // of a JSON object the first six members
	NCCL      T `json:"nccl_ratio"` // time in NCCL kernels / busy GPU time
}

// Metrics are the values of the metrics, ratios, nil where not applicable.
type Metrics = PerMetric[*float64]

// Intervals are the 95 % intervals of the metrics over the run's steps, low and high,
// null where there are too few steps or the metric is not applicable.
type Intervals = PerMetric[*[2]float64]

// Votes tells which of the six metrics that vote are over their limits. One that is not
// applicable is not.
type Votes = Voting[bool]

// vote is what there is for the metric at a place in metric.Names, one that votes.
func (v *Voting[T]) vote(m int) *T {
	return [...]*T{&v.GPUIdle, &v.Launch, &v.PrepExposed, &v.PrepImpact, &v.PrepAttribution, &v.GPUUtilization}[m]
}

// at is what there is for the metric at a place in metric.Names, one with a threshold.
func (p *PerMetric[T]) at(m int) *T {
	if m == nccl {
		return &p.NCCL
	}
	return p.vote(m)
}
