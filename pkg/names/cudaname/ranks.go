package cudaname

import "strconv"

// ranked matches the all-reduce kernels of vLLM, SGLang, TensorRT-LLM and FlashInfer
// that are compiled for a number of GPUs. That is the first number among their template
// arguments, after the fusion pattern and the data type.
var ranked = later(`(?:cross_device_reduce_\w+|allreduce_fusion_kernel_\w+|_all_reduce_norm_kernel|(?:one|two)ShotAllReduceKernel)` +
	`<(?:\([\w:]*AllReduceFusionPattern\)\d+, ?)?[\w:]+, ?(?:\(int\))?(\d{1,4})[,>]`)

// GroupSize returns the number of GPUs for which a collective was compiled, from its
// demangled name; 0 if the name does not show it.
func GroupSize(demangled string) int32 {
	m := ranked().FindStringSubmatch(demangled[:min(len(demangled), maxClassed)])
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // at most four digits
	return int32(n)
}
