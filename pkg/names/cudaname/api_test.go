package cudaname

import (
	"regexp"
	"testing"
)

// apiTests has every API name of the real and simulated exports at hand, and the
// forms that others are known to take.
var apiTests = []struct{ name, canonical, class string }{
	{"cudaLaunchKernel_v7000", "cudaLaunchKernel", Launch},
	{"cudaLaunchKernel", "cudaLaunchKernel", Launch},
	{"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel", Launch},
	{"cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC", Launch},
	{"cudaLaunchKernelExC_ptsz_v11060", "cudaLaunchKernelExC", Launch},
	{"cudaLaunch_v3020", "cudaLaunch", Launch},
	{"cudaLaunchCooperativeKernel_ptsz_v9000", "cudaLaunchCooperativeKernel", Launch},
	{"cudaLaunchCooperativeKernelMultiDevice_v9000", "cudaLaunchCooperativeKernelMultiDevice", Launch},
	{"cuLaunch", "cuLaunch", Launch},
	{"cuLaunchGrid", "cuLaunchGrid", Launch},
	{"cuLaunchGridAsync", "cuLaunchGridAsync", Launch},
	{"cuLaunchKernel", "cuLaunchKernel", Launch},
	{"cuLaunchKernel_ptsz", "cuLaunchKernel", Launch},
	{"cuLaunchKernelEx", "cuLaunchKernelEx", Launch},
	{"cuLaunchKernelEx_ptsz", "cuLaunchKernelEx", Launch},
	{"cuLaunchCooperativeKernel_ptsz", "cuLaunchCooperativeKernel", Launch},
	{"cuLaunchCooperativeKernelMultiDevice", "cuLaunchCooperativeKernelMultiDevice", Launch},
	{"cudaLaunchHostFunc_ptsz_v10000", "cudaLaunchHostFunc", Other},
	{"cuLaunchHostFunc", "cuLaunchHostFunc", Other},

	{"cudaGraphLaunch_v10000", "cudaGraphLaunch", GraphLaunch},
	{"cudaGraphLaunch_ptsz_v10000", "cudaGraphLaunch", GraphLaunch},
	{"cuGraphLaunch_ptsz", "cuGraphLaunch", GraphLaunch},
	{"cudaGraphUpload_ptsz_v10000", "cudaGraphUpload", Other},
	{"cudaGraphInstantiate_v12000", "cudaGraphInstantiate", Other},
	{"cudaGraphInstantiateWithFlags_v11040", "cudaGraphInstantiateWithFlags", Other},
	{"cudaGraphDestroy_v10000", "cudaGraphDestroy", Other},
	{"cudaGraphExecDestroy_v10000", "cudaGraphExecDestroy", Other},
	{"cudaStreamBeginCapture_v10000", "cudaStreamBeginCapture", Other},
	{"cudaStreamEndCapture_v10000", "cudaStreamEndCapture", Other},
	{"cudaStreamIsCapturing_v10000", "cudaStreamIsCapturing", Other},
	{"cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2", Other},
	{"cudaStreamGetCaptureInfo_v2_ptsz_v11030", "cudaStreamGetCaptureInfo_v2", Other},
	{"cudaGetDeviceProperties_v2_v12000", "cudaGetDeviceProperties_v2", Other},

	{"cudaDeviceSynchronize_v3020", "cudaDeviceSynchronize", Sync},
	{"cudaThreadSynchronize_v3020", "cudaThreadSynchronize", Sync},
	{"cudaStreamSynchronize_v3020", "cudaStreamSynchronize", Sync},
	{"cudaStreamSynchronize_ptsz_v7000", "cudaStreamSynchronize", Sync},
	{"cudaEventSynchronize_v3020", "cudaEventSynchronize", Sync},
	{"cuCtxSynchronize_v2", "cuCtxSynchronize", Sync},
	{"cuStreamSynchronize_ptsz", "cuStreamSynchronize", Sync},
	{"cuEventSynchronize", "cuEventSynchronize", Sync},
	{"cudaStreamWaitEvent_v3020", "cudaStreamWaitEvent", Other},
	{"cudaStreamWaitEvent_ptsz_v7000", "cudaStreamWaitEvent", Other},
	{"cuStreamWaitEvent_ptsz", "cuStreamWaitEvent", Other},
	{"cudaEventQuery_v3020", "cudaEventQuery", Other},
	{"cuStreamQuery", "cuStreamQuery", Other},

	{"cudaMemcpy", "cudaMemcpy", MemOp},
	{"cudaMemcpy_v3020", "cudaMemcpy", MemOp},
	{"cudaMemcpy_ptds_v7000", "cudaMemcpy", MemOp},
	{"cudaMemcpyAsync_v3020", "cudaMemcpyAsync", MemOp},
	{"cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync", MemOp},
	{"cudaMemcpy2DAsync_v3020", "cudaMemcpy2DAsync", MemOp},
	{"cudaMemcpyBatchAsync_v12080", "cudaMemcpyBatchAsync", MemOp},
	{"cudaMemcpyToSymbol_v3020", "cudaMemcpyToSymbol", MemOp},
	{"cudaMemset_v3020", "cudaMemset", MemOp},
	{"cudaMemsetAsync_v3020", "cudaMemsetAsync", MemOp},
	{"cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync", MemOp},
	{"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync", MemOp},
	{"cuMemcpyDtoH_v2", "cuMemcpyDtoH", MemOp},
	{"cuMemcpy", "cuMemcpy", MemOp},
	{"cuMemsetD32Async_ptsz", "cuMemsetD32Async", MemOp},
	{"cuMemsetD2D8Async", "cuMemsetD2D8Async", MemOp},
	{"cudaMemPrefetchAsync_v8000", "cudaMemPrefetchAsync", Other},
	{"cudaGraphAddMemcpyNode_v10000", "cudaGraphAddMemcpyNode", Other},

	{"cudaMalloc_v3020", "cudaMalloc", Alloc},
	{"cudaMalloc", "cudaMalloc", Alloc},
	{"cudaFree", "cudaFree", Alloc},
	{"cudaFree_v3020", "cudaFree", Alloc},
	{"cudaMallocHost_v3020", "cudaMallocHost", Alloc},
	{"cudaMallocAsync_ptsz_v11020", "cudaMallocAsync", Alloc},
	{"cudaMallocFromPoolAsync_v11020", "cudaMallocFromPoolAsync", Alloc},
	{"cudaFreeArray_v3020", "cudaFreeArray", Alloc},
	{"cudaHostAlloc_v3020", "cudaHostAlloc", Alloc},
	{"cudaHostRegister_v4000", "cudaHostRegister", Alloc},
	{"cudaHostUnregister_v4000", "cudaHostUnregister", Alloc},
	{"cudaMemPoolTrimTo_v11020", "cudaMemPoolTrimTo", Alloc},
	{"cudaMemGetInfo_v3020", "cudaMemGetInfo", Alloc},
	{"cuMemAlloc_v2", "cuMemAlloc", Alloc},
	{"cuMemFree_v2", "cuMemFree", Alloc},
	{"cuMemFreeHost", "cuMemFreeHost", Alloc},
	{"cuMemHostAlloc", "cuMemHostAlloc", Alloc},
	{"cuMemHostRegister_v2", "cuMemHostRegister", Alloc},
	{"cuMemAllocAsync_ptsz", "cuMemAllocAsync", Alloc},
	{"cuMemAddressReserve", "cuMemAddressReserve", Alloc},
	{"cuMemCreate", "cuMemCreate", Alloc},
	{"cuMemMap", "cuMemMap", Alloc},
	{"cuMemSetAccess", "cuMemSetAccess", Alloc},
	{"cuMemUnmap", "cuMemUnmap", Alloc},
	{"cuMemImportFromShareableHandle", "cuMemImportFromShareableHandle", Alloc},
	{"cuMulticastBindMem", "cuMulticastBindMem", Alloc},
	{"cuMulticastGetGranularity", "cuMulticastGetGranularity", Other},
	{"cudaEventCreate_v3020", "cudaEventCreate", Alloc},
	{"cudaEventCreateWithFlags_v3020", "cudaEventCreateWithFlags", Alloc},
	{"cudaEventDestroy_v3020", "cudaEventDestroy", Alloc},
	{"cudaEventRecord_v3020", "cudaEventRecord", Alloc},
	{"cudaEventRecordWithFlags_v11010", "cudaEventRecordWithFlags", Alloc},
	{"cuEventRecord_ptsz", "cuEventRecord", Alloc},
	{"cudaStreamCreate_v3020", "cudaStreamCreate", Alloc},
	{"cudaStreamCreateWithPriority_v5050", "cudaStreamCreateWithPriority", Alloc},
	{"cudaStreamDestroy_v5050", "cudaStreamDestroy", Alloc},
	{"cuModuleLoadDataEx", "cuModuleLoadDataEx", Alloc},
	{"cuModuleUnload", "cuModuleUnload", Alloc},
	{"cuModuleGetFunction", "cuModuleGetFunction", Alloc},
	{"cuLibraryLoadData", "cuLibraryLoadData", Alloc},
	{"cuLibraryGetKernel", "cuLibraryGetKernel", Alloc},
	{"cudaGetFuncBySymbol_v11000", "cudaGetFuncBySymbol", Alloc},

	{"cuKernelGetName", "cuKernelGetName", Other},
	{"cuModuleGetLoadingMode", "cuModuleGetLoadingMode", Other},
	{"cuProfilerStart", "cuProfilerStart", Other},

	{"hipLaunchKernel", "hipLaunchKernel", Launch},
	{"hipModuleLaunchKernel", "hipModuleLaunchKernel", Launch},
	{"hipExtModuleLaunchKernel", "hipExtModuleLaunchKernel", Launch},
	{"hipGraphLaunch", "hipGraphLaunch", GraphLaunch},
	{"hipGraphInstantiate", "hipGraphInstantiate", Other},
	{"hipStreamSynchronize", "hipStreamSynchronize", Sync},
	{"hipMemcpyWithStream", "hipMemcpyWithStream", MemOp},
	{"hipMemsetAsync", "hipMemsetAsync", MemOp},
	{"hipHostMalloc", "hipHostMalloc", Alloc},
	{"hipEventRecord", "hipEventRecord", Alloc},
	{"hipGetDevice", "hipGetDevice", Other},

	// Not versions, or not of ours.
	{"", "", Other},
	{"cu", "cu", Other},
	{"cuda", "cuda", Other},
	{"cuFoo_v12", "cuFoo_v12", Other},
	{"cudaFoo_v300", "cudaFoo_v300", Other},
	{"cudaFoo_v", "cudaFoo_v", Other},
	{"cudaFoo_ptsz_v2", "cudaFoo_v2", Other},
	{"cuFoo_ptsz_v2", "cuFoo", Other},
	{"cudaFoov7000", "cudaFoov7000", Other},
	{"pthread_cond_wait_v2", "pthread_cond_wait_v2", Other},
	{"MySynchronize", "MySynchronize", Other},
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
		case Launch, GraphLaunch, Sync, MemOp, Alloc, Other:
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
