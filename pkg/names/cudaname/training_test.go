package cudaname

import "testing"

func TestTrains(t *testing.T) {
	const multi = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
	for name, want := range map[string]bool{
		"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float>(float*)":                 true,
		"void at::native::(anonymous namespace)::softmax_warp_backward<float, float, 7, false, false>":   true,
		"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64>>":                 true,
		"fmha_cutlassB_f16_aligned_64x64_k64_sm80":                                                       true,
		"triton_red_fused_native_layer_norm_backward_3":                                                  true,
		multi + "FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4, ADAM_MODE::ADAMW>>": true,
		multi + "TensorListMetadata<3>, PointwiseOpScalarListFunctor<float, 4, 3, 0>>":                   true,
		"multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>>":               true,
		multi + "TensorListMetadata<2>, at::native::(anonymous namespace)::Copy<long, long>>":            false,
		multi + "TensorListMetadata<1>, UnaryOpFunctor<float>>":                                          false,
		"fmha_cutlassF_f16_aligned_64x64_rf_sm80":                                                        false,
		"void fft_backward_kernel<float>":                                                                false,
		"nvjet_hsh_128x64_64x8_1x2_h_bz_TNT":                                                             false,
		"":                                                                                               false,
	} {
		if got := Trains(name); got != want {
			t.Errorf("Trains(%q) = %v", name, got)
		}
	}
}
