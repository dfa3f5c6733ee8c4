package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
)

// torchFlags say how traces of PyTorch's profiler are read.
var torchFlags = []cli.Flag{
	{Name: "partial", Usage: "read what there is of a trace that was cut short", Default: false},
	{Name: "python", Usage: "also make ranges of Python functions (recorded with_stack)", Default: false},
}

// Torch2arrow reads traces of PyTorch's profiler as a stream of events.
var Torch2arrow = cli.Command{
	Name:    "torch2arrow",
	Summary: "read PyTorch profiler traces as a stream of events",
	Args:    "FILE...",
	Description: `Each FILE is a trace of one process as PyTorch's profiler writes it (.json or
.json.gz, recognised by content), of CUDA or ROCm, from torch.profiler, vLLM, SGLang or
TensorRT-LLM; one that holds the calls of several, merged by a tool, is refused.
Several files are the ranks of one run: a trace's rank is the one that it states, or
else the one in its name. Files of one process that do not overlap in time, as a schedule of
several cycles writes them, are parts of one rank; the same rank twice is refused
otherwise. Clocks are compared, and where need be aligned, by the ends of the
collectives that ranks have in common.

A row is an event as nsys2arrow has it: kernels, copies and memsets with the call
that launched them, runtime and driver calls, ranges of the domains torch
(annotations) and aten (operators). Events that are not JSON are skipped and counted
in a warning. What this profiler does not record is unknown, not zero.

Every other filter takes such traces, too, where it takes an export, and this one
takes exports. The metadata of a stream say who recorded its reports, and as stage
which of the two filters read them.`,
	Examples: []string{
		"torch2arrow rank0.pt.trace.json.gz | isolate | phase | metrics | verdict",
		"torch2arrow profile/*.json.gz -o run.arrows",
		"torch2arrow trace.json --python --format csv | head",
		"verdict profile/*.json.gz",
	},
	Flags: slices.Concat(outputFlags("torch2arrow"), []cli.Flag{topFlag, doctorFlag}, checkpointFlags, torchFlags, selectFlags),
	Run:   planned("torch2arrow", planReports),
}
