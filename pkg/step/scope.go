package step

import "fmt"

// Names of what a figure covers, the same in every report.
const (
	// BenchmarkWindow is the benchmark window of each rank.
	BenchmarkWindow = "benchmark window"
	// WholeTrace is the time of each rank from its first GPU activity to its last.
	WholeTrace = "whole trace"
	// ContextSteps, GenerationSteps and UnknownSteps are the periods of these steps in
	// the benchmark segment, SteadySteps those of the steady ones.
	ContextSteps    = "context steps"
	GenerationSteps = "generation steps"
	UnknownSteps    = "steps of unknown phase"
	SteadySteps     = "steady steps"
)

// Remainder is the part of a rank outside its benchmark segment; the zero value means
// none.
type Remainder struct {
	Steps int64 `json:"steps"` // steps outside
	Of    int64 `json:"of"`    // all steps of the rank
	// PauseUs is the time between segments, us, without time that was not recorded:
	// pauses of the GPUs without recorded host work.
	PauseUs float64 `json:"pause_us"`
}

// Remainder returns what lies outside the benchmark segment. It is zero if that is the
// only segment or there is none.
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

// Most returns the one with the longer pauses: ranks run the same steps, so one stands
// for all.
func (o Remainder) Most(other Remainder) Remainder {
	if other.PauseUs > o.PauseUs || other.PauseUs == o.PauseUs && other.Steps > o.Steps {
		return other
	}
	return o
}

// Text returns a sentence to follow one about the benchmark window, "" for none. pause
// is PauseUs as text.
func (o Remainder) Text(pause string) string {
	if o.Steps == 0 {
		return ""
	}
	return fmt.Sprintf(" It leaves out %d of %d steps, and pauses of %s without recorded host work.", o.Steps, o.Of, pause)
}
