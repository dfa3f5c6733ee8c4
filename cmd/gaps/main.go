// Gaps says where the idle time of the GPUs goes, to the last nanosecond.
package main

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/command"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Main(command.Command{
		Name:  "gaps",
		Usage: "say where the idle time of the GPUs goes",
		Args:  "[FILE...]",
		Description: `Gaps splits the idle time of each GPU by what the thread that launches its next
work did meanwhile (idle); sorts gaps between kernels by length (gaps); tells how
much of the work CUDA graphs replay and what runs outside of them (graph); finds
the repeated layer of the model and where in it the GPU waits (pattern); names
the rank that the others wait for, and why (straggler); and shows how far ahead
of the GPU the host runs (slack).

Without --report all of it is one page, the most important first.`,
		Examples: []string{
			"gaps trace.sqlite",
			"gaps --report straggler rank*.sqlite",
			"nsys2arrow trace.sqlite | isolate | phase | gaps --report idle --per-step --format csv",
			"gaps trace.sqlite --format json | jq .findings",
		},
		Flags:   command.Flags(command.GapsFlags(), command.IsolateFlags(), command.SelectFlags()),
		Formats: command.ReportFormats,
		Run:     (*command.Context).RunGaps,
	}, args, stdin, stdout, stderr)
}
