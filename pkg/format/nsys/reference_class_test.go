package nsys

import (
	"regexp"
	"strings"
)

// The reference has classes of its own, of the names that traces here have: a
// table where the reader has rules. A name that is not in it has none, which
// fails as soon as the reader finds one.

// version is what the reference removes of names of calls.
var (
	runtimeVersion = regexp.MustCompile(`^(cuda.*?)(_ptsz|_ptds)?(_v[0-9]{4,})?$`)
	driverVersion  = regexp.MustCompile(`^(cu.*?)(_v[0-9])?(_ptsz|_ptds)?$`)
)

func apiName(name string) string {
	if m := runtimeVersion.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	if m := driverVersion.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

var apiClasses = map[string]string{
	"cudaLaunchKernel": "launch", "cudaLaunchKernelExC": "launch", "cuLaunchKernel": "launch", "cuLaunchKernelEx": "launch",
	"cuLaunchCooperativeKernel": "launch",
	"cudaGraphLaunch":           "graph_launch", "cuGraphLaunch": "graph_launch",
	"cudaStreamSynchronize": "sync", "cuStreamSynchronize": "sync", "cudaEventSynchronize": "sync", "cudaDeviceSynchronize": "sync",
	"cudaMemcpy": "memop", "cudaMemcpyAsync": "memop", "cudaMemsetAsync": "memop", "cuMemcpyAsync": "memop", "cuMemcpyHtoDAsync": "memop",
	"cuModuleLoadData": "alloc", "cudaMalloc": "alloc", "cuMemAlloc": "alloc", "cudaFree": "alloc", "cudaEventRecord": "alloc",
}

func apiClass(name string) string {
	if class := apiClasses[name]; class != "" {
		return class
	}
	return "other"
}

var kernelClasses = map[string]string{
	"_fwd_kernel": "attention", "flash_fwd_kernel": "attention", "fmha_v2_flash_attention": "attention",
	"applyBiasRopeUpdateKVCacheV2":                                                                  "attention",
	"fmha_v2_flash_attention_bf16_64_128_S_qkv_64_causal_sm90_kernel":                               "attention",
	"fmhaSm100fKernel_QkvBfloat16OBfloat16HeadDim64PagedKvDenseP64VarSeqQ8Kv128StaticSwapsAbForGen": "attention",
	"act_and_mul_kernel":                      "activation",
	"allreduce_fusion_kernel_oneshot_lamport": "allreduce", "cross_device_reduce_1stage": "allreduce",
	"ncclDevKernel_AllReduce_Sum_bf16_RING_LL": "allreduce", "ncclKernel_AllReduce_RING_LL_Sum_half": "allreduce",
	"ncclDevKernel_AllGather_RING_LL":    "comm",
	"nvjet_tst_128x8_64x12_2x1_v_bz_TNT": "gemm", "nvjet_tst_192x8_64x8_2x1_v_bz_TNT": "gemm", "nvjet_tst_64x8_64x16_1x4_h_bz_TNN": "gemm",
	"nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNT": "gemm", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT": "gemm",
	"reduce_kernel": "reduce", "triton_red_fused_mean_1": "reduce",
	"FusedAddRMSNormKernel": "norm", "RMSNormKernel": "norm",
	"topKStage1":             "sampling",
	"triton_poi_fused_add_0": "elementwise", "vectorized_elementwise_kernel": "elementwise",
	"vectorized_gather_kernel": "copy",
}

func kernelClass(name string) string {
	if class := kernelClasses[name]; class != "" {
		return class
	}
	return "other"
}

// stepMarker is the beginning of the markers of TensorRT-LLM, vLLM and SGLang.
var stepMarker = regexp.MustCompile(`^((\[Executor\] )?_forward_step( [0-9]+)?: |execute_(context|new|[0-9]+_context)_|step\[)`)

func rangeClass(text string) string {
	switch {
	case stepMarker.MatchString(text):
		return "step"
	case strings.Contains(text, "prepare_inputs") || strings.Contains(text, "_prepare_tp_inputs"):
		return "prep"
	case text == "Holding GIL" || text == "Waiting for GIL":
		return "gil"
	case strings.HasPrefix(text, "Python GC"):
		return "gc"
	}
	return "range"
}
