// Phase tells context steps from generation steps.
package main

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/command"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Main(command.Command{
		Name:  "phase",
		Usage: "tell context steps from generation steps",
		Args:  "[FILE...]",
		Description: `Phase reads the numbers of context and generation requests from the forward-step
range that a step was launched under and adds them to the step's row (ctx, gen).
A step with context requests is of the phase context, also when it has
generation requests as well; one with only generation requests of the phase
generation; the phase of the others is unknown.`,
		Examples: []string{
			"nsys2arrow trace.sqlite | isolate | phase | metrics | verdict",
			"phase trace.sqlite -o phases.arrows",
			"phase trace.sqlite --format csv | grep ^step",
		},
		Flags:   command.Flags(command.IsolateFlags(), command.SelectFlags(), command.RowFlags(), []command.Flag{command.CheckpointFlag()}),
		Formats: command.RowFormats,
		Run: func(c *command.Context) (int, error) {
			src, err := c.Events(command.Isolated)
			if err != nil {
				return 0, err
			}
			if src, err = c.Phase(src); err != nil {
				return 0, err
			}
			return 0, c.WriteEvents(src)
		},
	}, args, stdin, stdout, stderr)
}
