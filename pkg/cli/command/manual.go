package command

import (
	"embed"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/cli"
)

// manuals are the texts of the manuals, one file per command: a one-sentence summary,
// the usage, paragraphs, and examples.
//
//go:embed manual
var manuals embed.FS

// tables replaces placeholders in manuals by what the analyses say about themselves.
var tables = strings.NewReplacer("{{limits}}", verdict.Manual(), "{{metrics}}", metricTable())

// manual sets the name and the manual of a command.
func manual(name string, c cli.Command) cli.Command {
	text, err := manuals.ReadFile("manual/" + name + ".txt")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	head, rest, _ := strings.Cut(string(text), "\n\n")
	paragraphs, examples, _ := strings.Cut(rest, "\n\nExamples:\n\n")
	summary, usage, _ := strings.Cut(head, "\n")
	c.Name, c.Summary, c.Args = name, summary, strings.TrimPrefix(usage, name+" ")
	c.Description = tables.Replace(paragraphs)
	for line := range strings.Lines(examples) {
		c.Examples = append(c.Examples, strings.TrimSpace(line))
	}
	return c
}
