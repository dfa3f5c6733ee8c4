// Diff says which host operation costs more a step in one run than in another,
// and whether that is more than noise.
package main

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/command"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Main(command.Command{
		Name:  "diff",
		Usage: "say what costs more per step in one run than in another, and whether it is real",
		Args:  "BASELINE TARGET | RUN",
		Description: `Diff compares two runs step by step: wall, GPU busy and idle time, every NVTX
operation, kernels and CUDA API calls. Each change comes with a confidence
interval that allows for neighbouring steps being correlated, and counts only where
it is beyond the noise of the runs themselves, over all rows together. "No
evidence of a change" is an answer. Of one run it prints the breakdown.

A run is an nsys export, a stream or a checkpoint at any stage, or several exports
of one run, separated by commas or as a pattern in quotes. What differs from one
start of an engine to the next is in the answer only where each side has several
runs: give --baseline and --target once for each. scripts/install.sh calls this
command tracediff.`,
		Status: ", 1 where a condition of --fail-on is met",
		Examples: []string{
			"diff v1.sqlite v2.sqlite",
			"diff v1_rank0.sqlite,v1_rank1.sqlite 'v2_rank*.sqlite'",
			"diff --baseline v1_a.sqlite --baseline v1_b.sqlite --target v2_a.sqlite --target v2_b.sqlite",
			"diff <(isolate --by nvtx v1.sqlite) <(isolate --by nvtx v2.sqlite) --format json | jq .optimization_handoff",
			"diff v1.sqlite v2.sqlite --fail-on regression --fail-on 'wall>3%' || exit 1",
		},
		Flags:   command.Flags(command.DiffFlags(), command.IsolateFlags(), command.SelectFlags()),
		Formats: command.ReportFormats,
		Run:     (*command.Context).RunDiff,
	}, args, stdin, stdout, stderr)
}
