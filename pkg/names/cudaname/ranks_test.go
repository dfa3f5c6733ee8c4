package cudaname

import "testing"

func TestGroupSize(t *testing.T) {
	for name, want := range map[string]int32{
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData *, vllm::RankSignals, vllm::Signal *, T1 *, int, int)":                                                         8,
		"void vllm::cross_device_reduce_2stage<__half, (int)4>(vllm::RankData *)":                                                                                                              4,
		"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(P)": 8,
		"void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)0, __half, (int)2, (bool)1>(P)":                 2,
		"void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, (int)4, (bool)1>(tensorrt_llm::kernels::AllReduceParams)":                                                           4,
		"void tensorrt_llm::allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16>(int)":                                                                                                       0,
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)":                                                                                              0,
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(T3)":                                                                                                              0,
		"void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, (int)16, (int)8>(T1 **, T1 *, unsigned long, unsigned long, unsigned int **, unsigned long, unsigned long)":     0, // the first number is an alignment
	} {
		if got := GroupSize(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
