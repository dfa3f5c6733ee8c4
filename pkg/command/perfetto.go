package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/perfetto"
	"github.com/hostbound/hostbound/pkg/timeline"
)

// perfettoFlag writes steps for a viewer of traces.
var perfettoFlag = cli.Flag{Name: "perfetto", Usage: fmt.Sprintf("write the %d steps with the most idle time to `FILE`, for ui.perfetto.dev: host threads, GPU streams, launches, and what each GPU waits for; with --from and --to up to %d steps of that range; by its extension: %s", worstSteps, rangeSteps, strings.Join(perfetto.Extensions, ", ")), File: cli.Writes, Check: checkExtension("perfetto", perfetto.Extensions, perfetto.Writer)}

// worstSteps is how many steps --perfetto writes, rangeSteps how many of a range.
const (
	worstSteps = 10
	rangeSteps = 100
)

// watchWorst returns a source of the same rows, and what keeps the steps that --perfetto
// asks for, nil where it does not.
func (c *Context) watchWorst(src event.Source) (event.Source, *timeline.Collector) {
	if c.String("perfetto") == "" {
		return src, nil
	}
	opt := timeline.Options{BusyAll: c.busyAll(), Worst: worstSteps}
	if c.selected.Time != nil || c.selected.Steps != nil {
		opt.Worst = rangeSteps
	}
	lines := timeline.New(src.Header(), opt)
	return event.Tee(src, lines.Add), lines
}

// writeWorst writes the file of --perfetto.
func (c *Context) writeWorst(lines *timeline.Collector) error {
	if lines == nil {
		return nil
	}
	path, t := c.String("perfetto"), lines.Close()
	if n := len(t.Steps); n == 0 {
		c.Log(path + " is empty: no steps were read")
	} else if n < t.Seen {
		c.Log(fmt.Sprintf("%s holds %d of %d steps: those with the most idle time", path, n, t.Seen))
	}
	return cli.WriteFile(path, func(w io.Writer) error { return perfetto.Writer(path)(w, t) })
}
