// Gaps says where the idle time of the GPUs goes, to the last nanosecond.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.Main(&command.Gaps)) }
