// Handoff is what a filter hands to whoever optimises a run, a person or a
// program: the block optimization_handoff in the JSON of verdict, diff and gaps. All three
// fill in one type, each what it knows; what it does not is null. So one reader serves
// for all of them, and null is never taken for zero.

package report

// Handoff is where to begin with a run. Figures are those of the run to be optimised: of
// two that were compared, those of the target.
type Handoff struct {
	// Verdict is YES, NO or INCONCLUSIVE: whether the host holds the GPUs back; a comparison
	// does not say.
	Verdict *string `json:"verdict"`
	// Phase is context or generation: of the phases with a YES the one with more idle
	// GPU time; a comparison does not say.
	Phase *string `json:"primary_bottleneck_phase"`
	// HostPrepConfirmed reports whether the preparation of inputs is a cause; verdict
	// alone can tell.
	HostPrepConfirmed *bool `json:"host_prep_confirmed"`
	// TopRegressingOps are operations that take longer beyond the noise, the most first;
	// null where runs were not compared.
	TopRegressingOps []Operation `json:"top_regressing_ops"`
	// TopIdleCauses are the causes of idle time, the largest first; of two runs those
	// that grew, the most grown first. Null where idle time was not divided.
	TopIdleCauses []IdleCause `json:"top_idle_causes"`
	// FirstTarget is what to begin with: a function where the range is known to stand
	// for one, else a range, a call, or what the threads wait for.
	FirstTarget *string `json:"recommended_first_target"`
	// Per rank-step, in us: idle time of all GPUs of a rank, the period, the median of
	// what lies between two steps.
	Idle   *float64 `json:"idle_us_per_step"`
	Wall   *float64 `json:"wall_time_per_step_us"` // the period
	GapP50 *float64 `json:"inter_step_gap_p50_us"` // between two steps
	// Kernels is how many kernels a rank-step runs, replayed ones included.
	Kernels *float64 `json:"kernels_per_step"`
	// KernelLevel is what is known of the kernels; gaps alone can tell, it is left out elsewhere.
	KernelLevel *KernelLevel `json:"kernel_level,omitempty"`
}

// KernelLevel is what a run's kernels look like; null is what is not known, or is not there.
type KernelLevel struct {
	// GraphCoverage is the share of the kernels that graph replays ran, Capturable the
	// kernels that could be captured and are launched by themselves, the most frequent first.
	GraphCoverage *float64 `json:"graph_coverage"`
	Capturable    []string `json:"capturable_eager_kernels"`
	// Of the repeated layer: how many kernels it has, how often a step repeats it, and the time
	// without a kernel in all of its repetitions in a step.
	LayerKernels     *int     `json:"layer_kernels"`
	LayerRepetitions *int     `json:"layer_repetitions"`     // per step
	LayerGap         *float64 `json:"layer_gap_us_per_step"` // in all of them together
	// LongestGap is the longest time between two kernels of a stream.
	LongestGap *float64 `json:"longest_gap_us"`
	// Straggler is the rank that the others wait for, and for how long.
	Straggler     *int32   `json:"straggler_rank"`
	StragglerLate *float64 `json:"straggler_late_us_per_step"` // the mean
}

// Operation is an operation that takes longer, beyond the noise.
type Operation struct {
	Name     string  `json:"nvtx_name"`         // its range
	Delta    float64 `json:"delta_us_per_step"` // target less baseline
	Function *string `json:"source_function"`   // that the range stands for, null where not known
	File     *string `json:"source_file"`       // of the function, null where not known
}

// IdleCause is a cause of idle time.
type IdleCause struct {
	Cause string  `json:"cause"` // as package idle names it
	Site  *string `json:"site"`  // the call, kernel or ranges where it arose; null for all of its sites
	// UsPerStep is its idle time per rank-step, null without steps or where runs were
	// compared.
	UsPerStep *float64 `json:"us_per_step"`
	// Delta is by how much it grew, InterStep the part of that between steps; null where
	// runs were not compared.
	Delta     *float64 `json:"delta_us_per_step"`
	InterStep *float64 `json:"inter_step_us_per_step"`
	Path      string   `json:"path,omitempty"`   // the ranges around most of it, "" where not known
	Source    string   `json:"source,omitempty"` // the function that its range stands for, "" where not known
}

// OrNull returns a pointer to a text, nil for an empty one.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
