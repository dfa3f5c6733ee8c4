package sim

import (
	"fmt"
)

// The kernels whose names differ from engine to engine.
const (
	embedKernel = iota
	normKernel
	ropeKernel
	decodeKernel
	prefillKernel
	activationKernel
	gatherKernel // gathers the hidden states of the last tokens
	numKernels
)

// sampleKernel is one kernel of the sampler.
type sampleKernel struct {
	name string
	mean float64 // us
}

// names are the kernel names of one engine, by purpose.
type names struct {
	layer  [numKernels]string
	sample []sampleKernel
}

const argMax = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(T3)"

// kernelNames are the kernel names by Model.Kernels: TensorRT-LLM's, torch.compile's in
// vLLM, and PyTorch's own as in SGLang and older engines. In the last, one kernel does
// both the embedding and the gathering of the last tokens.
var kernelNames = map[string]names{
	"": {
		layer: [numKernels]string{
			embedKernel:      "void at::native::vectorized_gather_kernel<16, long>(char *, char *, T2 *, int, long, long, long, long, bool)",
			normKernel:       "void flashinfer::norm::RMSNormKernel<8, __nv_bfloat16>(T2 *, T2 *, T2 *, unsigned int, float)",
			ropeKernel:       "void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16, __nv_bfloat16, 64, false>(QKVPreprocessingParams<T1, T2>)",
			decodeKernel:     "fmhaSm100fKernel_QkvBfloat16OBfloat16HeadDim64PagedKvDenseP64VarSeqQ8Kv128StaticSwapsAbForGen",
			prefillKernel:    "fmha_v2_flash_attention_bf16_64_128_S_qkv_64_causal_sm90_kernel",
			activationKernel: "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>(T1 *, const T1 *, int)",
		},
		sample: []sampleKernel{
			{"void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float, float, float>>(int, T2, T3)", 1.8},
			{argMax, 6.2},
			{"void tensorrt_llm::kernels::topKStage1<float, 4, 128, 8>(const T1 *, T1 *, int *, T1 *)", 3.4},
		},
	},
	"compiled": {
		layer: [numKernels]string{
			embedKernel:      "triton_poi_fused_bitwise_and_bitwise_or_embedding_ge_lt_masked_fill_mul_sub_0",
			normKernel:       "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1",
			ropeKernel:       "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(const long *, T1 *, T1 *, const T1 *, int, long, long, int, int, int)",
			decodeKernel:     "void flash::FlashAttnFwdSm90<flash::enable_sm90_or_later<flash::CollectiveMainloopFwdSm90<2>>>(T1::Params)",
			prefillKernel:    "void flash::FlashAttnFwdSm90<flash::enable_sm90_or_later<flash::CollectiveMainloopFwdSm90<2>>>(T1::Params)",
			activationKernel: "triton_poi_fused_mul_silu_slice_3",
			gatherKernel:     "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<2>>>>(long, T3)",
		},
		sample: []sampleKernel{{argMax, 6.2}},
	},
	"torch": {
		layer: [numKernels]string{
			embedKernel:      "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>(T1, T1, T2)",
			normKernel:       "void flashinfer::norm::FusedAddRMSNormKernel<8, __nv_bfloat16>(T2 *, T2 *, T2 *, unsigned int, float)",
			ropeKernel:       "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 64, 8, 8, __nv_bfloat16, long>(T5 *)",
			decodeKernel:     "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2, 4, 8, 16, 8, 1>(T7)",
			prefillKernel:    "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128>>(T1)",
			activationKernel: "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>(T1 *, const T1 *, int)",
			gatherKernel:     "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>(T1, T1, T2)",
		},
		sample: []sampleKernel{
			{"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)>(int, T1)", 1.9},
			{"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float>(T4 *, const T2 *, int)", 7},
			{"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024, true, float, int>(T3 *)", 9.5},
		},
	},
}

// named returns a kernel with the engine's name for it.
func (b *modelBuilder) named(kind int, mean float64, api string) work {
	return b.kernel(kernelNames[b.c.Model.Kernels].layer[kind], mean, api)
}

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
	NoMarkers Markers = "none"    // forward steps have no range
)

// AllMarkers returns all wordings.
func AllMarkers() []Markers {
	return []Markers{TRTLLM1, TRTLLM2, TRTLLM3, TRTLLM4, VLLM, VLLM2, SGLang, NoMarkers}
}

// Marker returns the text of the range around a forward step, "" for NoMarkers.
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
