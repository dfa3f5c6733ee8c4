// Handoff is what an analysis hands to a person or program that optimises a run: the
// block optimization_handoff in the JSON of verdict, diff and gaps. All three fill in
// the same type as far as they know; what they do not know is null, never zero. So one
// reader serves all of them.

package report

// Handoff says where to begin with a run. Its figures are those of the run to be
// optimised: in a comparison, of the target.
type Handoff struct {
	// Verdict is YES, NO or INCONCLUSIVE: whether the host holds the GPUs back. A
	// comparison leaves it null.
	Verdict *string `json:"verdict"`
	// Phase is context or generation: of the phases with a YES, the one with more idle
	// GPU time. A comparison leaves it null.
	Phase *string `json:"primary_bottleneck_phase"`
	// HostPrepConfirmed reports whether input preparation is a cause. Only verdict
	// knows.
	HostPrepConfirmed *bool `json:"host_prep_confirmed"`
	// TopRegressingOps are operations that got slower beyond the noise, largest change
	// first; null if runs were not compared.
	TopRegressingOps []Operation `json:"top_regressing_ops"`
	// TopIdleCauses are the causes of idle time, largest first; in a comparison those
	// that grew, largest growth first. Null if idle time was not attributed.
	TopIdleCauses []IdleCause `json:"top_idle_causes"`
	// FirstTarget is what to begin with: a function if the range is known to be one's,
	// else a range, a call, or what the threads wait for.
	FirstTarget *string `json:"recommended_first_target"`
	// Per rank-step, in us. Idle is the idle time summed over all GPUs of a rank.
	Idle   *float64 `json:"idle_us_per_step"`
	Wall   *float64 `json:"wall_time_per_step_us"` // period from step to step
	GapP50 *float64 `json:"inter_step_gap_p50_us"` // median time between two steps
	// Kernels is the number of kernels per rank-step, including replayed ones.
	Kernels *float64 `json:"kernels_per_step"`
	// KernelLevel is what is known about the kernels. Only gaps knows; others omit it.
	KernelLevel *KernelLevel `json:"kernel_level,omitempty"`
}

// KernelLevel describes the kernels of a run; null is unknown or absent.
type KernelLevel struct {
	// GraphCoverage is the share of the kernels that graph replays ran. Capturable are
	// kernels launched individually that could be captured, most frequent first.
	GraphCoverage *float64 `json:"graph_coverage"`
	Capturable    []string `json:"capturable_eager_kernels"`
	// The repeated layer: its number of kernels, repetitions per step, and the time
	// without a kernel in all its repetitions in a step.
	LayerKernels     *int     `json:"layer_kernels"`
	LayerRepetitions *int     `json:"layer_repetitions"`     // per step
	LayerGap         *float64 `json:"layer_gap_us_per_step"` // summed over all repetitions
	// LongestGap is the longest time between two kernels of a stream.
	LongestGap *float64 `json:"longest_gap_us"`
	// Straggler is the rank that the others wait for, and by how much it is late.
	Straggler     *int32   `json:"straggler_rank"`
	StragglerLate *float64 `json:"straggler_late_us_per_step"` // the mean
}

// Operation is an operation that got slower beyond the noise.
type Operation struct {
	Name     string  `json:"nvtx_name"`         // name of its range
	Delta    float64 `json:"delta_us_per_step"` // target less baseline
	Function *string `json:"source_function"`   // the function behind the range, null if unknown
	File     *string `json:"source_file"`       // of the function, null if unknown
}

// IdleCause is a cause of idle time.
type IdleCause struct {
	Cause string  `json:"cause"` // as package idle names it
	Site  *string `json:"site"`  // the call, kernel or ranges where it arose; null for all its sites together
	// UsPerStep is its idle time per rank-step, null without steps or if runs were
	// compared.
	UsPerStep *float64 `json:"us_per_step"`
	// Delta is its growth, InterStep the part of the growth between steps; null if runs
	// were not compared.
	Delta     *float64 `json:"delta_us_per_step"`
	InterStep *float64 `json:"inter_step_us_per_step"`
	Path      string   `json:"path,omitempty"`   // the ranges around most of it, "" if unknown
	Source    string   `json:"source,omitempty"` // the function behind its range, "" if unknown
}

// OrNull returns a pointer to a text, nil if it is empty.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
