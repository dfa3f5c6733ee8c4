package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// helpWidth is the width that the lines about flags are broken at, in columns.
const helpWidth = 96

// help returns the usage text of a command that was called by the given name.
func help(cmd *Command, name string) string {
	var b strings.Builder
	b.WriteString(name + ": " + cmd.Summary + ".\n\n")
	b.WriteString("Usage: " + name + " [flags] " + cmd.Args + "\n\n")
	b.WriteString(cmd.Description + "\n")
	for _, g := range cmd.groups() {
		b.WriteString("\n" + g.heading + ":\n")
		writeFlags(&b, g.flags)
	}
	b.WriteString("\nExit status: " + cmd.status() + "\n\nExamples:\n")
	for _, e := range cmd.examples(name) {
		b.WriteString("  " + e + "\n")
	}
	return b.String()
}

// examples are those of the command with the name that it was called by.
func (cmd *Command) examples(name string) []string {
	var all []string
	for _, e := range cmd.Examples {
		parts := strings.Split(e, " && ")
		for i, part := range parts {
			if rest, begins := strings.CutPrefix(part, cmd.Name+" "); begins {
				parts[i] = name + " " + rest
			}
		}
		all = append(all, strings.Join(parts, " && "))
	}
	return all
}

// writeFlags writes flags with what they are for, both aligned.
func writeFlags(b *strings.Builder, flags []Flag) {
	indent := 0
	for _, f := range flags {
		indent = max(indent, len(f.left()))
	}
	for _, f := range flags {
		column, text := indent+3, f.purpose()
		fmt.Fprintf(b, "%-*s", column, f.left())
		at := column
		for k, word := range strings.Fields(text) {
			if k > 0 && at+1+len(word) > helpWidth {
				b.WriteString("\n" + strings.Repeat(" ", column))
				at = column
			} else if k > 0 {
				b.WriteString(" ")
				at++
			}
			b.WriteString(word)
			at += len(word)
		}
		b.WriteString("\n")
	}
}

// left is the flag as it is given: "  -o, --output FILE".
func (f *Flag) left() string {
	text := "      --" + f.Name
	if f.Short != "" {
		text = "  -" + f.Short + ", --" + f.Name
	}
	if name := f.valueName(); name != "" {
		text += " " + name
	}
	return text
}

// valueName is the word in backquotes in Usage, empty for none.
func (f *Flag) valueName() string {
	_, rest, _ := strings.Cut(f.Usage, "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

// purpose is Usage without its backquotes, and the value without the flag.
func (f *Flag) purpose() string {
	text := strings.ReplaceAll(f.Usage, "`", "")
	switch value := f.Default.(type) {
	case nil, []string:
	case string:
		if value != "" {
			text += fmt.Sprintf(" (default %q)", value)
		}
	case bool:
		if value {
			text += " (default true)"
		}
	default:
		if shown := fmt.Sprint(value); shown != "0" && shown != "0s" {
			text += " (default " + shown + ")"
		}
	}
	return text
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
		heading := cmp.Or(f.Group, "Flags")
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
