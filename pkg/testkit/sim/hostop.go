package sim

import (
	"fmt"
	"slices"
)

// Role is what a host operation does besides taking time.
type Role uint8

// Nothing is that it does nothing else. Prepare copies the inputs to the GPU. Forward is the marker range and
// launches the model, after its nested operations. Sample launches the sampling
// kernels and copies the tokens back. Wait waits for the GPU. Receive waits, on
// all ranks but the first, for what the first one sends.
const (
	Nothing Role = iota
	Prepare
	Forward
	Sample
	Wait
	Receive
	Speculate // launches the draft model
)

// HostOp is one named piece of host work in a step, an NVTX range.
type HostOp struct {
	Name   string  // of the Forward operation: ignored, the marker's wording is used
	Parent string  // the operation it is nested in, listed before it; empty: the step itself
	Mean   float64 // microseconds of its own, calls and nested operations not included
	Noise  float64 // relative standard deviation
	Role   Role    // what it does besides
}

// HostOps are the operations of a step in the engine that uses the markers, in
// order, with their usual cost.
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

// WithDraft is a list of operations in which the draft model runs ahead of the
// forward step, outside its range, as TensorRT-LLM's two-model drafting does.
func WithDraft(ops []HostOp) []HostOp {
	i := slices.IndexFunc(ops, func(op HostOp) bool { return op.Role == Forward })
	for ops[i].Parent != "" {
		i = slices.IndexFunc(ops, func(op HostOp) bool { return op.Name == ops[i].Parent })
	}
	return slices.Insert(slices.Clone(ops), i, HostOp{Name: "prepare_draft_tokens", Mean: 150, Noise: 0.08, Role: Speculate})
}

// WithDraftAfter is a list of operations in which the draft model runs once the
// tokens are sampled, outside the forward step's range, as vLLM's Eagle does.
func WithDraftAfter(ops []HostOp) []HostOp {
	i := slices.IndexFunc(ops, func(op HostOp) bool { return op.Role == Wait })
	return slices.Insert(slices.Clone(ops), i, HostOp{Name: "gpu_model_runner: draft", Mean: 120, Noise: 0.08, Role: Speculate})
}

// checkHost wants one operation each that forwards and that waits, in this
// order, the waiting one and all after it not nested in what comes before.
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
