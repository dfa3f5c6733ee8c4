// Nsys2arrow reads Nsight Systems exports as a stream of events.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.Main(&command.Nsys2arrow)) }
