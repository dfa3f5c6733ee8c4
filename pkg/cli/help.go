package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// helpWidth is the width of a usage text in columns, unless the terminal has fewer.
const helpWidth = 96

// help returns the usage text of a command under the name it was called by, for a
// terminal with columns columns, 0 if unknown.
func help(cmd *Command, name string, columns int) string {
	limit := helpWidth
	if columns > 0 {
		limit = min(limit, columns)
	}
	var b strings.Builder
	b.WriteString(wrapped(name+": "+cmd.Summary+".", "", limit) + "\n")
	b.WriteString("Usage: " + name + " [flags] " + cmd.Args + "\n\n")
	b.WriteString(flowed(cmd.Description, limit))
	for _, g := range cmd.groups() {
		b.WriteString("\n" + g.heading + ":\n")
		writeFlags(&b, g.flags, limit)
	}
	b.WriteString("\n" + wrapped("Exit status: "+cmd.status(), "", limit) + "\nExamples:\n")
	for _, e := range cmd.examples(name) { // not wrapped, so that they can be copied
		b.WriteString("  " + e + "\n")
	}
	return b.String()
}

// flowed rewraps a description: lines that begin with a space are rows of a table, all
// others are paragraphs.
func flowed(text string, limit int) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for len(lines) > 0 {
		kind := kindOf(lines[0])
		n := slices.IndexFunc(lines, func(l string) bool { return kindOf(l) != kind })
		if n < 0 {
			n = len(lines)
		}
		switch kind {
		case 0:
			b.WriteString(strings.Repeat("\n", n))
		case ' ':
			writeRows(&b, lines[:n], limit)
		default:
			b.WriteString(wrapped(strings.Join(lines[:n], " "), "", limit))
		}
		lines = lines[n:]
	}
	return b.String()
}

// kindOf classifies a line: 0 is empty, a space is a row of a table, 'a' is prose.
func kindOf(line string) byte {
	switch {
	case line == "":
		return 0
	case line[0] == ' ':
		return ' '
	}
	return 'a'
}

// writeRows writes the rows of a table, whose columns are at least two spaces apart. If
// a row is too wide, the columns after the first are wrapped as text.
func writeRows(b *strings.Builder, rows []string, limit int) {
	fits := !slices.ContainsFunc(rows, func(r string) bool { return utf8.RuneCountInString(r) > limit })
	for _, r := range rows {
		name := strings.TrimLeft(r, " ")
		indent := len(r) - len(name)
		if k := strings.Index(name, "  "); k >= 0 {
			indent += k + len(name[k:]) - len(strings.TrimLeft(name[k:], " "))
		}
		if fits {
			b.WriteString(r + "\n")
			continue
		}
		text := columns.ReplaceAllString(r[indent:], ": ")
		b.WriteString(r[:indent] + strings.TrimLeft(wrapped(text, strings.Repeat(" ", indent), limit), " "))
	}
}

// columns matches the space between columns.
var columns = regexp.MustCompile(`  +`)

// wrapped breaks a text into lines of at most limit columns, each indented.
func wrapped(text, indent string, limit int) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
			b.WriteString(indent)
			at = len(indent)
		case at+1+n > limit:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String() + "\n"
}

// examples returns the command's examples, with the name it was called by.
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

// writeFlags writes flags and their purposes, aligned.
func writeFlags(b *strings.Builder, flags []Flag, limit int) {
	indent := 0
	for _, f := range flags {
		indent = max(indent, len(f.left()))
	}
	for _, f := range flags {
		text := wrapped(f.purpose(), strings.Repeat(" ", indent+3), limit)
		b.WriteString(f.left() + text[len(f.left()):])
	}
}

// left returns the flag as it is given: "  -o, --output FILE".
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

// valueName returns the word in backquotes in Usage, "" if there is none.
func (f *Flag) valueName() string {
	_, rest, _ := strings.Cut(f.Usage, "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

// purpose returns Usage without its backquotes, and the default value.
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

// group is the flags under a heading of the manual.
type group struct {
	heading string
	flags   []Flag
}

// groups returns the flags by heading, the command's own first.
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

// status returns the sentence about exit statuses.
func (cmd *Command) status() string { return "0 done, 2 bad usage or input" + cmd.Status + "." }
