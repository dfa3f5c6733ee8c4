package verdict

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
)

// recordLoop is the title of the section on how to instrument a program of one's own.
const recordLoop = "Record a loop of your own"

// remedy says what to do about an INCONCLUSIVE. Code goes to loop.
func (r page) remedy(d, loop *report.Section) {
	has := func(what remedy) bool { return slices.Contains(r.remedies, what) }
	if has(recordMore) {
		d.Item("Record about fifty steps: the first after the profiler's start does not count.")
	}
	if has(countMarkers) {
		d.Item("Compare with %s: steps may have been split or merged.", report.Command("--by nvtx"))
	}
	switch r.run.Source {
	case "torch":
		r.recordTorch(d, loop, has)
	case "rocpd":
		r.recordROCm(d, has)
	default:
		r.recordNsys(d, has)
	}
}

// recordROCm says how to record with AMD's profiler.
func (r page) recordROCm(d *report.Section, has func(remedy) bool) {
	if has(recordGPU) {
		d.Item("Profile the engine process, not the client, and keep it busy while recording.")
	}
	if has(recordLess) || has(recordReplays) {
		d.Item("Record fewer steps, so that the profiler keeps up.")
	}
	if has(recordMarkers) {
		markedAlready(d, "nsys2arrow")
		d.Item("Put a roctx range around each step, and name it with %s.", report.Command("--marker 'REGEX'"))
		withoutSteps(d)
	}
	d.Say("To record again:")
	d.Code(report.Rocprof)
}

// recordNsys says how to record with Nsight Systems.
func (r page) recordNsys(d *report.Section, has func(remedy) bool) {
	record, iterations := report.CaptureOptions{}, r.Workload == ""
	if has(recordGPU) {
		d.Item("Profile the engine process, not the client: start it under nsys profile -t cuda, and keep it busy while recording.")
	}
	if has(recordLess) {
		d.Item("Record less, so that the profiler keeps up: about fifty iterations, with CUDA graph replays as a whole.")
		record = report.CaptureOptions{WholeGraphs: true, Iterations: iterations}
	}
	if has(recordReplays) {
		d.Item("Record the kernels of CUDA graphs: %s.", report.Command("--cuda-graph-trace=node"))
	}
	if has(recordMarkers) {
		markedAlready(d, "nsys2arrow")
		if r.Workload == "" {
			d.Item("TensorRT-LLM always marks its steps (-t nvtx). vLLM does so with VLLM_NVTX_SCOPES_FOR_PROFILING=1, SGLang with SGLANG_ENABLE_NVTX_SCHEDULER=1. " +
				"In your own program, put an NVTX range around each iteration.")
		} else {
			d.Item("Put an NVTX range around each iteration, and name it with %s.", report.Command("--marker 'REGEX'"))
		}
		withoutSteps(d)
	}
	d.Say("To record again:")
	d.Code(report.CaptureCommand(record) + "\n" + report.Export)
	if !record.Iterations && iterations {
		d.Say("With TensorRT-LLM, for about fifty iterations:")
		d.Code(report.CaptureCommand(report.CaptureOptions{Iterations: true}))
	}
}

// recordTorch says how to record with PyTorch's profiler.
func (r page) recordTorch(d, loop *report.Section, has func(remedy) bool) {
	if has(recordGPU) {
		d.Item("Record the GPU, too: %s in the processes that use it, while it works.", report.Command("activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"))
	}
	if has(recordLess) || has(recordReplays) {
		d.Item("Record fewer steps at a time, so that the profiler keeps up: %s.", report.Command(report.TorchFewer))
	}
	if has(recordMarkers) {
		markedAlready(d, "torch2arrow")
		engines := ""
		if r.Workload == "" {
			engines = " vLLM and SGLang name their steps themselves."
		}
		d.Item("In a loop of your own put %s around each step, or call %s after it: that makes ranges ProfilerStep#N.%s",
			report.Command("record_function"), report.Command("profiler.step()"), engines)
		withoutSteps(d)
	}
	d.Item(report.TorchStacks)
	if r.Workload != "" {
		loop.Code(report.TorchLoop)
		return
	}
	loop.Code(report.Torch)
	d.Say("To record again in an engine, which writes a trace for each rank:")
	d.Code(report.TorchEngines)
}

// markedAlready says how to find ranges that may be steps.
func markedAlready(d *report.Section, reader string) {
	d.Item("If the trace has a range per iteration already, pass %s; %s lists the ranges that recur.",
		report.Command("--by nvtx --marker 'REGEX'"), report.Command(reader+" --doctor"))
}

// withoutSteps says what can be had without steps.
func withoutSteps(d *report.Section) {
	d.Item("%s shows where the idle time of the whole trace goes. Use %s if all of it is steady work.",
		report.Command("gaps"), report.Command("verdict --by none"))
}
