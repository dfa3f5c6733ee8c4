package sim

import (
	"fmt"
	"slices"
	"strings"
)

// work is one piece of GPU work of a step: a copy if bytes is set, otherwise a kernel.
type work struct {
	name       NameID
	mean       float64 // microseconds
	api        StringID
	bytes      int64
	kind       uint8
	collective bool
	reduce     bool  // it is an allreduce
	link       int   // 1: sends to the next pipeline stage, -1: receives from the previous one, 0: neither
	stream     uint8 // computeStream, reduceStream or copyStream
	join       bool  // it waits for all streams
	attention  bool
	expert     bool // it begins the experts of a layer
	pageable   bool // it is a copy from unpinned memory: the call blocks
}

// collectiveNames are the demangled names of the allreduce kernels for two GPUs, by
// Config.Collective.
var collectiveNames = map[string]string{
	"trtllm": "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 2, false, false>(tensorrt_llm::kernels::ar_fusion::AllReduceFusionParams)",
	"nccl":   "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
	"vllm":   "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData *, vllm::RankSignals, vllm::Signal *, T1 *, int, int)",
}

// The launching calls, as exports name them.
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
	apiSync     = "cudaDeviceSynchronize_v3020"
	apiStart    = "cudaProfilerStart_v4000"
	apiStop     = "cudaProfilerStop_v4000"
)

// model is the GPU work of a step on one rank.
type model struct {
	depth   int    // layers
	inputs  []work // copies to the GPU
	layers  []work // the forward pass
	copying []work // the forward pass with a pageable copy in each layer
	sample  []work // sampling kernels and the copy of the tokens to the host
	context []work // the forward pass of a context step
	draft   []work // one forward pass of the draft model
	tuning  work   // the kernel that is launched when code is compiled
}

// newModel returns the work of one rank, and interns the names of its kernels.
func newModel(t *Trace, c *Config, rank int) model {
	stages := max(1, c.Engine.Pipeline)
	size := c.Ranks / stages // ranks of a stage
	b := modelBuilder{t: t, c: c, parallel: size*c.Devices > 1, stage: rank / size}
	b.from, b.to = b.stage*c.Layers/stages, (b.stage+1)*c.Layers/stages
	b.first, b.last = b.stage == 0, b.stage == stages-1
	m := model{
		depth: b.to - b.from,
		inputs: []work{
			{bytes: 4096, kind: 1, mean: 1.2, api: t.String(apiCopy)},
			{bytes: 16384, kind: 1, mean: 1.6, api: t.String(apiCopy)},
		},
		layers:  b.forward(1, false),
		context: b.forward(c.PrefillScale, true),
		sample:  b.sample(),
	}
	m.inputs = append(m.inputs, b.prepare(c.Engine.PrepKernels)...)
	b.context = false
	b.copying = slices.ContainsFunc(c.Faults, func(f Fault) bool { return f.Kind == FaultPageable })
	if b.copying {
		m.copying = b.forward(1, false)
	}
	if c.Draft.Tokens > 0 {
		m.draft = b.draft()
		if c.Draft.Inside {
			for range c.Draft.Tokens {
				m.layers = append(m.layers, m.draft...)
				m.copying = append(m.copying, m.draft...)
			}
			m.context = append(m.context, m.draft...)
		}
	}
	if slices.ContainsFunc(c.Faults, func(f Fault) bool { return f.Kind == FaultJIT }) {
		m.tuning = b.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char *, 1>>(int, T2, T3)", 1.4, apiLaunch)
	}
	if c.Model.CopyStream {
		m.separateCopies()
	}
	return m
}

// separateCopies moves the copies to a stream of their own.
func (m *model) separateCopies() {
	for _, list := range [][]work{m.inputs, m.sample} {
		for i := range list {
			if list[i].bytes != 0 {
				list[i].stream, list[i].join = copyStream, i > 0
			}
		}
	}
	for _, list := range [][]work{m.layers, m.context, m.copying, m.draft} {
		if len(list) > 0 {
			list[0].join = true
		}
	}
}

type modelBuilder struct {
	t           *Trace
	c           *Config
	parallel    bool // there are several GPUs to reduce over
	stage       int  // stage of the pipeline
	from, to    int  // layers of the stage, to excluded
	first, last bool // it is the first or the last stage
	copying     bool
	context     bool // building a context step
}

// kernel returns a kernel by its demangled name, with its mean duration in microseconds
// and the call that launches it.
func (b *modelBuilder) kernel(demangled string, mean float64, api string) work {
	return work{name: b.t.KernelName("", demangled), mean: mean, api: b.t.String(api)}
}

// allreduce returns the collective or, without parallel ranks, the norm that it contains.
func (b *modelBuilder) allreduce(scale float64) work {
	if !b.parallel {
		return b.kernel("void flashinfer::norm::FusedAddRMSNormKernel<8, __nv_bfloat16>(T2 *, T2 *, T2 *, unsigned int, float)", 2.6*scale, apiLaunchEx)
	}
	name := collectiveNames[b.c.Collective]
	if b.context && b.c.Model.PrefillComm != "" {
		name = collectiveNames[b.c.Model.PrefillComm]
	}
	name = strings.Replace(name, "__nv_bfloat16, 2", fmt.Sprintf("__nv_bfloat16, %d", b.c.Ranks*b.c.Devices/max(1, b.c.Engine.Pipeline)), 1)
	w := b.kernel(name, 6.4*scale, apiLaunchEx)
	w.collective, w.reduce = true, true
	if b.c.Model.SideStream {
		w.stream = reduceStream
	}
	return w
}
