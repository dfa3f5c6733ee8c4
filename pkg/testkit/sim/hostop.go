package sim

import (
	"fmt"
	"slices"
)

// Role is what a host operation does besides taking time.
type Role uint8

// The roles. Receive waits, on all ranks but the first, for what the first one sends.
const (
	Nothing   Role = iota // does nothing else
	Prepare               // copies the inputs to the GPU
	Forward               // is the marker range, and launches the model after its nested operations
	Sample                // launches the sampling kernels and copies the tokens back
	Wait                  // waits for the GPU
	Receive               // waits for requests
	Speculate             // launches the draft model
)

// HostOp is one named piece of host work in a step, an NVTX range.
type HostOp struct {
	Name   string  // of the range; ignored for Forward, whose range is the marker
	Parent string  // operation in which it is nested, listed before it; empty: the step
	Mean   float64 // microseconds of its own, without calls and nested operations
	Noise  float64 // relative standard deviation
	Role   Role    // what it does besides taking time
}

// HostOps returns the operations of a step in the engine with these markers, in order,
// with their usual costs.
func HostOps(m Markers) []HostOp {
	switch m {
	case VLLM, VLLM2:
		return []HostOp{
			{Name: "gpu_model_runner: preprocess", Mean: 420, Noise: 0.1, Role: Prepare},
			{Name: "forward", Mean: 60, Noise: 0.1, Role: Forward},
			{Name: "gpu_model_runner: sample", Mean: 260, Noise: 0.1, Role: Sample},
			{Name: "gpu_model_runner: bookkeep", Mean: 380, Noise: 0.1, Role: Wait},
			{Name: "gpu_model_runner: postprocess", Mean: 210, Noise: 0.1},
		}
	case SGLang:
		return []HostOp{
			{Name: "scheduler.recv_requests", Mean: 90, Noise: 0.1, Role: Receive},
			{Name: "scheduler.process_input_requests", Mean: 40, Noise: 0.1},
			{Name: "scheduler.get_next_batch_to_run", Mean: 280, Noise: 0.1, Role: Prepare},
			{Name: "scheduler.run_batch", Mean: 120, Noise: 0.1},
			{Name: "forward", Parent: "scheduler.run_batch", Mean: 60, Noise: 0.1, Role: Forward},
			{Name: "sample", Parent: "scheduler.run_batch", Mean: 150, Noise: 0.1, Role: Sample},
			{Name: "scheduler.process_batch_result", Mean: 430, Noise: 0.1, Role: Wait},
		}
	}
	return []HostOp{
		{Name: "_fetch_new_requests", Mean: 40, Noise: 0.1},
		{Name: "broadcast_requests", Parent: "_fetch_new_requests", Mean: 230, Noise: 0.08, Role: Receive},
		{Name: "_schedule", Mean: 120, Noise: 0.08},
		{Name: "prepare_resources", Mean: 190, Noise: 0.08},
		{Name: "_forward_step", Mean: 60, Noise: 0.1, Role: Forward},
		{Name: "_prepare_inputs", Parent: "_forward_step", Mean: 780, Noise: 0.06, Role: Prepare},
		{Name: "_sample_async", Mean: 180, Noise: 0.08, Role: Sample},
		{Name: "_process_requests", Parent: "_sample_async", Mean: 260, Noise: 0.08},
		{Name: "_write_finish_reasons", Parent: "_process_requests", Mean: 110, Noise: 0.1},
		{Name: "_update_requests", Mean: 330, Noise: 0.08, Role: Wait},
		{Name: "_handle_responses", Mean: 240, Noise: 0.08},
	}
}

// WithDraft adds a draft model that runs before the forward step and outside its range,
// as in TensorRT-LLM's two-model drafting.
func WithDraft(ops []HostOp) []HostOp {
	i := slices.IndexFunc(ops, func(op HostOp) bool { return op.Role == Forward })
	for ops[i].Parent != "" {
		i = slices.IndexFunc(ops, func(op HostOp) bool { return op.Name == ops[i].Parent })
	}
	return slices.Insert(slices.Clone(ops), i, HostOp{Name: "prepare_draft_tokens", Mean: 150, Noise: 0.08, Role: Speculate})
}

// WithDraftAfter adds a draft model that runs once tokens are sampled, outside the
// forward step's range, as vLLM's Eagle does.
func WithDraftAfter(ops []HostOp) []HostOp {
	i := slices.IndexFunc(ops, func(op HostOp) bool { return op.Role == Wait })
	return slices.Insert(slices.Clone(ops), i, HostOp{Name: "gpu_model_runner: draft", Mean: 120, Noise: 0.08, Role: Speculate})
}

// checkHost requires exactly one operation that forwards and one that waits, in this
// order. The waiting one must not be nested, and nothing after it may launch kernels.
func checkHost(ops []HostOp) error {
	seen := make(map[string]bool)
	forwards, waits := 0, 0
	for _, op := range ops {
		if op.Parent != "" && !seen[op.Parent] {
			return fmt.Errorf("host operation %q: its parent %q is not listed before it", op.Name, op.Parent)
		}
		if seen[op.Name] {
			return fmt.Errorf("host operation %q is listed twice", op.Name)
		}
		seen[op.Name] = true
		switch op.Role {
		case Forward:
			forwards++
		case Wait:
			waits++
			if op.Parent != "" || forwards == 0 {
				return fmt.Errorf("host operation %q waits: it must not be nested and come after the forward step", op.Name)
			}
		}
		if waits > 0 && (op.Role == Forward || op.Role == Sample) {
			return fmt.Errorf("host operation %q launches kernels after the wait", op.Name)
		}
	}
	if forwards != 1 || waits != 1 {
		return fmt.Errorf("host operations: %d forward steps and %d waits, must be one each", forwards, waits)
	}
	return nil
}
