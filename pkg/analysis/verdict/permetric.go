package verdict

// Voting has a T for each metric with a vote. Package metric defines the metrics.
type Voting[T any] struct {
	GPUIdle         T `json:"gpu_idle_ratio"`             // idle GPU time / all GPU time
	Launch          T `json:"launch_overhead_ratio"`      // time in kernel-launch calls, without waits for a full queue / wall time
	PrepExposed     T `json:"host_prep_exposed_ratio"`    // input preparation while GPUs are idle / input preparation
	PrepImpact      T `json:"host_prep_perf_impact"`      // input preparation while GPUs are idle / all GPU time
	PrepAttribution T `json:"host_prep_idle_attribution"` // input preparation while GPUs are idle / idle GPU time
	GPUUtilization  T `json:"gpu_utilization"`            // busy GPU time / all GPU time
}

// PerMetric has a T for each metric with a threshold: those with a vote, and the caveat.
type PerMetric[T any] struct {
	Voting[T]   // the first six members of a JSON object
	NCCL      T `json:"nccl_ratio"` // time in NCCL kernels / busy GPU time
}

// Metrics are the values of the metrics, as ratios, nil if not applicable.
type Metrics = PerMetric[*float64]

// Intervals are the 95 % intervals of the metrics over the run's steps, low and high. They are
// nil if there are too few steps, or if the metric is not applicable.
type Intervals = PerMetric[*[2]float64]

// Votes says which of the six metrics with a vote are over their limits. A metric that is not
// applicable is not over its limit.
type Votes = Voting[bool]

// vote returns the T of a metric with a vote, by its index in metric.Names.
func (v *Voting[T]) vote(m int) *T {
	return [...]*T{&v.GPUIdle, &v.Launch, &v.PrepExposed, &v.PrepImpact, &v.PrepAttribution, &v.GPUUtilization}[m]
}

// at returns the T of a metric with a threshold, by its index in metric.Names.
func (p *PerMetric[T]) at(m int) *T {
	if m == nccl {
		return &p.NCCL
	}
	return p.vote(m)
}
