// Mcp answers coding agents over the Model Context Protocol.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
)

func main() { os.Exit(cli.Main(&command)) }
