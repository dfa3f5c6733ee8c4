package step

import "fmt"

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

// Remainder is what of a rank lies outside of its benchmark segment; the zero Remainder is nothing.
type Remainder struct {
	Steps int64 `json:"steps"` // how many
	Of    int64 `json:"of"`    // of how many of the rank
	// PauseUs is the time between its segments, us: pauses of the GPUs in which no work of the
	// host was recorded.
	PauseUs float64 `json:"pause_us"`
}

// Remainder returns what lies outside of the benchmark segment, nothing where that is all or
// there is none.
func (r *RankSteps) Remainder() (o Remainder) {
	k := r.Benchmark()
	if k < 0 || len(r.Segments) <= 1 {
		return o
	}
	pause := int64(0) // ns
	for i := 1; i < len(r.Segments); i++ {
		pause += r.Segments[i].Start - r.Segments[i-1].End - r.Segments[i].apart
	}
	o.PauseUs = float64(pause) / 1e3
	o.Steps, o.Of = int64(r.Steps.Len()-r.Segments[k].Steps), int64(r.Steps.Len())
	return o
}

// Most returns that of two ranks which has the longer pauses: ranks run the same steps.
func (o Remainder) Most(other Remainder) Remainder {
	if other.PauseUs > o.PauseUs || other.PauseUs == o.PauseUs && other.Steps > o.Steps {
		return other
	}
	return o
}

// Text is a sentence to go on after one about the benchmark window, "" for nothing.
// pause is PauseUs for people.
func (o Remainder) Text(pause string) string {
	if o.Steps == 0 {
		return ""
	}
	return fmt.Sprintf(" It leaves out %d of %d steps, and pauses of %s without recorded host work.", o.Steps, o.Of, pause)
}
