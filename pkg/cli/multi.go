package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MainOf runs one of several commands as the process, and returns its exit status:
// the command that the process is called by, which is how links to one binary
// behave, or else the one that the first argument names. The binary itself is
// called name.
func MainOf(name string, cmds []*Command) int {
	limitMemory()
	return runOf(name, cmds, os.Args, os.Stdin, os.Stdout, os.Stderr)
}

// runOf is MainOf with arguments, of which the first is what the process is called.
func runOf(name string, cmds []*Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	called := filepath.Base(args[0])
	if cmd := named(cmds, called); cmd != nil {
		return run(cmd, called, args[1:], stdin, stdout, stderr)
	}
	c := Call{Name: name, Stderr: stderr}
	if len(args) < 2 {
		c.complain(Misuse("no command", "'"+name+" --help' lists the commands"))
		return StatusTrouble
	}
	if cmd := named(cmds, args[1]); cmd != nil {
		return run(cmd, args[1], args[2:], stdin, stdout, stderr)
	}
	var err error
	switch word := args[1]; {
	case args[len(args)-1] == completeArgument:
		writeNames(cmds, word, stdout)
	case word == "--help" || word == "-h" || word == "help":
		_, err = io.WriteString(stdout, helpOf(name, cmds))
	case word == "--"+manFlag:
		_, err = io.WriteString(stdout, manOf(name, cmds))
	case word == "--"+versionFlag:
		_, err = fmt.Fprintln(stdout, name, "version", Version())
	case word == "--"+completionFlag && len(args) == 3:
		err = writeCompletion(name, args[2], stdout)
	default:
		advice := "'" + name + " --help' lists the commands"
		var names []string
		for _, c := range cmds {
			names = append(names, c.Name, c.Installed)
		}
		if meant := closest(word, names); meant != "" {
			advice = "did you mean " + meant + "? " + advice
		}
		err = Misuse("unknown command: "+word, advice)
	}
	if err != nil {
		c.complain(err)
		return StatusTrouble
	}
	return 0
}

// named returns the command of that name, which may be the one that it is
// installed under, or nil.
func named(cmds []*Command, name string) *Command {
	k := slices.IndexFunc(cmds, func(c *Command) bool { return name != "" && (c.Name == name || c.Installed == name) })
	if k < 0 {
		return nil
	}
	return cmds[k]
}

// writeNames writes the names of the commands that begin as given.
func writeNames(cmds []*Command, begin string, w io.Writer) {
	for _, c := range cmds {
		if begin == completeArgument || strings.HasPrefix(c.Name, begin) {
			fmt.Fprintf(w, "%s\t%s\n", c.Name, c.Summary)
		}
	}
}

// manOf is the manual page of a binary of several commands.
func manOf(name string, cmds []*Command) string {
	var b strings.Builder
	manHead(&b, name, "filters over traces of GPUs that say whether the host holds them back", `\fICOMMAND\fR [flags] [FILE...]`)
	b.WriteString(".SH COMMANDS\n")
	for _, c := range cmds {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(c.Name), roff(c.Summary))
	}
	b.WriteString(".SH DESCRIPTION\n" + roff("A link to "+name+" that has the name of a command is that command.") + "\n.SH SEE ALSO\n")
	for k, c := range cmds {
		if k > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `\fB%s\fR(1)`, roff(cmp.Or(c.Installed, c.Name)))
	}
	return b.String() + "\n"
}

// helpOf is the usage text of a binary of several commands.
func helpOf(name string, cmds []*Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [flags] [FILE...]\n\nCommands, each of which explains itself with --help:\n", name)
	width := 0
	for _, c := range cmds {
		width = max(width, len(c.Name))
	}
	for _, c := range cmds {
		summary := c.Summary
		if c.Installed != "" {
			summary += " (installed as " + c.Installed + ")"
		}
		text := wrapped(summary, strings.Repeat(" ", width+5), helpWidth)
		b.WriteString("  " + c.Name + text[2+len(c.Name):])
	}
	fmt.Fprintf(&b, "\nA link to %s that has the name of a command is that command.\n", name)
	return b.String()
}
