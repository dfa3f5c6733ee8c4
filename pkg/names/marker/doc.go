// Package marker reads the NVTX ranges that inference engines write: the markers
// of their forward steps and the batch that a step runs, and the few other names
// that analyses tell apart.
//
// # Forward-step markers
//
// [Parse] knows these, in which C, T, G, N are decimal numbers:
//
//	TensorRT-LLM  _forward_step: C ctx reqs, G gen reqs
//	              [Executor] _forward_step: C ctx reqs, G gen reqs
//	              [Executor] _forward_step N: C ctx reqs, G gen reqs
//	              [Executor] _forward_step N: C ctx reqs, T ctx tokens, G gen reqs
//	              (prefix, number and tokens in any combination; text may follow)
//	vLLM          execute_context_C(…)_generation_G(…)
//	              execute_T_context_C(…)_generation_G(…)
//	              execute_new_C_cached_G
//	ATOM          execute_model context_C(…) generation_G(…)
//	SGLang        step[MODE bs=B] or step[MODE bs=B toks=T]
//	PyTorch       ProfilerStep#N, of the profiler's schedule: without counts
//
// SGLang's marker has the size of the batch and its mode, from which the counts
// follow:
//
//	EXTEND, PREFILL, SPLIT_PREFILL, DLLM_EXTEND,
//	DRAFT_EXTEND, DRAFT_EXTEND_V2                 B context requests
//	DECODE, TARGET_VERIFY                         B generation requests
//	MIXED                                         1 and B-1: the marker does not tell
//	                                              the split, but a mixed batch holds
//	                                              at least one of each
//	IDLE                                          none of either
//	any other                                     not known
//
// Step numbers are the engine's own. Versions of TensorRT-LLM count from
// different bases: do not align two runs by them.
//
// [Compile] makes a set of markers from a user's regular expression.
//
// # Classes
//
// [ClassNVTX] sorts any range text:
//
//	step   a forward-step marker
//	gil    waiting for Python's global interpreter lock, or holding it
//	gc     Python's garbage collector
//	prep   preparation of a step's inputs: one of [PrepNames] occurs in the text
//	range  anything else
package marker
