package cudaname

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Demangled names that more than one test needs.
const (
	cutlassFlash = `void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<(int)2, cutlass::gemm::TiledMma>>>>(T1::Params)`
	cutlassGEMM  = `void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<int>>>(T1::Params)`
	cutlassGroup = `void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>>>(T1::Params)`
	reduceAgent  = `void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__reduce::ReduceAgent<double *, double *, double, int, thrust::plus<double>>, double *>(T2)`
)

var kernelTests = []struct {
	short, demangled string
	class            event.Class
}{
	// All-reduce.
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", event.Allreduce},
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "void tensorrt_llm::ncclDevKernel_AllReduce_Sum_bf16_RING_LL<__nv_bfloat16>(int)", event.Allreduce},
	{"ncclKernel_AllReduce_RING_LL_Sum_half", "", event.Allreduce},
	{"ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16", "", event.Allreduce},
	{"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16", "", event.Allreduce},
	{"allreduce_fusion_kernel_oneshot_lamport", "void tensorrt_llm::allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16>(int)", event.Allreduce},
	{"allreduce_fusion_kernel_oneshot_lamport", "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)", event.Allreduce},
	{"allreduce_fusion_kernel_twoshot_sync", "", event.Allreduce},
	{"moereduce_allreduce_fusion_kernel_oneshot_lamport", "void flashinfer::trtllm_moe_allreduce_fusion::moereduce_allreduce_fusion_kernel_oneshot_lamport<__half, 8>(int)", event.Allreduce},
	{"moefinalize_allreduce_fusion_kernel_oneshot_lamport", "", event.Allreduce},
	{"lamport_style_one_shot_all_reduce_norm_kernel", "", event.Allreduce},
	{"one_shot_all_reduce_norm_kernel", "", event.Allreduce},
	{"one_shot_prenorm_all_reduce_norm_kernel", "", event.Allreduce},
	{"oneShotAllReduceKernel", "", event.Allreduce},
	{"twoShotAllReduceKernel", "", event.Allreduce},
	{"oneshotAllreduceFusionKernel", "", event.Allreduce},
	{"twoshotAllreduceKernel", "void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<__nv_bfloat16>(int)", event.Allreduce},
	{"userbuffers_fp16_sum_inplace_gpu_mc_rmsnorm", "", event.Allreduce},
	{"kernel_cutlass_AllReduceRMSNormBTKernel_object_at__0", "", event.Allreduce},
	{"FinalizeAllReduceRMSNormLLKernel", "", event.Allreduce},
	{"allreduce_kernel", "void flashinfer::mixed_comm::allreduce_kernel<__half>(int)", event.Allreduce},
	{"fused_allreduce_allgather_kernel", "", event.Allreduce},
	{"fused_reducescatter_allreduce_kernel", "", event.Allreduce},
	{"cross_device_reduce_1stage", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, (int)2>(vllm::RankData *, vllm::RankSignals, vllm::Signal *, T1 *, int, int)", event.Allreduce},
	{"cross_device_reduce_2stage", "", event.Allreduce},
	{"one_shot_all_reduce_kernel", "void <unnamed>::one_shot_all_reduce_kernel<c10::BFloat16, (int)16, (int)8>(T1 **, unsigned long)", event.Allreduce},
	{"two_shot_all_reduce_kernel", "", event.Allreduce},
	{"two_shot_all_reduce_kernel_inplace", "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(c10::BFloat16**, unsigned long)", event.Allreduce},
	{"multimem_all_reduce_kernel", "", event.Allreduce},
	{"multimem_one_shot_reduce_kernel", "void <unnamed>::multimem_one_shot_reduce_kernel<c10::BFloat16, (int)16>(T1 *)", event.Allreduce},
	{"device_kernel", "void cutlass::device_kernel<cutlass::gemm::kernel::GemmAllReduce<int>>(T1::Params)", event.Allreduce},
	{"", "void vllm::cross_device_reduce_1stage<float, (int)2>(int)", event.Allreduce},
	{"void vllm::cross_device_reduce_1stage<float, (int)2>(int)", "", event.Allreduce},

	// Named like an all-reduce, and none.
	{"lamport_initialize_kernel", "void flashinfer::trtllm_allreduce_fusion::lamport_initialize_kernel<float>(T1 *, unsigned long)", event.Other},
	{"lamport_initialize_kernel", "void flashinfer::trtllm_moe_allreduce_fusion::lamport_initialize_kernel<float>(T1 *)", event.Other},
	{"multi_gpu_barrier", "void tensorrt_llm::kernels::allreduce::multi_gpu_barrier(int)", event.Other},
	{"all_reduce_barrier_kernel", "", event.Other},
	{"barrier", "void deep_ep::intranode::barrier<(int)8>(int **, int)", event.Comm},
	{"rms_norm_kernel", "void tensorrt_llm::kernels::reduce_fusion::rms_norm_kernel<__half, (bool)0, (bool)1>(tensorrt_llm::kernels::AllReduceParams)", event.Norm},
	{"rms_norm_kernel", "void flashinfer::trtllm_allreduce::reduce_fusion::rms_norm_kernel<__half>(flashinfer::trtllm_allreduce::AllReduceParams<T1>)", event.Norm},
	{"triton_red_fused_add_all_reduce_mean_0", "triton_red_fused_add_all_reduce_mean_0", event.Reduce},
	{"reduce_kernel", "void tensorrt_llm::reduce_kernel<__nv_bfloat16>(int)", event.Reduce},

	// Other collectives.
	{"ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)", event.Comm},
	{"ncclDevKernel_AllGather_RING_LL", "", event.Comm},
	{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "", event.Comm},
	{"ncclDevKernel_Broadcast_RING_LL", "", event.Comm},
	{"ncclDevKernel_Reduce_Sum_f32_RING_LL", "", event.Comm},
	{"ncclSymDevKernel_AllGather_LLMC", "", event.Comm},
	{"ncclSymkDevKernel_ReduceScatter_LD_sum_f32", "", event.Comm},
	{"allgather_kernel", "void flashinfer::mixed_comm::allgather_kernel<__half>(int)", event.Comm},
	{"reducescatter_kernel", "", event.Comm},
	{"multimem_all_gather_kernel", "", event.Comm},
	{"multimem_reduce_scatter_kernel", "", event.Comm},
	{"rmsNormLamport", "void tensorrt_llm::kernels::mnnvl::rmsNormLamport<__nv_bfloat16, __nv_bfloat16, (int)1>(T1 *)", event.Comm},
	{"rmsNormLamport", "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__half>(flashinfer::trtllm_mnnvl_allreduce::AllReduceKernelParams<T1>)", event.Comm},
	{"rmsNormLamport_fusion", "", event.Comm},
	{"moeA2APrepareDispatchKernel", "", event.Comm},
	{"moeA2ADispatchKernel", "", event.Comm},
	{"moeA2ACombineKernel", "", event.Comm},
	{"moeA2ASanitizeExpertIdsKernel", "", event.Comm},
	{"moeAllToAllKernel", "", event.Comm},
	{"helixAllToAllKernel", "", event.Comm},
	{"allToAllMetadataDevice", "", event.Comm},
	{"ulysses_a2a_kernel", "", event.Comm},
	{"ipc_push_rsag_kernel", "", event.Comm},
	{"push_oneshot_kernel", "", event.Comm},
	{"dispatch", "void deep_ep::intranode::dispatch<(int)8, (int)768, (int)8192>(int4 *, float *)", event.Comm},
	{"combine", "void deep_ep::internode_ll::combine<(bool)0, (int)7168, (int)9>(void *)", event.Comm},
	{"notify_dispatch", "void deep_ep::internode::notify_dispatch<(bool)0, (int)8>(int *)", event.Comm},
	{"cached_notify_combine", "void deep_ep::intranode::cached_notify_combine<(int)8>(void **)", event.Comm},
	{"dispatch", "dispatch(int)", event.Other},
	{"combine", "", event.Other},

	// Mixture of experts.
	{"topkGatingSoftmax", "void vllm::moe::topkGatingSoftmax<(int)8, (int)128>(float *)", event.MoE},
	{"routingIndicesClusterKernel", "", event.MoE},
	{"moe_align_block_size_kernel", "", event.MoE},
	{"fused_moe_kernel", "fused_moe_kernel", event.MoE},
	{"Fused_Moe_Kernel_sm80", "", event.MoE},
	{"finalizeMoeRoutingKernel", "", event.MoE},
	{"expandInputRowsKernel", "", event.MoE},
	{"bmm_E4m3_E4m3E4m3_Fp32_t128x8x128_s6_et64x8_m64x8x32", "", event.MoE},
	{"group_gemm_starts", "", event.MoE},
	{"device_kernel", cutlassGroup, event.MoE},
	{"Marlin", "void marlin_moe_wna16::Marlin<__half, (int)256>(int4 *)", event.MoE},

	// Attention.
	{"flash_fwd_kernel", "void flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128>>(Flash_fwd_params)", event.Attention},
	{"flash_fwd_splitkv_combine_kernel", "", event.Attention},
	{"device_kernel", cutlassFlash, event.Attention},
	{"fmhaSm100fKernel_QkvBfloat16OBfloat16", "void tensorrt_llm::fmhaSm100fKernel_QkvBfloat16OBfloat16<__nv_bfloat16>(int)", event.Attention},
	{"kernel_mha", "", event.Attention},
	{"masked_multihead_attention_kernel", "", event.Attention},
	{"mmha_kernel", "", event.Attention},
	{"paged_attention_v2_kernel", "", event.Attention},
	{"_fwd_grouped_kernel_stage1", "_fwd_grouped_kernel_stage1", event.Attention},
	{"_fwd_kernel", "_fwd_kernel", event.Attention},
	{"kernel_unified_attention_2d", "", event.Attention},
	{"BatchDecodeWithPagedKVCacheKernel", "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(int)1>(T1)", event.Attention},
	{"flash_fwd_splitkv_mla_kernel", "", event.Attention},
	{"masked_softmax_kernel", "", event.Attention},
	{"softmax_warp_forward", "void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)0, (bool)0>(T2 *, const T1 *, int, int, int, const bool *, int, bool)", event.Attention},
	{"soft_max_f32", "", event.Attention},
	{"mul_mat_vec_q", "", event.GEMM},
	{"scaled_masked_softmax_warp_forward", "", event.Attention},
	{"applyBiasRopeUpdateKVCacheV2", "void tensorrt_llm::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16>(int)", event.Attention},
	{"reshape_and_cache_flash_kernel", "", event.Attention},
	{"concat_and_cache_mla_kernel", "", event.Attention},
	{"store_kvcache", "", event.Attention},

	// GEMM.
	{"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "void tensorrt_llm::nvjet_tst_64x8_64x16_4x1_v_bz_TNT<__nv_bfloat16>(int)", event.GEMM},
	{"nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "", event.GEMM},
	{"nvjet_tst_64x8_64x16_2x1_v_bz_TNN", "", event.GEMM},
	{"nvjet_tst_128x8_64x12_2x1_v_bz_TNT", "", event.GEMM},
	{"nvjet_tst_lm_head_TNT", "", event.GEMM},
	{"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "", event.GEMM},
	{"splitKreduce_kernel", "void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, double, double>(cublasLt::cublasSplitKParams<T6>, const T4 *)", event.GEMM},
	{"ampere_sgemm_128x64_nn", "", event.GEMM},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas", "", event.GEMM},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas", "", event.GEMM},
	{"sm80_xmma_fprop_implicit_gemm_indexed_f16f16_trt", "", event.GEMM},
	{"trt_ampere_h16816gemm_128x64_ldg8_stages_64x5_nn_v1", "", event.GEMM},
	{"gemv2N_kernel", "", event.GEMM},
	{"gemv2T_kernel_val", "void gemv2T_kernel_val<int, int, double, double, double, double, (int)128, (int)16, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<const double>>>(T13, T6, T6)", event.GEMM},
	{"gemmSN_NN_kernel", "", event.GEMM},
	{"implicit_convolve_sgemm", "", event.GEMM},
	{"device_kernel", cutlassGEMM, event.GEMM},
	{"Kernel2", "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(T1::Params)", event.GEMM},
	{"_w8a8_block_fp8_matmul", "", event.GEMM},
	{"triton_tem_fused_mm_0", "triton_tem_fused_mm_0", event.GEMM},

	// Norm, rope, activation, quant.
	{"vectorized_layer_norm_kernel", "void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float>(int)", event.Norm},
	{"rms_norm_kernel", "void tensorrt_llm::rms_norm_kernel<__nv_bfloat16>(int)", event.Norm},
	{"RMSNormKernel", "void flashinfer::norm::RMSNormKernel<(unsigned int)8, __half>(T2 *)", event.Norm},
	{"FusedAddRMSNormKernel", "", event.Norm},
	{"fused_add_rms_norm_static_fp8_quant_kernel", "", event.Norm},
	{"fusedQKNormRopeKernel", "", event.Norm},
	{"_layer_norm_fwd_1pass_kernel", "", event.Norm},
	{"rotary_embedding_kernel", "void vllm::rotary_embedding_kernel<__half, (bool)1>(const long *)", event.RoPE},
	{"BatchQKApplyRotaryPosIdsCosSinCacheKernel", "", event.RoPE},
	{"applyRopeKernel", "", event.RoPE},
	{"properties_kernel", "", event.Other},
	{"silu_and_mul_kernel", "void tensorrt_llm::silu_and_mul_kernel<__nv_bfloat16>(int)", event.Activation},
	{"act_and_mul_kernel", "void vllm::act_and_mul_kernel<__half, &vllm::silu_kernel>(T1 *)", event.Activation},
	{"doGatedActivationKernel", "", event.Activation},
	{"scaled_fp8_quant_kernel", "", event.Quant},
	{"cvt_fp16_to_fp4", "", event.Quant},
	{"quantize_with_block_size", "", event.Quant},
	{"_per_token_group_quant_fp8", "", event.Quant},

	// Sampling, copy.
	{"fast_greedy_sample_kernel", "void tensorrt_llm::fast_greedy_sample_kernel<__nv_bfloat16>(int)", event.Sampling},
	{"cunn_SoftMaxForward", "", event.Sampling},
	{"gatherTopK", "", event.Sampling},
	{"TopKTopPSamplingFromProbKernel", "", event.Sampling},
	{"TopPRenormProbKernel", "", event.Sampling},
	{"CatArrayBatchedCopy_vectorized", "void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::<unnamed>::OpaqueType<(unsigned int)4>, unsigned int, (int)1>(char *, T2)", event.Copy},
	{"vectorized_gather_kernel", "void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int, long, long, long, long, bool)", event.Copy},
	{"indexSelectLargeIndex", "", event.Copy},
	{"embedding_kernel", "void tensorrt_llm::embedding_kernel<__nv_bfloat16>(int)", event.Copy},
	{"cupy_copy__float64_float64", "cupy_copy__float64_float64", event.Copy},

	// Elementwise, whatever the functor.
	{"vectorized_elementwise_kernel", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, std::array<char *, (unsigned long)1>>(int, T2, T3)", event.Elementwise},
	{"vectorized_elementwise_kernel", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)3>>(int, T2, T3)", event.Elementwise},
	{"elementwise_kernel", "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)", event.Elementwise},
	{"unrolled_elementwise_kernel", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)], std::array<char *, (unsigned long)2>>(int)", event.Elementwise},
	{"elementwise_kernel_with_index", "void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &)::[lambda() (instance 1)]>(T1, T2)", event.Elementwise},
	{"distribution_elementwise_grid_stride_kernel", "void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4, void at::native::templates::cuda::normal_and_transform<float>()>(int)", event.Elementwise},
	{"index_elementwise_kernel", "void tensorrt_llm::index_elementwise_kernel<__nv_bfloat16>(int)", event.Elementwise},
	{"cupy_fill", "cupy_fill", event.Elementwise},
	{"cupy_multiply__float64_float64_float64", "cupy_multiply__float64_float64_float64", event.Elementwise},
	{"cupy_sqrt__float64_float64", "", event.Elementwise},
	{"cupy_subtract__float64_float64_float64", "", event.Elementwise},
	{"cupy_true_divide__float64_float64_float64", "", event.Elementwise},
	{"triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0", event.Elementwise},
	{"triton_poi_fused__to_copy_addmm_cat_0", "", event.Elementwise},
	{"triton_poi_fused_mul_silu_1", "", event.Activation},

	// Reductions.
	{"reduce_kernel", "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, (int)4, (int)4>>(T3)", event.Reduce},
	{"DeviceReduceKernel", "void cub::CUB_200600_500_520_NS::DeviceReduceKernel<cub::CUB_200600_500_520_NS::DeviceReducePolicy<double>::Policy600>(T2)", event.Reduce},
	{"DeviceReduceSingleTileKernel", "", event.Reduce},
	{"_kernel_agent", reduceAgent, event.Reduce},
	{"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", "", event.Reduce},
	{"triton_per_fused_sum_1", "", event.Reduce},

	{"_kernel_agent", "", event.Other},
	{"PackKernel", "void flashinfer::PackKernel<__half>(T1 *)", event.Other},
	{"saxpy", "saxpy(double *, double *, double *, double, int)", event.Other},
	{"add_one", "add_one(const float *, float *, int)", event.Other},
	{"", "", event.Other},
}

func TestClassKernel(t *testing.T) {
	for _, test := range kernelTests {
		if got := ClassKernel(test.short, test.demangled); got != test.class {
			t.Errorf("ClassKernel(%q, %q) = %q, want %q", test.short, test.demangled, got, test.class)
		}
	}
}

func TestSymbol(t *testing.T) {
	tests := []struct {
		short, demangled string
		want             symbol
	}{
		{"f", "f", symbol{"f", "f", "f"}},
		{"", "void a::f<b::c(int)>(d)", symbol{"f", "a::f", "void a::f<b::c(int)>"}},
		{"g", "void a::f(d)", symbol{"g", "a::f", "void a::f"}},
		{"", "std::enable_if<x, void>::type (anonymous namespace)::f<1>(int)", symbol{"f", "::f", "std::enable_if<x, void>::type <unnamed>::f<1>"}},
		{"", "void f<decltype(a->b)>(int)", symbol{"f", "f", "void f<decltype(a->b)>"}},
		{"", "void a::f<b<c", symbol{"f", "a::f", "void a::f<b<c"}},
		{"", "a::", symbol{"a::", "a::", "a::"}},
		{"", ">>f", symbol{">>f", ">>f", ">>f"}},
	}
	for _, test := range tests {
		if got := newSymbol(test.short, test.demangled); got != test.want {
			t.Errorf("newSymbol(%q, %q) = %+v, want %+v", test.short, test.demangled, got, test.want)
		}
	}
}

func FuzzClassKernel(f *testing.F) {
	for _, test := range kernelTests {
		f.Add(test.short, test.demangled)
	}
	known := map[event.Class]bool{}
	for _, class := range []event.Class{
		event.Allreduce, event.Comm, event.Attention, event.GEMM, event.MoE, event.Norm, event.RoPE, event.Activation, event.Quant,
		event.Sampling, event.Elementwise, event.Reduce, event.Copy, event.Other,
	} {
		known[class] = true
	}
	f.Fuzz(func(t *testing.T, short, demangled string) {
		class := ClassKernel(short, demangled)
		if !known[class] {
			t.Errorf("ClassKernel(%q, %q) = %q, which is no class", short, demangled, class)
		}
		if again := ClassKernel(short, demangled); again != class {
			t.Errorf("ClassKernel(%q, %q) = %q, then %q", short, demangled, class, again)
		}
	})
}

func TestShortKernel(t *testing.T) {
	for demangled, want := range map[string]string{
		"std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)":                       "fused_add_rms_norm_kernel",
		"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)":      "indexSelectLargeIndex",
		"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<f(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>(int, T)>(int, T)": "elementwise_kernel",
		"nvjet_tst_64x8_64x16_4x1_v_bz_TNT": "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
		"triton_poi_fused_add_0":            "triton_poi_fused_add_0",
		"":                                  "",
	} {
		if got := ShortKernel(demangled); got != want {
			t.Errorf("ShortKernel(%q) = %q, want %q", demangled, got, want)
		}
	}
}

// TestDemangle reads mangled names as ROCm records them, and leaves all others.
func TestDemangle(t *testing.T) {
	for mangled, want := range map[string][2]string{
		"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib":      {"add_rmsnorm_quant_kernel", event.Norm.String()},
		"_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i": {"act_and_mul_kernel", event.Activation.String()},
		"_Z9my_kernelPfi.kd": {"my_kernel", event.Other.String()},
		"_Z":                 {"_Z", event.Other.String()},
		"_ZN5aiter24add_rms": {"_ZN5aiter24add_rms", event.Other.String()},
		"Cijk_Alik_Bljk_BBS": {"Cijk_Alik_Bljk_BBS", event.GEMM.String()},
	} {
		name := Demangle(mangled)
		if got := [2]string{ShortKernel(name), ClassKernel("", name).String()}; got != want {
			t.Errorf("%s: %s: %s, want %s", mangled, name, got, want)
		}
	}
	if name := "_Z" + strings.Repeat("PN1aI", 1<<16); len(Demangle(name)) > len(name) {
		t.Error("a long name that is none becomes longer")
	}
}

// TestLongName looks up names longer than any compiler's: each takes no more time than what is
// looked at of it.
func TestLongName(t *testing.T) {
	pad := strings.Repeat("a", maxClassed)
	for name, want := range map[string]event.Class{"gemm" + strings.Repeat(pad, 64): event.GEMM, pad + "gemm": event.Other, pad[4:] + "gemm": event.GEMM} {
		if got := ClassKernel("", name); got != want {
			t.Errorf("%d bytes: %s, want %s", len(name), got, want)
		}
	}
}
