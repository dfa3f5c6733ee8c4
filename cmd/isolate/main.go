// Isolate finds the steps of a run in a stream of events.
package main

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/command"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Main(command.Command{
		Name:  "isolate",
		Usage: "find the steps of a run and its benchmark window",
		Args:  "[FILE...]",
		Description: `A step is one forward iteration of one rank. Isolate writes a row of kind step
before the rows of each step, tags those rows with the step's number, and ends
with a row of kind window for each rank: its benchmark window.

By default it takes the all-reduce kernels that every step has (--by allreduce);
where whole graph replays hide them, or there are none, the forward-step ranges
of TensorRT-LLM, vLLM or SGLang (--by nvtx); else what each CUDA graph launch ran
on the GPU (--by graph). It says on standard error which it took and why.

Without forward-step ranges the all-reduce kernels of a step are identified by
what recurs once a step around them: embeddings, sampling, copies, the host's
waits, graph replays. Where that is not clear isolate ends with status 2 and says
what to do; --gap splits at gaps instead.`,
		Examples: []string{
			"nsys2arrow trace.sqlite | isolate | phase | metrics | verdict",
			"isolate --by nvtx trace.sqlite --format csv | grep ^step",
			"isolate --marker 'iter (?P<step>[0-9]+)' trace.sqlite -o steps.arrows",
		},
		Flags:   command.Flags(command.IsolateFlags(), command.SelectFlags(), command.RowFlags(), []command.Flag{command.CheckpointFlag()}),
		Formats: command.RowFormats,
		Run: func(c *command.Context) (int, error) {
			src, err := c.Events(command.Raw)
			if err != nil {
				return 0, err
			}
			if src, err = c.Isolate(src); err != nil {
				return 0, err
			}
			return 0, c.WriteEvents(src)
		},
	}, args, stdin, stdout, stderr)
}
