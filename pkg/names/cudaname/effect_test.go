package cudaname

import "testing"

func TestEffectOf(t *testing.T) {
	for name, want := range map[string]Effect{
		"cudaMemcpy": Blocks, "cuMemcpyDtoH": Blocks, "cudaMemcpyAsync": 0, "cudaEventQuery": Polls, "cuStreamQuery": Polls, "cudaMemsetAsync": 0,
		"cudaMalloc": MakesObjects, "cuMemCreate": MakesObjects, "cudaStreamDestroy": MakesObjects, "cudaEventCreateWithFlags": MakesObjects,
		"cudaMallocAsync": 0, "cudaMemGetInfo": 0, "cudaEventRecord": 0, "cudaLaunchKernel": 0,
		"cuModuleLoadDataEx": MakesObjects | LoadsCode, "cudaGraphInstantiate": LoadsCode, "cuGraphInstantiateWithFlags": LoadsCode, "cudaGraphLaunch": 0, "cuLinkAddData": MakesObjects | LoadsCode, "cuModuleUnload": MakesObjects,
		"Malloc": 0, "cu": 0, "": 0, "aten::view": 0,
	} {
		if got := EffectOf(name); got != want {
			t.Errorf("%s: %b, want %b", name, got, want)
		}
	}
}
