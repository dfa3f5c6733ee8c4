package cudaname

import (
	"strings"
	"testing"
)

// Demangled names that more than one test needs.
const (
	cutlassFlash = `void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<(int)2, cutlass::gemm::TiledMma>>>>(T1::Params)`
	cutlassGEMM  = `void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<int>>>(T1::Params)`
	cutlassGroup = `void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>>>(T1::Params)`
	reduceAgent  = `void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__reduce::ReduceAgent<double *, double *, double, int, thrust::plus<double>>, double *>(T2)`
)

var kernelTests = []struct{ short, demangled, class string }{
	// All-reduce.
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", AllReduce},
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "void tensorrt_llm::ncclDevKernel_AllReduce_Sum_bf16_RING_LL<__nv_bfloat16>(int)", AllReduce},
	{"ncclKernel_AllReduce_RING_LL_Sum_half", "", AllReduce},
	{"ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16", "", AllReduce},
	{"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16", "", AllReduce},
	{"allreduce_fusion_kernel_oneshot_lamport", "void tensorrt_llm::allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16>(int)", AllReduce},
	{"allreduce_fusion_kernel_oneshot_lamport", "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)", AllReduce},
	{"allreduce_fusion_kernel_twoshot_sync", "", AllReduce},
	{"moereduce_allreduce_fusion_kernel_oneshot_lamport", "void flashinfer::trtllm_moe_allreduce_fusion::moereduce_allreduce_fusion_kernel_oneshot_lamport<__half, 8>(int)", AllReduce},
	{"moefinalize_allreduce_fusion_kernel_oneshot_lamport", "", AllReduce},
	{"lamport_style_one_shot_all_reduce_norm_kernel", "", AllReduce},
	{"one_shot_all_reduce_norm_kernel", "", AllReduce},
	{"one_shot_prenorm_all_reduce_norm_kernel", "", AllReduce},
	{"oneShotAllReduceKernel", "", AllReduce},
	{"twoShotAllReduceKernel", "", AllReduce},
	{"oneshotAllreduceFusionKernel", "", AllReduce},
	{"twoshotAllreduceKernel", "void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<__nv_bfloat16>(int)", AllReduce},
	{"userbuffers_fp16_sum_inplace_gpu_mc_rmsnorm", "", AllReduce},
	{"kernel_cutlass_AllReduceRMSNormBTKernel_object_at__0", "", AllReduce},
	{"FinalizeAllReduceRMSNormLLKernel", "", AllReduce},
	{"allreduce_kernel", "void flashinfer::mixed_comm::allreduce_kernel<__half>(int)", AllReduce},
	{"fused_allreduce_allgather_kernel", "", AllReduce},
	{"fused_reducescatter_allreduce_kernel", "", AllReduce},
	{"cross_device_reduce_1stage", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, (int)2>(vllm::RankData *, vllm::RankSignals, vllm::Signal *, T1 *, int, int)", AllReduce},
	{"cross_device_reduce_2stage", "", AllReduce},
	{"one_shot_all_reduce_kernel", "void <unnamed>::one_shot_all_reduce_kernel<c10::BFloat16, (int)16, (int)8>(T1 **, unsigned long)", AllReduce},
	{"two_shot_all_reduce_kernel", "", AllReduce},
	{"two_shot_all_reduce_kernel_inplace", "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(c10::BFloat16**, unsigned long)", AllReduce},
	{"multimem_all_reduce_kernel", "", AllReduce},
	{"multimem_one_shot_reduce_kernel", "void <unnamed>::multimem_one_shot_reduce_kernel<c10::BFloat16, (int)16>(T1 *)", AllReduce},
	{"device_kernel", "void cutlass::device_kernel<cutlass::gemm::kernel::GemmAllReduce<int>>(T1::Params)", AllReduce},
	{"", "void vllm::cross_device_reduce_1stage<float, (int)2>(int)", AllReduce},
	{"void vllm::cross_device_reduce_1stage<float, (int)2>(int)", "", AllReduce},

	// Named like an all-reduce, and none.
	{"lamport_initialize_kernel", "void flashinfer::trtllm_allreduce_fusion::lamport_initialize_kernel<float>(T1 *, unsigned long)", Other},
	{"lamport_initialize_kernel", "void flashinfer::trtllm_moe_allreduce_fusion::lamport_initialize_kernel<float>(T1 *)", Other},
	{"multi_gpu_barrier", "void tensorrt_llm::kernels::allreduce::multi_gpu_barrier(int)", Other},
	{"all_reduce_barrier_kernel", "", Other},
	{"barrier", "void deep_ep::intranode::barrier<(int)8>(int **, int)", Comm},
	{"rms_norm_kernel", "void tensorrt_llm::kernels::reduce_fusion::rms_norm_kernel<__half, (bool)0, (bool)1>(tensorrt_llm::kernels::AllReduceParams)", Norm},
	{"rms_norm_kernel", "void flashinfer::trtllm_allreduce::reduce_fusion::rms_norm_kernel<__half>(flashinfer::trtllm_allreduce::AllReduceParams<T1>)", Norm},
	{"triton_red_fused_add_all_reduce_mean_0", "triton_red_fused_add_all_reduce_mean_0", Reduce},
	{"reduce_kernel", "void tensorrt_llm::reduce_kernel<__nv_bfloat16>(int)", Reduce},

	// Other collectives.
	{"ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)", Comm},
	{"ncclDevKernel_AllGather_RING_LL", "", Comm},
	{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "", Comm},
	{"ncclDevKernel_Broadcast_RING_LL", "", Comm},
	{"ncclDevKernel_Reduce_Sum_f32_RING_LL", "", Comm},
	{"ncclSymDevKernel_AllGather_LLMC", "", Comm},
	{"ncclSymkDevKernel_ReduceScatter_LD_sum_f32", "", Comm},
	{"allgather_kernel", "void flashinfer::mixed_comm::allgather_kernel<__half>(int)", Comm},
	{"reducescatter_kernel", "", Comm},
	{"multimem_all_gather_kernel", "", Comm},
	{"multimem_reduce_scatter_kernel", "", Comm},
	{"rmsNormLamport", "void tensorrt_llm::kernels::mnnvl::rmsNormLamport<__nv_bfloat16, __nv_bfloat16, (int)1>(T1 *)", Comm},
	{"rmsNormLamport", "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__half>(flashinfer::trtllm_mnnvl_allreduce::AllReduceKernelParams<T1>)", Comm},
	{"rmsNormLamport_fusion", "", Comm},
	{"moeA2APrepareDispatchKernel", "", Comm},
	{"moeA2ADispatchKernel", "", Comm},
	{"moeA2ACombineKernel", "", Comm},
	{"moeA2ASanitizeExpertIdsKernel", "", Comm},
	{"moeAllToAllKernel", "", Comm},
	{"helixAllToAllKernel", "", Comm},
	{"allToAllMetadataDevice", "", Comm},
	{"ulysses_a2a_kernel", "", Comm},
	{"ipc_push_rsag_kernel", "", Comm},
	{"push_oneshot_kernel", "", Comm},
	{"dispatch", "void deep_ep::intranode::dispatch<(int)8, (int)768, (int)8192>(int4 *, float *)", Comm},
	{"combine", "void deep_ep::internode_ll::combine<(bool)0, (int)7168, (int)9>(void *)", Comm},
	{"notify_dispatch", "void deep_ep::internode::notify_dispatch<(bool)0, (int)8>(int *)", Comm},
	{"cached_notify_combine", "void deep_ep::intranode::cached_notify_combine<(int)8>(void **)", Comm},
	{"dispatch", "dispatch(int)", Other},
	{"combine", "", Other},

	// Mixture of experts.
	{"topkGatingSoftmax", "void vllm::moe::topkGatingSoftmax<(int)8, (int)128>(float *)", MoE},
	{"routingIndicesClusterKernel", "", MoE},
	{"moe_align_block_size_kernel", "", MoE},
	{"fused_moe_kernel", "fused_moe_kernel", MoE},
	{"Fused_Moe_Kernel_sm80", "", MoE},
	{"finalizeMoeRoutingKernel", "", MoE},
	{"expandInputRowsKernel", "", MoE},
	{"bmm_E4m3_E4m3E4m3_Fp32_t128x8x128_s6_et64x8_m64x8x32", "", MoE},
	{"group_gemm_starts", "", MoE},
	{"device_kernel", cutlassGroup, MoE},
	{"Marlin", "void marlin_moe_wna16::Marlin<__half, (int)256>(int4 *)", MoE},

	// Attention.
	{"flash_fwd_kernel", "void flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128>>(Flash_fwd_params)", Attention},
	{"flash_fwd_splitkv_combine_kernel", "", Attention},
	{"device_kernel", cutlassFlash, Attention},
	{"fmhaSm100fKernel_QkvBfloat16OBfloat16", "void tensorrt_llm::fmhaSm100fKernel_QkvBfloat16OBfloat16<__nv_bfloat16>(int)", Attention},
	{"kernel_mha", "", Attention},
	{"masked_multihead_attention_kernel", "", Attention},
	{"mmha_kernel", "", Attention},
	{"paged_attention_v2_kernel", "", Attention},
	{"_fwd_grouped_kernel_stage1", "_fwd_grouped_kernel_stage1", Attention},
	{"_fwd_kernel", "_fwd_kernel", Attention},
	{"kernel_unified_attention_2d", "", Attention},
	{"BatchDecodeWithPagedKVCacheKernel", "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(int)1>(T1)", Attention},
	{"flash_fwd_splitkv_mla_kernel", "", Attention},
	{"masked_softmax_kernel", "", Attention},
	{"softmax_warp_forward", "void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)0, (bool)0>(T2 *, const T1 *, int, int, int, const bool *, int, bool)", Attention},
	{"soft_max_f32", "", Attention},
	{"mul_mat_vec_q", "", GEMM},
	{"scaled_masked_softmax_warp_forward", "", Attention},
	{"applyBiasRopeUpdateKVCacheV2", "void tensorrt_llm::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16>(int)", Attention},
	{"reshape_and_cache_flash_kernel", "", Attention},
	{"concat_and_cache_mla_kernel", "", Attention},
	{"store_kvcache", "", Attention},

	// GEMM.
	{"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "void tensorrt_llm::nvjet_tst_64x8_64x16_4x1_v_bz_TNT<__nv_bfloat16>(int)", GEMM},
	{"nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "", GEMM},
	{"nvjet_tst_64x8_64x16_2x1_v_bz_TNN", "", GEMM},
	{"nvjet_tst_128x8_64x12_2x1_v_bz_TNT", "", GEMM},
	{"nvjet_tst_lm_head_TNT", "", GEMM},
	{"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "", GEMM},
	{"splitKreduce_kernel", "void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, double, double>(cublasLt::cublasSplitKParams<T6>, const T4 *)", GEMM},
	{"ampere_sgemm_128x64_nn", "", GEMM},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas", "", GEMM},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas", "", GEMM},
	{"sm80_xmma_fprop_implicit_gemm_indexed_f16f16_trt", "", GEMM},
	{"trt_ampere_h16816gemm_128x64_ldg8_stages_64x5_nn_v1", "", GEMM},
	{"gemv2N_kernel", "", GEMM},
	{"gemv2T_kernel_val", "void gemv2T_kernel_val<int, int, double, double, double, double, (int)128, (int)16, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<const double>>>(T13, T6, T6)", GEMM},
	{"gemmSN_NN_kernel", "", GEMM},
	{"implicit_convolve_sgemm", "", GEMM},
	{"device_kernel", cutlassGEMM, GEMM},
	{"Kernel2", "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(T1::Params)", GEMM},
	{"_w8a8_block_fp8_matmul", "", GEMM},
	{"triton_tem_fused_mm_0", "triton_tem_fused_mm_0", GEMM},

	// Norm, rope, activation, quant.
	{"vectorized_layer_norm_kernel", "void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float>(int)", Norm},
	{"rms_norm_kernel", "void tensorrt_llm::rms_norm_kernel<__nv_bfloat16>(int)", Norm},
	{"RMSNormKernel", "void flashinfer::norm::RMSNormKernel<(unsigned int)8, __half>(T2 *)", Norm},
	{"FusedAddRMSNormKernel", "", Norm},
	{"fused_add_rms_norm_static_fp8_quant_kernel", "", Norm},
	{"fusedQKNormRopeKernel", "", Norm},
	{"_layer_norm_fwd_1pass_kernel", "", Norm},
	{"rotary_embedding_kernel", "void vllm::rotary_embedding_kernel<__half, (bool)1>(const long *)", RoPE},
	{"BatchQKApplyRotaryPosIdsCosSinCacheKernel", "", RoPE},
	{"applyRopeKernel", "", RoPE},
	{"properties_kernel", "", Other},
	{"silu_and_mul_kernel", "void tensorrt_llm::silu_and_mul_kernel<__nv_bfloat16>(int)", Activation},
	{"act_and_mul_kernel", "void vllm::act_and_mul_kernel<__half, &vllm::silu_kernel>(T1 *)", Activation},
	{"doGatedActivationKernel", "", Activation},
	{"scaled_fp8_quant_kernel", "", Quant},
	{"cvt_fp16_to_fp4", "", Quant},
	{"quantize_with_block_size", "", Quant},
	{"_per_token_group_quant_fp8", "", Quant},

	// Sampling, copy.
	{"fast_greedy_sample_kernel", "void tensorrt_llm::fast_greedy_sample_kernel<__nv_bfloat16>(int)", Sampling},
	{"cunn_SoftMaxForward", "", Sampling},
	{"gatherTopK", "", Sampling},
	{"TopKTopPSamplingFromProbKernel", "", Sampling},
	{"TopPRenormProbKernel", "", Sampling},
	{"CatArrayBatchedCopy_vectorized", "void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::<unnamed>::OpaqueType<(unsigned int)4>, unsigned int, (int)1>(char *, T2)", Copy},
	{"vectorized_gather_kernel", "void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int, long, long, long, long, bool)", Copy},
	{"indexSelectLargeIndex", "", Copy},
	{"embedding_kernel", "void tensorrt_llm::embedding_kernel<__nv_bfloat16>(int)", Copy},
	{"cupy_copy__float64_float64", "cupy_copy__float64_float64", Copy},

	// Elementwise, whatever the functor.
	{"vectorized_elementwise_kernel", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, std::array<char *, (unsigned long)1>>(int, T2, T3)", Elementwise},
	{"vectorized_elementwise_kernel", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)3>>(int, T2, T3)", Elementwise},
	{"elementwise_kernel", "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)", Elementwise},
	{"unrolled_elementwise_kernel", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)], std::array<char *, (unsigned long)2>>(int)", Elementwise},
	{"elementwise_kernel_with_index", "void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &)::[lambda() (instance 1)]>(T1, T2)", Elementwise},
	{"distribution_elementwise_grid_stride_kernel", "void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4, void at::native::templates::cuda::normal_and_transform<float>()>(int)", Elementwise},
	{"index_elementwise_kernel", "void tensorrt_llm::index_elementwise_kernel<__nv_bfloat16>(int)", Elementwise},
	{"cupy_fill", "cupy_fill", Elementwise},
	{"cupy_multiply__float64_float64_float64", "cupy_multiply__float64_float64_float64", Elementwise},
	{"cupy_sqrt__float64_float64", "", Elementwise},
	{"cupy_subtract__float64_float64_float64", "", Elementwise},
	{"cupy_true_divide__float64_float64_float64", "", Elementwise},
	{"triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0", Elementwise},
	{"triton_poi_fused__to_copy_addmm_cat_0", "", Elementwise},
	{"triton_poi_fused_mul_silu_1", "", Activation},

	// Reductions.
	{"reduce_kernel", "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, (int)4, (int)4>>(T3)", Reduce},
	{"DeviceReduceKernel", "void cub::CUB_200600_500_520_NS::DeviceReduceKernel<cub::CUB_200600_500_520_NS::DeviceReducePolicy<double>::Policy600>(T2)", Reduce},
	{"DeviceReduceSingleTileKernel", "", Reduce},
	{"_kernel_agent", reduceAgent, Reduce},
	{"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", "", Reduce},
	{"triton_per_fused_sum_1", "", Reduce},

	{"_kernel_agent", "", Other},
	{"PackKernel", "void flashinfer::PackKernel<__half>(T1 *)", Other},
	{"saxpy", "saxpy(double *, double *, double *, double, int)", Other},
	{"add_one", "add_one(const float *, float *, int)", Other},
	{"", "", Other},
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
	known := map[string]bool{}
	for _, class := range []string{
		AllReduce, Comm, Attention, GEMM, MoE, Norm, RoPE, Activation, Quant,
		Sampling, Elementwise, Reduce, Copy, Other,
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
		"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib":      {"add_rmsnorm_quant_kernel", Norm},
		"_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i": {"act_and_mul_kernel", Activation},
		"_Z9my_kernelPfi.kd": {"my_kernel", Other},
		"_Z":                 {"_Z", Other},
		"_ZN5aiter24add_rms": {"_ZN5aiter24add_rms", Other},
		"Cijk_Alik_Bljk_BBS": {"Cijk_Alik_Bljk_BBS", GEMM},
	} {
		name := Demangle(mangled)
		if got := [2]string{ShortKernel(name), ClassKernel("", name)}; got != want {
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
	for name, want := range map[string]string{"gemm" + strings.Repeat(pad, 64): GEMM, pad + "gemm": Other, pad[4:] + "gemm": GEMM} {
		if got := ClassKernel("", name); got != want {
			t.Errorf("%d bytes: %s, want %s", len(name), got, want)
		}
	}
}
