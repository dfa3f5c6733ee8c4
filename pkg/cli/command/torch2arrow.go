package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
)

// torchFlags say how traces of PyTorch's profiler are read.
var torchFlags = []cli.Flag{
	{Name: "partial", Usage: "read what is left of a truncated trace", Default: false},
	{Name: "python", Usage: "also turn Python functions into ranges (recorded with_stack)", Default: false},
}

// Torch2arrow reads traces of PyTorch's profiler as a stream of events.
var Torch2arrow = cli.Command{
	Name:    "torch2arrow",
	Summary: "read PyTorch profiler traces as a stream of events",
	Args:    "FILE...",
	Description: `Each FILE is the PyTorch profiler trace of one process (.json or .json.gz, recognised
by content), on CUDA or ROCm, from torch.profiler, vLLM, SGLang or TensorRT-LLM.
Merged traces of several processes are rejected. Several files are the ranks of one
run: the rank comes from the trace, or else from the file name. Files of one process
that do not overlap in time (a profiler schedule of several cycles) are parts of one
rank; otherwise the same rank twice is rejected. Clocks are compared, and aligned if
needed, by the ends of the collectives that ranks share.

Rows are events, as from nsys2arrow: kernels, copies and memsets with the call that
launched them, runtime and driver calls, ranges of the domains torch (annotations)
and aten (operators). Events that are not JSON are skipped, and a warning counts
them. What PyTorch's profiler does not record counts as unknown, not as zero.

Filters that read nsys exports also read these traces, and torch2arrow also reads
nsys exports. The metadata of a stream name the profiler; their stage is the filter
that read the reports (nsys2arrow or torch2arrow).`,
	Examples: []string{
		"torch2arrow rank0.pt.trace.json.gz | isolate | phase | metrics | verdict",
		"torch2arrow profile/*.json.gz -o run.arrows",
		"torch2arrow trace.json --python --format csv | head",
		"verdict profile/*.json.gz",
	},
	Flags: slices.Concat(outputFlags("torch2arrow"), []cli.Flag{topFlag, doctorFlag}, checkpointFlags, torchFlags, selectFlags),
	Run:   planned("torch2arrow", planReports),
}
