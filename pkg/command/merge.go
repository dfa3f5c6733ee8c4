package command

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hostbound/hostbound/pkg/checkpoint"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/table"
	"github.com/hostbound/hostbound/pkg/wire"
)

// mergeFlags make metrics add up what it wrote for the parts of a run.
var mergeFlags = []cli.Flag{
	{Name: "merge", Usage: "the files are metric rows of parts of a run, which are added up to those of the whole, in the order given", Default: false},
}

// merge reads the streams of metric rows of the command line, - for standard
// input, one after the other, and adds them up. The same streams in the same
// order make the same rows to the byte.
func (c *Context) merge() (*metric.Result, error) {
	flags := names(slices.Concat(isolateFlags, metricsFlags, selectFlags))
	if err := c.refuse(flags, "the metrics of the parts were computed already"); err != nil {
		return nil, err
	}
	files := c.Files
	if len(files) == 0 {
		if cli.IsTerminal(c.Stdin) {
			return nil, cli.Misuse("nothing to merge", "give the files that metrics wrote: metrics --merge part*.arrows")
		}
		files = []string{"-"}
	}
	if k := slices.Index(files, "-"); k >= 0 && slices.Contains(files[k+1:], "-") {
		return nil, cli.Misuse("standard input can be read once only", "write the parts to files")
	}
	var sum *metric.Result
	for _, path := range files {
		part, err := c.openPart(path)
		if err == nil && sum != nil {
			if sum.Label != part.Label && !c.IsSet("label") {
				err = cli.Misuse("the parts are of different runs, "+sum.Label+" and "+part.Label, "--runs keeps them apart; --label NAME adds them up as one")
			} else {
				err = sum.Add(part)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", streamName(path), err)
		}
		if sum == nil {
			sum = part
		}
	}
	return sum, nil
}

// streamName is what an error calls a stream of the command line.
func streamName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// openPart reads the metric rows of one part.
func (c *Context) openPart(path string) (*metric.Result, error) {
	if path == "-" {
		return readPart(c.Stdin)
	}
	if checkpoint.IsTable(path) {
		rows, err := checkpoint.ReadTable(path)
		if err != nil {
			return nil, unwrapped(err)
		}
		return partOf(rows)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unwrapped(err)
	}
	defer f.Close()
	return readPart(f)
}

// unwrapped is a file's error without its name.
func unwrapped(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}

// mergeAdvice is what to do about a part that is none.
const mergeAdvice = "--merge takes the streams that metrics writes: metrics REPORT -o part.arrows"

// readPart reads a stream of metric rows to its end.
func readPart(r io.Reader) (*metric.Result, error) {
	events, rows, err := wire.Open(r)
	switch {
	case err != nil:
		return nil, unwrapped(err)
	case events != nil:
		return nil, &event.Error{Msg: "holds events, not metric rows", Advice: mergeAdvice}
	}
	return partOf(rows)
}

// partOf is the result that rows hold; those of another result are an error.
func partOf(rows *table.Table) (*metric.Result, error) {
	if rows.Schema != metric.Schema {
		return nil, &event.Error{Msg: "holds " + rows.Schema + " rows, not metric rows", Advice: mergeAdvice}
	}
	return metric.FromTable(rows)
}
