package sim

// work is one piece of GPU work of a step: a kernel, or a copy if bytes is set.
type work struct {
	name       NameID
	mean       float64 // microseconds
	api        StringID
	bytes      int64
	kind       uint8
	collective bool
}

// collectiveNames are the demangled names of the allreduce kernels.
var collectiveNames = map[string]string{
	"trtllm": "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 2, false, false>(tensorrt_llm::kernels::ar_fusion::AllReduceFusionParams)",
	"nccl":   "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
	"vllm":   "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData *, vllm::RankSignals, vllm::Signal *, T1 *, int, int)",
}

// The launching calls, in the spelling of the exports.
const (
	apiLaunch   = "cudaLaunchKernel_v7000"
	apiLaunchEx = "cudaLaunchKernelExC_v11060"
	apiDriver   = "cuLaunchKernelEx"
	apiGraph    = "cudaGraphLaunch_v10000"
	apiCopy     = "cudaMemcpyAsync_v3020"
	apiRecord   = "cudaEventRecord_v3020"
	apiWait     = "cudaEventSynchronize_v3020"
	apiQuery    = "cudaEventQuery_v3020"
	apiMalloc   = "cudaMalloc_v3020"
	apiFree     = "cudaFree_v3020"
	apiLoad     = "cuModuleLoadData"
)

// model is the GPU work of a step: of the forward pass, of sampling.
type model struct {
	inputs  []work // copies to the GPU
	layers  []work // the forward pass
	sample  []work // sampling kernels, and the copy back
	context []work // the forward pass of a context step
}

// newModel interns the kernel names of the run.
func newModel(t *Trace, c *Config) model {
	b := modelBuilder{t: t, c: c, parallel: c.Ranks*c.Devices > 1}
	return model{
		inputs: []work{
			{bytes: 4096, kind: 1, mean: 1.2, api: t.String(apiCopy)},
			{bytes: 16384, kind: 1, mean: 1.6, api: t.String(apiCopy)},
		},
		layers:  b.forward(1, false),
		context: b.forward(c.PrefillScale, true),
		sample: []work{
			b.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float, float, float>>(int, T2, T3)", 1.8, apiLaunch),
			b.kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(T3)", 6.2, apiLaunch),
			b.kernel("void tensorrt_llm::kernels::topKStage1<float, 4, 128, 8>(const T1 *, T1 *, int *, T1 *)", 3.4, apiLaunch),
			{bytes: 256, kind: 2, mean: 1.3, api: t.String(apiCopy)},
		},
	}
}

type modelBuilder struct {
	t        *Trace
	c        *Config
	parallel bool
}

func (b *modelBuilder) kernel(demangled string, mean float64, api string) work {
	return work{name: b.t.KernelName("", demangled), mean: mean, api: b.t.String(api)}
}

// allreduce is the collective, or without parallel ranks the norm it contains.
func (b *modelBuilder) allreduce(scale float64) work {
	if !b.parallel {
		return b.kernel("void flashinfer::norm::FusedAddRMSNormKernel<8, __nv_bfloat16>(T2 *, T2 *, T2 *, unsigned int, float)", 2.6*scale, apiLaunchEx)
	}
	w := b.kernel(collectiveNames[b.c.Collective], 6.4*scale, apiLaunchEx)
	w.collective = true
	return w
}

// forward is the kernel sequence of a Llama-like model.
func (b *modelBuilder) forward(scale float64, context bool) []work {
	attention := b.kernel("fmhaSm100fKernel_QkvBfloat16OBfloat16HeadDim64PagedKvDenseP64VarSeqQ8Kv128StaticSwapsAbForGen", 5.1*scale, apiDriver)
	if context {
		attention = b.kernel("fmha_v2_flash_attention_bf16_64_128_S_qkv_64_causal_sm90_kernel", 9*scale, apiDriver)
	}
	seq := []work{b.kernel("void at::native::vectorized_gather_kernel<16, long>(char *, char *, T2 *, int, long, long, long, long, bool)", 2.2*scale, apiLaunch)}
	if b.parallel {
		seq = append(seq, b.allreduce(scale))
	}
	seq = append(seq, b.kernel("void flashinfer::norm::RMSNormKernel<8, __nv_bfloat16>(T2 *, T2 *, T2 *, unsigned int, float)", 2.1*scale, apiLaunchEx))
	for range b.c.Layers {
		seq = append(seq, b.kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 4.6*scale, apiLaunchEx))
		if !b.c.Fused {
			seq = append(seq, b.kernel("void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16, __nv_bfloat16, 64, false>(QKVPreprocessingParams<T1, T2>)", 2.4*scale, apiLaunch))
		}
		seq = append(seq, attention,
			b.kernel("nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNT", 3.9*scale, apiLaunchEx),
			b.allreduce(scale),
			b.kernel("nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 7.3*scale, apiLaunchEx))
		if !b.c.Fused {
			seq = append(seq, b.kernel("void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>(T1 *, const T1 *, int)", 1.9*scale, apiLaunchEx))
		}
		seq = append(seq, b.kernel("nvjet_tst_64x8_64x16_1x4_h_bz_TNN", 5.2*scale, apiLaunchEx), b.allreduce(scale))
	}
	return append(seq, b.kernel("nvjet_tst_192x8_64x8_2x1_v_bz_TNT", 21*scale, apiLaunchEx))
}
