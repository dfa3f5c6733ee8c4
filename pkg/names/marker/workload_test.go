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
