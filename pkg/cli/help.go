package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// helpWidth is the width that the lines about flags are broken at, in columns.
const helpWidth = 96

// Help returns the usage text of a command.
func Help(cmd *Command) string {
	var b strings.Builder
	b.WriteString(cmd.Name + ": " + cmd.Summary + ".\n\n")
	b.WriteString("Usage: " + cmd.Name + " [flags] " + cmd.Args + "\n\n")
	b.WriteString(cmd.Description + "\n")
	for _, g := range cmd.groups() {
		b.WriteString("\n" + g.heading + ":\n")
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, f := range g.flags {
			f.add(set)
		}
		b.WriteString(set.FlagUsagesWrapped(helpWidth))
	}
	b.WriteString("\nExit status: " + cmd.status() + "\n\nExamples:\n")
	for _, e := range cmd.Examples {
		b.WriteString("  " + e + "\n")
	}
	return b.String()
}

// group is flags under a heading of the manual.
type group struct {
	heading string
	flags   []Flag
}

// groups returns the flags by heading, those of the command itself first.
func (cmd *Command) groups() []group {
	var all []group
	for _, f := range cmd.allFlags() {
		heading := f.Group
		if heading == "" {
			heading = "Flags"
		}
		k := slices.IndexFunc(all, func(g group) bool { return g.heading == heading })
		if k < 0 {
			k = len(all)
			all = append(all, group{heading: heading})
		}
		all[k].flags = append(all[k].flags, f)
	}
	return all
}

// status is the sentence about exit statuses.
func (cmd *Command) status() string { return "0 done, 2 bad usage or input" + cmd.Status + "." }
