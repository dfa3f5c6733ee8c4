package cli

import (
	"fmt"
	"strings"
)

// manPage returns the manual page of a command under the name it was called by, in roff
// with the man macros.
func manPage(cmd *Command, called string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q\n", strings.ToUpper(called), "hostbound "+Version())
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(called), roff(cmd.Summary))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n%s\n", roff(called), "[flags] "+roff(cmd.Args))
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(cmd.Description))
	b.WriteString(".SH OPTIONS\n")
	for k, g := range cmd.groups() {
		if k > 0 {
			b.WriteString(".SS " + roff(g.heading) + "\n")
		}
		for _, f := range g.flags {
			f.manual(&b)
		}
	}
	b.WriteString(".SH EXIT STATUS\n" + roff(cmd.status()) + "\n")
	b.WriteString(".SH EXAMPLES\n.EX\n")
	for _, e := range cmd.examples(called) {
		b.WriteString(roff(e) + "\n")
	}
	b.WriteString(".EE\n")
	return b.String()
}

// manual writes the manual page's entry for a flag.
func (f *Flag) manual(b *strings.Builder) {
	b.WriteString(".TP\n")
	if f.Short != "" {
		b.WriteString(`\fB\-` + roff(f.Short) + `\fR, `)
	}
	b.WriteString(`\fB\-\-` + roff(f.Name) + `\fR`)
	if value := f.valueName(); value != "" {
		b.WriteString(` \fI` + roff(value) + `\fR`)
	}
	b.WriteString("\n" + roff(f.purpose()) + "\n")
}

// paragraphs formats paragraphs separated by empty lines. Indented ones keep their
// lines.
func paragraphs(text string) string {
	var b strings.Builder
	for k, p := range strings.Split(text, "\n\n") {
		if k > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(p, "  ") { // a table, in its own lines
			p = ".EX\n" + roff(p) + "\n.EE"
		} else {
			p = roff(p)
		}
		b.WriteString(p + "\n")
	}
	return b.String()
}

// roff escapes text so that none of it is a command: backslashes and dashes stay
// literal, and no line begins with a control character.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
