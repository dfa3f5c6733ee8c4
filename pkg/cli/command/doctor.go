package command

import (
	"github.com/hostbound/hostbound/pkg/analysis/doctor"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
)

// doctorFlag is the flag of the readers.
var doctorFlag = cli.Flag{Name: "doctor", Usage: "say what the recording can answer and what it cannot, and how to record that; as text, or with --format html or json", Default: false}

// doctor says what a recording can answer.
// Half of the rows would be half of an answer: selections are refused.
func (c *Context) doctor() error {
	for _, name := range append(names(choiceFlags), "checkpoint", "without") {
		if c.IsSet(name) {
			return cli.Misuse("--doctor examines the whole recording", "leave --"+name+" out")
		}
	}
	c.wantHost("")
	src, err := c.Events(source.Raw)
	if err != nil {
		return err
	}
	d, err := doctor.Examine(src)
	if err != nil {
		return err
	}
	return c.out.analysis(d, d.Document(), nil)
}
