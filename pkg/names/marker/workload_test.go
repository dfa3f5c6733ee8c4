package marker

import "testing"

func TestTrains(t *testing.T) {
	for text, want := range map[string]bool{
		"autograd::engine::evaluate_function: AddmmBackward0": true, "torch::autograd::AccumulateGrad": true,
		"AddmmBackward0": true, "CudnnBatchNormBackward": true, "<backward op>": true, "## backward ##": true, "backward": true,
		"aten::native_layer_norm_backward": true, "aten::_softmax_backward_data": true, "loss.backward()": true, "backward-compute": true,
		"MulBackward0, seq = 12": true, "Optimizer.step#Adam.step": true, "Optimizer.zero_grad#SGD.zero_grad": true, "optimizer_step": true,
		"": false, "forward": false, "backwards": false, "optimizer": false, "Optimizer.steps": false, "optimize model": false, "o": false,
		"_forward_step: 0 ctx reqs, 4 gen reqs": false, "aten::add": false, "multi_tensor": false,
	} {
		if got := Trains(text); got != want {
			t.Errorf("Trains(%q) = %v", text, got)
		}
	}
}

func TestDiffuses(t *testing.T) {
	for text, want := range map[string]bool{
		"execute_diffusion_1_256x256": true, "StableDiffusionPipeline": true, "denoising step 3": true, "Denoise": true,
		"": false, "execute_context_1(5)_generation_0(0)": false, "fusion": false, "noise": false,
	} {
		if got := Diffuses(text); got != want {
			t.Errorf("Diffuses(%q) = %v", text, got)
		}
	}
}

// A wording that is not known is noticed; a known one, and what is no marker in any, are not.
func TestAlmost(t *testing.T) {
	for _, text := range []string{
		"[Executor] _forward_step 3: 1 ctx reqs, 9 ctx tkns, 4 gen reqs",
		"_forward_step: 0 ctx requests, 4 gen requests", "forward_step 12", "[Executor]_forward_step: 0 ctx reqs, 4 gen reqs",
		"execute_context_2_generation_6", "execute_context_2(512)_generation_6(6) ", "execute_generation_6(6)",
		"execute_new_1_cached_", "execute_model context_2 generation_0", "step[DECODE, bs=12]", "step[DECODE bs=12",
	} {
		if !Almost(text) {
			t.Errorf("Almost(%q) = false", text)
		}
	}
	for _, test := range markerTests {
		if Almost(test.text) {
			t.Errorf("Almost(%q), which is a marker", test.text)
		}
	}
	for _, text := range []string{"", "_forward_step", "_forward_step_inter_pp", "forward_step_2d", "execute_model", "execute_diffusion_1_256x256", "step 12", "step[0]", "_prepare_inputs", "ProfilerStep#"} {
		if Almost(text) {
			t.Errorf("Almost(%q), which is no marker in any wording", text)
		}
	}
}
