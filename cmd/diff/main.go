// Diff says which host operation costs more per step in one run than in another,
// and whether that is more than noise.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.Main(&command.Diff)) }
