// Verdict says whether the host holds the GPUs of a run back.
package main

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/command"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Main(command.Command{
		Name:  "verdict",
		Usage: "say whether the host holds the GPUs of a run back",
		Args:  "[FILE...]",
		Description: `Verdict compares six metrics with limits: two or more that are over theirs make a
YES. It decides for the benchmark window, and for the context and the generation
steps in it; a phase can raise the verdict, never lower it.

Every ratio has a 95 % interval over the run's steps, where there are at least 8.
Where the verdict would be another if one measurement lay elsewhere in its
interval it is called borderline, and the report names the measurements.

The verdict is INCONCLUSIVE where the trace cannot answer: there is no GPU
activity, replays of CUDA graphs were launched and not recorded, the profiler lost
CUDA events, fewer than half of the forward-step ranges became steps, or no steps
were found (with --by none it answers for the whole trace).

FILE is an nsys export (several for several ranks), or what any filter wrote;
the flags for finding steps and for measuring are those of isolate and metrics.`,
		Status: "; with --exit-code 0 for NO, 1 for YES, 3 for INCONCLUSIVE",
		Examples: []string{
			"verdict trace.sqlite",
			"nsys2arrow trace.sqlite | isolate --by allreduce | phase | metrics | verdict",
			"verdict rank*.sqlite --format json | jq .phases.generation.metrics",
			"verdict trace.sqlite --exit-code --threshold generation.gpu_idle_ratio=0.2 || echo look into it",
		},
		Flags:   command.Flags(command.VerdictFlags(), command.IsolateFlags(), command.MetricsFlags(), command.SelectFlags()),
		Formats: command.VerdictFormats,
		Run: func(c *command.Context) (int, error) {
			report, err := c.Verdict()
			if err != nil {
				return 0, err
			}
			return c.WriteVerdict(report)
		},
	}, args, stdin, stdout, stderr)
}
