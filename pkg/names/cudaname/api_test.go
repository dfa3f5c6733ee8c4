package cudaname

import (
	"regexp"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// apiTests has every API name of the real and simulated exports at hand, and the
// forms that others are known to take.
var apiTests = []struct {
	name, canonical string
	class           event.Class
}{
	{"cudaLaunchKernel_v7000", "cudaLaunchKernel", event.Launch},
	{"cudaLaunchKernel", "cudaLaunchKernel", event.Launch},
	{"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel", event.Launch},
	{"cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC", event.Launch},
	{"cudaLaunchKernelExC_ptsz_v11060", "cudaLaunchKernelExC", event.Launch},
	{"cudaLaunch_v3020", "cudaLaunch", event.Launch},
	{"cudaLaunchCooperativeKernel_ptsz_v9000", "cudaLaunchCooperativeKernel", event.Launch},
	{"cudaLaunchCooperativeKernelMultiDevice_v9000", "cudaLaunchCooperativeKernelMultiDevice", event.Launch},
	{"cuLaunch", "cuLaunch", event.Launch},
	{"cuLaunchGrid", "cuLaunchGrid", event.Launch},
	{"cuLaunchGridAsync", "cuLaunchGridAsync", event.Launch},
	{"cuLaunchKernel", "cuLaunchKernel", event.Launch},
	{"cuLaunchKernel_ptsz", "cuLaunchKernel", event.Launch},
	{"cuLaunchKernelEx", "cuLaunchKernelEx", event.Launch},
	{"cuLaunchKernelEx_ptsz", "cuLaunchKernelEx", event.Launch},
	{"cuLaunchCooperativeKernel_ptsz", "cuLaunchCooperativeKernel", event.Launch},
	{"cuLaunchCooperativeKernelMultiDevice", "cuLaunchCooperativeKernelMultiDevice", event.Launch},
	{"cudaLaunchHostFunc_ptsz_v10000", "cudaLaunchHostFunc", event.Other},
	{"cuLaunchHostFunc", "cuLaunchHostFunc", event.Other},

	{"cudaGraphLaunch_v10000", "cudaGraphLaunch", event.GraphLaunch},
	{"cudaGraphLaunch_ptsz_v10000", "cudaGraphLaunch", event.GraphLaunch},
	{"cuGraphLaunch_ptsz", "cuGraphLaunch", event.GraphLaunch},
	{"cudaGraphUpload_ptsz_v10000", "cudaGraphUpload", event.Other},
	{"cudaGraphInstantiate_v12000", "cudaGraphInstantiate", event.Other},
	{"cudaGraphInstantiateWithFlags_v11040", "cudaGraphInstantiateWithFlags", event.Other},
	{"cudaGraphDestroy_v10000", "cudaGraphDestroy", event.Other},
	{"cudaGraphExecDestroy_v10000", "cudaGraphExecDestroy", event.Other},
	{"cudaStreamBeginCapture_v10000", "cudaStreamBeginCapture", event.Other},
	{"cudaStreamEndCapture_v10000", "cudaStreamEndCapture", event.Other},
	{"cudaStreamIsCapturing_v10000", "cudaStreamIsCapturing", event.Other},
	{"cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2", event.Other},
	{"cudaStreamGetCaptureInfo_v2_ptsz_v11030", "cudaStreamGetCaptureInfo_v2", event.Other},
	{"cudaGetDeviceProperties_v2_v12000", "cudaGetDeviceProperties_v2", event.Other},

	{"cudaDeviceSynchronize_v3020", "cudaDeviceSynchronize", event.APISync},
	{"cudaThreadSynchronize_v3020", "cudaThreadSynchronize", event.APISync},
	{"cudaStreamSynchronize_v3020", "cudaStreamSynchronize", event.APISync},
	{"cudaStreamSynchronize_ptsz_v7000", "cudaStreamSynchronize", event.APISync},
	{"cudaEventSynchronize_v3020", "cudaEventSynchronize", event.APISync},
	{"cuCtxSynchronize_v2", "cuCtxSynchronize", event.APISync},
	{"cuStreamSynchronize_ptsz", "cuStreamSynchronize", event.APISync},
	{"cuEventSynchronize", "cuEventSynchronize", event.APISync},
	{"cudaStreamWaitEvent_v3020", "cudaStreamWaitEvent", event.Other},
	{"cudaStreamWaitEvent_ptsz_v7000", "cudaStreamWaitEvent", event.Other},
	{"cuStreamWaitEvent_ptsz", "cuStreamWaitEvent", event.Other},
	{"cudaEventQuery_v3020", "cudaEventQuery", event.Other},
	{"cuStreamQuery", "cuStreamQuery", event.Other},

	{"cudaMemcpy", "cudaMemcpy", event.Memop},
	{"cudaMemcpy_v3020", "cudaMemcpy", event.Memop},
	{"cudaMemcpy_ptds_v7000", "cudaMemcpy", event.Memop},
	{"cudaMemcpyAsync_v3020", "cudaMemcpyAsync", event.Memop},
	{"cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync", event.Memop},
	{"cudaMemcpy2DAsync_v3020", "cudaMemcpy2DAsync", event.Memop},
	{"cudaMemcpyBatchAsync_v12080", "cudaMemcpyBatchAsync", event.Memop},
	{"cudaMemcpyToSymbol_v3020", "cudaMemcpyToSymbol", event.Memop},
	{"cudaMemset_v3020", "cudaMemset", event.Memop},
	{"cudaMemsetAsync_v3020", "cudaMemsetAsync", event.Memop},
	{"cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync", event.Memop},
	{"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync", event.Memop},
	{"cuMemcpyDtoH_v2", "cuMemcpyDtoH", event.Memop},
	{"cuMemcpy", "cuMemcpy", event.Memop},
	{"cuMemsetD32Async_ptsz", "cuMemsetD32Async", event.Memop},
	{"cuMemsetD2D8Async", "cuMemsetD2D8Async", event.Memop},
	{"cudaMemPrefetchAsync_v8000", "cudaMemPrefetchAsync", event.Other},
	{"cudaGraphAddMemcpyNode_v10000", "cudaGraphAddMemcpyNode", event.Other},

	{"cudaMalloc_v3020", "cudaMalloc", event.Alloc},
	{"cudaMalloc", "cudaMalloc", event.Alloc},
	{"cudaFree", "cudaFree", event.Alloc},
	{"cudaFree_v3020", "cudaFree", event.Alloc},
	{"cudaMallocHost_v3020", "cudaMallocHost", event.Alloc},
	{"cudaMallocAsync_ptsz_v11020", "cudaMallocAsync", event.Alloc},
	{"cudaMallocFromPoolAsync_v11020", "cudaMallocFromPoolAsync", event.Alloc},
	{"cudaFreeArray_v3020", "cudaFreeArray", event.Alloc},
	{"cudaHostAlloc_v3020", "cudaHostAlloc", event.Alloc},
	{"cudaHostRegister_v4000", "cudaHostRegister", event.Alloc},
	{"cudaHostUnregister_v4000", "cudaHostUnregister", event.Alloc},
	{"cudaMemPoolTrimTo_v11020", "cudaMemPoolTrimTo", event.Alloc},
	{"cudaMemGetInfo_v3020", "cudaMemGetInfo", event.Alloc},
	{"cuMemAlloc_v2", "cuMemAlloc", event.Alloc},
	{"cuMemFree_v2", "cuMemFree", event.Alloc},
	{"cuMemFreeHost", "cuMemFreeHost", event.Alloc},
	{"cuMemHostAlloc", "cuMemHostAlloc", event.Alloc},
	{"cuMemHostRegister_v2", "cuMemHostRegister", event.Alloc},
	{"cuMemAllocAsync_ptsz", "cuMemAllocAsync", event.Alloc},
	{"cuMemAddressReserve", "cuMemAddressReserve", event.Alloc},
	{"cuMemCreate", "cuMemCreate", event.Alloc},
	{"cuMemMap", "cuMemMap", event.Alloc},
	{"cuMemSetAccess", "cuMemSetAccess", event.Alloc},
	{"cuMemUnmap", "cuMemUnmap", event.Alloc},
	{"cuMemImportFromShareableHandle", "cuMemImportFromShareableHandle", event.Alloc},
	{"cuMulticastBindMem", "cuMulticastBindMem", event.Alloc},
	{"cuMulticastGetGranularity", "cuMulticastGetGranularity", event.Other},
	{"cudaEventCreate_v3020", "cudaEventCreate", event.Alloc},
	{"cudaEventCreateWithFlags_v3020", "cudaEventCreateWithFlags", event.Alloc},
	{"cudaEventDestroy_v3020", "cudaEventDestroy", event.Alloc},
	{"cudaEventRecord_v3020", "cudaEventRecord", event.Alloc},
	{"cudaEventRecordWithFlags_v11010", "cudaEventRecordWithFlags", event.Alloc},
	{"cuEventRecord_ptsz", "cuEventRecord", event.Alloc},
	{"cudaStreamCreate_v3020", "cudaStreamCreate", event.Alloc},
	{"cudaStreamCreateWithPriority_v5050", "cudaStreamCreateWithPriority", event.Alloc},
	{"cudaStreamDestroy_v5050", "cudaStreamDestroy", event.Alloc},
	{"cuModuleLoadDataEx", "cuModuleLoadDataEx", event.Alloc},
	{"cuModuleUnload", "cuModuleUnload", event.Alloc},
	{"cuModuleGetFunction", "cuModuleGetFunction", event.Alloc},
	{"cuLibraryLoadData", "cuLibraryLoadData", event.Alloc},
	{"cuLibraryGetKernel", "cuLibraryGetKernel", event.Alloc},
	{"cudaGetFuncBySymbol_v11000", "cudaGetFuncBySymbol", event.Alloc},

	{"cuKernelGetName", "cuKernelGetName", event.Other},
	{"cuModuleGetLoadingMode", "cuModuleGetLoadingMode", event.Other},
	{"cuProfilerStart", "cuProfilerStart", event.Other},

	{"hipLaunchKernel", "hipLaunchKernel", event.Launch},
	{"hipModuleLaunchKernel", "hipModuleLaunchKernel", event.Launch},
	{"hipExtModuleLaunchKernel", "hipExtModuleLaunchKernel", event.Launch},
	{"hipGraphLaunch", "hipGraphLaunch", event.GraphLaunch},
	{"hipGraphInstantiate", "hipGraphInstantiate", event.Other},
	{"hipStreamSynchronize", "hipStreamSynchronize", event.APISync},
	{"hipMemcpyWithStream", "hipMemcpyWithStream", event.Memop},
	{"hipMemsetAsync", "hipMemsetAsync", event.Memop},
	{"hipHostMalloc", "hipHostMalloc", event.Alloc},
	{"hipEventRecord", "hipEventRecord", event.Alloc},
	{"hipGetDevice", "hipGetDevice", event.Other},

	// Not versions, or not of ours.
	{"", "", event.Other},
	{"cu", "cu", event.Other},
	{"cuda", "cuda", event.Other},
	{"cuFoo_v12", "cuFoo_v12", event.Other},
	{"cudaFoo_v300", "cudaFoo_v300", event.Other},
	{"cudaFoo_v", "cudaFoo_v", event.Other},
	{"cudaFoo_ptsz_v2", "cudaFoo_v2", event.Other},
	{"cuFoo_ptsz_v2", "cuFoo", event.Other},
	{"cudaFoov7000", "cudaFoov7000", event.Other},
	{"pthread_cond_wait_v2", "pthread_cond_wait_v2", event.Other},
	{"MySynchronize", "MySynchronize", event.Other},
}

func TestAPI(t *testing.T) {
	for _, test := range apiTests {
		if got := API(test.name); got != test.canonical {
			t.Errorf("API(%q) = %q, want %q", test.name, got, test.canonical)
		}
		if got := ClassAPI(test.canonical); got != test.class {
			t.Errorf("ClassAPI(%q) = %q, want %q", test.canonical, got, test.class)
		}
	}
}

func TestAPIAllocates(t *testing.T) {
	for _, name := range []string{
		"cudaLaunchKernel", "cudaLaunchKernel_v7000", "cudaLaunchKernel_ptsz_v7000",
		"cuLaunchKernelEx_ptsz", "cuMemcpyHtoDAsync_v2_ptsz", "cudaStreamGetCaptureInfo_v2_ptsz_v11030",
	} {
		if n := testing.AllocsPerRun(100, func() { sink = API(name) }); n != 0 {
			t.Errorf("API(%q) allocates %v times, want 0", name, n)
		}
	}
}

var sink string

// The rule in words that API follows, one expression after the other.
var (
	slowMark    = regexp.MustCompile(`_(?:ptsz|ptds)(_v\d+)?$`)
	slowRuntime = regexp.MustCompile(`_v\d{4,}$`)
	slowDriver  = regexp.MustCompile(`_v\d$`)
)

func slowAPI(name string) string {
	if len(name) < 2 || name[:2] != "cu" {
		return name
	}
	s := slowMark.ReplaceAllString(name, "$1")
	if len(name) >= 4 && name[:4] == "cuda" {
		s = slowRuntime.ReplaceAllString(s, "")
	} else {
		s = slowDriver.ReplaceAllString(s, "")
	}
	if s != name {
		return slowAPI(s)
	}
	return s
}

func FuzzAPI(f *testing.F) {
	for _, test := range apiTests {
		f.Add(test.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		once := API(name)
		if want := slowAPI(name); once != want {
			t.Errorf("API(%q) = %q, want %q", name, once, want)
		}
		if twice := API(once); twice != once {
			t.Errorf("API(%q) = %q, but API of that is %q", name, once, twice)
		}
		switch class := ClassAPI(once); class {
		case event.Launch, event.GraphLaunch, event.APISync, event.Memop, event.Alloc, event.Other:
		default:
			t.Errorf("ClassAPI(%q) = %q, which is no class", once, class)
		}
	})
}

func BenchmarkAPI(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sink = API("cudaLaunchKernel_ptsz_v7000")
	}
}
