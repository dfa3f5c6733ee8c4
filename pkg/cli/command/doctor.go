package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/doctor"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
)

// doctorFlag is the flag of the readers.
var doctorFlag = cli.Flag{Name: "doctor", Usage: "say what the recording can answer and what it cannot, and how to record that; as text, or with --format html or json", Default: false}

// readerFlags are the flags of a reader's output: of rows, or of a diagnosis.
var readerFlags = func() []cli.Flag {
	flags := slices.Clone(rowFlags)
	for i := range flags {
		if flags[i].Name == "format" {
			flags[i].Values = append(slices.Clone(rowFormats), formatHTML)
		}
	}
	return append(flags, doctorFlag)
}()

// doctorFormats are what a diagnosis can be written as.
var doctorFormats = []string{formatText, formatHTML, formatJSON}

// doctorFormat is the format of a diagnosis: as --format says, else as the name of the
// output does. Half of the rows would be half of an answer: selections are refused.
func (c *Context) doctorFormat() (string, error) {
	for _, name := range append(names(choiceFlags), "checkpoint", "without") {
		if c.IsSet(name) {
			return "", cli.Misuse("--doctor examines the whole recording", "leave --"+name+" out")
		}
	}
	format := formatText
	if ext := extension(c.OutputPath()); ext != "" && ext != ".txt" {
		format = formatOf[ext]
	}
	if given := c.String("format"); given != "" {
		format = given
	}
	if !slices.Contains(doctorFormats, format) {
		return "", cli.Misuse("--doctor writes no rows", "give --format html or json, or none, or end the name of the output in .md, .html or .json")
	}
	return format, nil
}

// doctor says what a recording can answer.
func (c *Context) doctor() error {
	c.wantHost("")
	src, err := c.Events(source.Raw)
	if err != nil {
		return err
	}
	d, err := doctor.Examine(src)
	if err != nil {
		return err
	}
	return c.writeReport(d, d.Document(), nil)
}
