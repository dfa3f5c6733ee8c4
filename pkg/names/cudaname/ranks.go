package cudaname

import "strconv"

// ranked matches the all-reduce kernels of vLLM, SGLang, TensorRT-LLM and FlashInfer that are
// compiled for a number of GPUs: it is the first number among their template arguments, after
// the pattern of what is fused and the type of the data.
var ranked = later(`(?:cross_device_reduce_\w+|allreduce_fusion_kernel_\w+|_all_reduce_norm_kernel|(?:one|two)ShotAllReduceKernel)` +
	`<(?:\([\w:]*AllReduceFusionPattern\)\d+, ?)?[\w:]+, ?(?:\(int\))?(\d{1,4})[,>]`)

// GroupSize returns for how many GPUs a collective was compiled, by its demangled name, 0 where
// the name does not say.
func GroupSize(demangled string) int32 {
	m := ranked().FindStringSubmatch(demangled[:min(len(demangled), maxClassed)])
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // four digits
	return int32(n)
}
