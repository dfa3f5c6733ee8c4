package sim

import "fmt"

// Markers is the wording of the range around a forward step.
type Markers string

// The four wordings of TensorRT-LLM, two of vLLM, that of SGLang, and none.
const (
	TRTLLM1   Markers = "trtllm1" // _forward_step: 0 ctx reqs, 4 gen reqs
	TRTLLM2   Markers = "trtllm2" // [Executor] _forward_step: 0 ctx reqs, 4 gen reqs
	TRTLLM3   Markers = "trtllm3" // [Executor] _forward_step 7: 0 ctx reqs, 4 gen reqs
	TRTLLM4   Markers = "trtllm4" // [Executor] _forward_step 7: 0 ctx reqs, 0 ctx tokens, 4 gen reqs
	VLLM      Markers = "vllm"    // execute_context_0(0)_generation_4(4)
	VLLM2     Markers = "vllm2"   // execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk99sqsq4sqsk99)
	SGLang    Markers = "sglang"  // step[DECODE bs=4]
	NoMarkers Markers = "none"
)

// AllMarkers lists the wordings.
func AllMarkers() []Markers {
	return []Markers{TRTLLM1, TRTLLM2, TRTLLM3, TRTLLM4, VLLM, VLLM2, SGLang, NoMarkers}
}

// Marker is the text of the range around a forward step, empty without markers.
func (m Markers) Marker(iteration, ctx, tokens, gen int) string {
	switch m {
	case TRTLLM1:
		return fmt.Sprintf("_forward_step: %d ctx reqs, %d gen reqs", ctx, gen)
	case TRTLLM2:
		return fmt.Sprintf("[Executor] _forward_step: %d ctx reqs, %d gen reqs", ctx, gen)
	case TRTLLM3:
		return fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, %d gen reqs", iteration, ctx, gen)
	case TRTLLM4:
		return fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, %d ctx tokens, %d gen reqs", iteration, ctx, tokens, gen)
	case VLLM:
		return fmt.Sprintf("execute_context_%d(%d)_generation_%d(%d)", ctx, tokens, gen, gen)
	case VLLM2:
		return fmt.Sprintf("execute_%d_context_%d(sq%dsk%dsqsq%dsqsk%d)_generation_%d(sq%dsk%dsqsq%dsqsk%d)",
			ctx+gen, ctx, tokens, tokens, tokens, tokens, gen, gen, 99*gen, gen, 99*gen)
	case SGLang:
		switch {
		case ctx > 0 && gen > 0:
			return fmt.Sprintf("step[MIXED bs=%d toks=%d]", ctx+gen, tokens+gen)
		case ctx > 0:
			return fmt.Sprintf("step[EXTEND bs=%d toks=%d]", ctx, tokens)
		}
		return fmt.Sprintf("step[DECODE bs=%d]", gen)
	}
	return ""
}
