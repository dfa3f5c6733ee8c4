package step

// What a figure is about, in the same words in every report.
const (
	// BenchmarkWindow is each rank's benchmark window.
	BenchmarkWindow = "benchmark window"
	// WholeTrace is each rank's time from its first GPU activity to its last.
	WholeTrace = "whole trace"
	// ContextSteps, GenerationSteps and UnknownSteps are the periods of such steps
	// in the benchmark segment, SteadySteps those of the steady ones.
	ContextSteps    = "context steps"
	GenerationSteps = "generation steps"
	UnknownSteps    = "steps of unknown phase"
	SteadySteps     = "steady steps"
)
