package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
)

// torchFlags say how to read traces of PyTorch's profiler.
var torchFlags = []cli.Flag{
	{Name: "partial", Usage: "read what is left of a truncated trace", Default: false},
	{Name: "python", Usage: "also turn Python functions into ranges (recorded with_stack)", Default: false},
}

// Torch2arrow reads traces of PyTorch's profiler as a stream of events.
var Torch2arrow = manual("torch2arrow", cli.Command{
	Flags: slices.Concat(outputFlags("torch2arrow"), []cli.Flag{topFlag, doctorFlag}, checkpointFlags, torchFlags, selectFlags),
	Run:   planned("torch2arrow", planReports),
})
