package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MainOf runs one of several commands as the process and returns its exit status: the
// command that the process is called by, as with links to one binary, or else the one
// named by the first argument. The binary itself is called name.
func MainOf(name string, cmds []*Command) int {
	limitMemory()
	return runOf(name, cmds, os.Args, os.Stdin, os.Stdout, os.Stderr)
}

// runOf is MainOf with arguments; the first one is the name of the process.
func runOf(name string, cmds []*Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	called := filepath.Base(args[0])
	if cmd := named(cmds, called); cmd != nil {
		return run(cmd, called, args[1:], stdin, stdout, stderr)
	}
	if args = args[1:]; len(args) > 0 {
		if cmd := named(cmds, args[0]); cmd != nil {
			return run(cmd, args[0], args[1:], stdin, stdout, stderr)
		}
		if args[len(args)-1] == completeArgument {
			for _, c := range cmds { // commands that begin like the word
				if args[0] == completeArgument || strings.HasPrefix(c.Name, args[0]) {
					fmt.Fprintf(stdout, "%s\t%s\n", c.Name, c.Summary)
				}
			}
			return 0
		}
		if args[0] == "help" {
			args = []string{"--" + helpFlag}
		} else if !strings.HasPrefix(args[0], "-") { // later arguments belong to the unknown command
			args = args[:1]
		}
	}
	return run(all(name, cmds), name, args, stdin, stdout, stderr)
}

// all returns the command that stands for the binary itself and lists the others.
func all(name string, cmds []*Command) *Command {
	var names []string
	var rows strings.Builder
	for _, c := range cmds {
		names = append(names, c.Name, c.Installed)
		summary := c.Summary
		if c.Installed != "" {
			summary += " (installed as " + c.Installed + ")"
		}
		fmt.Fprintf(&rows, "\n  %-11s  %s", c.Name, summary)
	}
	return &Command{
		Name: name, Summary: "filters over traces of GPUs that say whether the host holds them back", Args: "| COMMAND [flags] [FILE...]",
		Description: "Each command explains itself with --help. A link to " + name + " that has the name of a command is that\ncommand.\n" + rows.String(),
		Examples:    []string{name + " verdict trace.sqlite"},
		Run: func(c *Call) (int, error) {
			advice := "'" + name + " --help' lists the commands"
			if len(c.Files) == 0 {
				return 0, Misuse("no command", advice)
			}
			if meant := closest(c.Files[0], names); meant != "" {
				advice = "did you mean " + meant + "? " + advice
			}
			return 0, Misuse("unknown command: "+c.Files[0], advice)
		},
	}
}

// named returns the command with that name or installed name, nil if there is none.
func named(cmds []*Command, name string) *Command {
	k := slices.IndexFunc(cmds, func(c *Command) bool { return name != "" && (c.Name == name || c.Installed == name) })
	if k < 0 {
		return nil
	}
	return cmds[k]
}
