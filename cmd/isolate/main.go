// Isolate finds the steps of a run in a stream of events.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.Main(&command.Isolate)) }
