// Hotspots says what kind of waste the hot lines of a Python profile are, and follows
// rounds of changes to their end.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.Main(&command.Hotspots)) }
