// Capture says how to record a run so that a question can be answered:
// command lines for Nsight Systems that work as they stand, but for the command of
// the engine. scripts/capture.sh does the same for a given engine and nsys.

package report

// CaptureOptions say what a recording is to hold beside CUDA calls, kernels and NVTX ranges.
type CaptureOptions struct {
	// GIL records waits for Python's interpreter lock.
	GIL bool
	// Host records what threads did while a GPU waited: calls of the operating system,
	// when they ran, their stacks, and the GIL. It slows the host.
	Host bool
	// Collections has TensorRT-LLM mark garbage collections. Another engine ignores it.
	Collections bool
	// Ranges has TensorRT-LLM mark what its API does. Another engine ignores it.
	Ranges bool
	// WholeGraphs records replays of CUDA graphs as a row each, in place of their
	// kernels: less overhead, and steps from markers alone.
	WholeGraphs bool
	// Iterations has TensorRT-LLM start and stop the recording itself, around the
	// iterations 100 to 150. Another engine never starts it.
	Iterations bool
}

// CaptureCommand returns the command line that records this.
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

// Export is the command line that makes what the filters read of the recording.
const Export = "nsys export --type sqlite -o trace.sqlite trace.nsys-rep"
