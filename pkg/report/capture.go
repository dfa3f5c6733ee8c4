// Capture commands say how to record a run so that a question can be answered: command
// lines for Nsight Systems that work as they are, except for the engine's command.
// scripts/capture.sh does the same for a given engine and nsys.

package report

// CaptureOptions say what a recording contains beside CUDA calls, kernels and NVTX
// ranges.
type CaptureOptions struct {
	// GIL records waits for Python's GIL.
	GIL bool
	// Host records what threads did while a GPU waited: OS library calls, scheduling,
	// stacks, and the GIL. It slows the host.
	Host bool
	// Collections makes TensorRT-LLM mark garbage collections. Other engines ignore it.
	Collections bool
	// Ranges makes TensorRT-LLM mark its API calls. Other engines ignore it.
	Ranges bool
	// WholeGraphs records each CUDA graph replay as one row instead of its kernels.
	// This has less overhead, but steps can only be found by markers.
	WholeGraphs bool
	// Iterations makes TensorRT-LLM start and stop the recording itself, around
	// iterations 100 to 150. With another engine it never starts.
	Iterations bool
}

// CaptureCommand returns the command line for a recording with these options.
func CaptureCommand(opt CaptureOptions) string {
	before, traces, rest, graphs := "", "cuda,nvtx", "", "node"
	if opt.Host {
		traces += ",osrt"
		rest = " --sample=process-tree --cpuctxsw=process-tree --samples-per-backtrace=1"
	}
	if opt.Host || opt.GIL {
		traces += ",python-gil"
	}
	if opt.Iterations {
		before, rest = "TLLM_PROFILE_START_STOP=100-150 ", rest+" -c cudaProfilerApi --capture-range-end=stop"
	}
	if opt.Collections {
		before = "TLLM_PROFILE_RECORD_GC=1 " + before
	}
	if opt.Ranges {
		before = "TLLM_LLMAPI_ENABLE_NVTX=1 " + before
	}
	if opt.WholeGraphs {
		graphs = "graph"
	}
	return before + "nsys profile -t " + traces + rest + " --cuda-graph-trace=" + graphs + " -o trace -f true YOUR-COMMAND"
}

// Export is the command line that converts a recording to what the filters read.
const Export = "nsys export --type sqlite -o trace.sqlite trace.nsys-rep"
