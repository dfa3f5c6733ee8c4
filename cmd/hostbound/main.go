// Hostbound is all commands in one binary, for installing: links to it are called
// by the names of the commands, and "hostbound verdict" is verdict.
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.MainOf("hostbound", command.All)) }
