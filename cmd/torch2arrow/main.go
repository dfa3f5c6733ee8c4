// Torch2arrow reads traces of PyTorch's profiler as a stream of events.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.Main(&command.Torch2arrow)) }
