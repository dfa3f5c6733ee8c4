// Phase distinguishes context steps from generation steps.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.Main(&command.Phase)) }
