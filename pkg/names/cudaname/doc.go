// Package cudaname knows the names that a profile is full of: it gives CUDA API
// calls their canonical form and sorts calls and kernels into classes. What is not CUDA's
// but stands beside it in a profile is here, too: HIP's calls, calls of the operating
// system's libraries (osname.go), and functions and modules in stacks (stack.go).
//
// All functions are pure and total: any string has a class, and a name nobody
// has heard of is [event.Other]. They are meant to be called once a distinct name, not
// once a row.
//
// # API calls
//
// [API] takes the version off a recorded name, [ClassAPI] sorts the result:
//
//	launch        kernel launches of the runtime and the driver, cooperative,
//	              extended and pre-2010 ones included; no graph launches, and no
//	              cudaLaunchHostFunc, which enqueues a callback on the CPU
//	graph_launch  cudaGraphLaunch, cuGraphLaunch
//	sync          the calls named …Synchronize: they block the calling thread.
//	              cudaStreamWaitEvent and the …Query calls do not, and are other
//	memop         every memcpy and memset, blocking or not
//	alloc         memory allocation, release and registration, cudaMemGetInfo,
//	              virtual memory management and multicast objects, pools trimmed;
//	              streams and events made and destroyed, events recorded; modules
//	              and libraries loaded, and functions looked up in them
//	other         the rest, graph administration and capture probes among them
//
// A call that is listed for one of the two APIs counts for its counterpart in the other
// too: cuEventRecord is what cudaEventRecord is. So do AMD's, hip in place of cuda;
// their launches have names of their own (hipModuleLaunchKernel, hipExtLaunchKernel).
//
// # Kernels
//
// [ClassKernel] takes the first class that fits; the expressions are in names.toml:
//
//	allreduce    a kernel whose own name says so (allreduce, all_reduce), vLLM's
//	             cross_device_reduce_*, userbuffers …sum…, PyTorch's multimem_*reduce;
//	             fused with a norm or a mixture-of-experts epilogue or not.
//	             Neither lamport_initialize (it clears a buffer) nor a barrier
//	comm         other collectives: NCCL, gather, scatter, all-to-all and
//	             send/receive kernels, everything in DeepEP's namespace, NVSHMEM,
//	             flashinfer's PCIe kernels, and rmsNormLamport (the second half of
//	             a two-shot all-reduce: counted as one it would double the count)
//	moe          expert routing, permutation and grouped GEMMs: moe, expert,
//	             routing, top-k gating, grouped top-k; kernels in a namespace with
//	             moe in it; group(ed) GEMM and TensorRT-LLM's bmm_*
//	attention    flash, fmha, mha, mla, paged and linear attention, their split
//	             and merge kernels, masked softmax, softmax of rows shorter than
//	             any vocabulary (softmax_warp_forward), and what writes or indexes
//	             the KV cache: that is part of the attention operator, not a copy
//	gemm         GEMM, GEMV, nvjet, matmul, mul_mat, bmm, split-K epilogues,
//	             implicit-GEMM convolutions
//	norm         RMS, layer, group and batch norm, fused with what they may be
//	rope         rotary embeddings
//	activation   act_and_mul, SiLU, GELU, ReLU and the like
//	quant        quantise, dequantise, cvt_*
//	sampling     top-k and top-p, softmax, argmax, penalties, speculative checks.
//	             A softmax of long rows (cunn_SoftMaxForward) is here: attention that
//	             is not fused may launch it, too, and nothing in its name says which
//	copy         cat, gather, scatter, copy, transpose, index_select, embedding
//	elementwise  elementwise and pointwise kernels, CuPy's ufuncs, fills,
//	             Inductor's triton_poi_*
//	reduce       reductions, Inductor's triton_red_* and triton_per_*
//	other        the rest
//
// Names are matched without regard to case. The kernel's own name (the short
// name) decides first, its namespaces next, and its template arguments only when
// neither says anything, because elementwise kernels carry half of PyTorch in
// theirs. The parameter list is never looked at: TensorRT-LLM's plain
// rms_norm_kernel takes a parameter of type AllReduceParams.
//
// Inductor names its kernels after every operator they touch. One that starts
// triton_poi, triton_red, triton_per or triton_for is pointwise or a reduction
// whatever it lists, so it is no collective, GEMM, attention or copy; it can be
// norm, rope, activation, quant or sampling.
package cudaname
