// Hostbound is all commands in one binary, which is easy to install. A link to it that
// has the name of a command runs that command, and so does "hostbound verdict".
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

func main() { os.Exit(cli.MainOf("hostbound", command.All)) }
