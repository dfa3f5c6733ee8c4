// Metrics measures how busy the GPUs are and what the host does meanwhile.
package main

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/command"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Main(command.Command{
		Name:  "metrics",
		Usage: "measure GPU idle time, launch overhead and exposed host preparation",
		Args:  "[FILE...]",
		Description: `Metrics writes a row for each metric of the benchmark window (scope aggregate) and
of the context and generation steps in it. A metric is a ratio of two times; the
row holds both, in ns, so that the rows of several parts of a run add up to
those of the run; low and high are its 95 % interval over the run's steps, where
there are at least 8.

A stream without steps on standard input is measured over all GPU activity of
each rank, as with --window trace.

With --merge the files hold metric rows of parts of a run, as this command writes
them, one part a process, a task or a machine. Times are added exactly; a rank
whose number an earlier file has gets the next free one; the same files in the
same order make the same bytes. The median gap of steady steps and the intervals
do not follow from those of the parts and are null.`,
		Examples: []string{
			"nsys2arrow trace.sqlite | isolate | phase | metrics | verdict",
			"metrics trace.sqlite",
			"metrics trace.sqlite --format csv -o metrics.csv",
			"nsys2arrow trace.sqlite | metrics --format json",
			"metrics --merge rank*.metrics.arrows | verdict",
		},
		Flags:   command.Flags(command.MetricsFlags(), command.IsolateFlags(), command.SelectFlags(), command.RowFlags(), []command.Flag{command.MergeFlag()}),
		Formats: command.RowFormats,
		Run: func(c *command.Context) (int, error) {
			result, err := c.Measure(command.Raw)
			if err != nil {
				return 0, err
			}
			return 0, c.WriteTable(result.Table())
		},
	}, args, stdin, stdout, stderr)
}
