package command

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli"
)

// mergeFlags make metrics add up its own results for the parts of a run.
var mergeFlags = []cli.Flag{
	{Name: "merge", Usage: "add up the metric rows of parts of a run, in the order given", Default: false},
}

// merge reads the streams of metric rows named on the command line, - for standard
// input, one after the other, and adds them up. Ratios are added as numerators and
// denominators, to the ns, so the same streams in the same order give the same bytes.
// Parts with different labels are refused, unless --label names the sum.
func (m *measurement) merge() (*metric.Result, error) {
	flags := names(slices.Concat(isolateFlags, metricsFlags, selectFlags))
	if err := m.refuse(flags, "the metrics of the parts were computed already"); err != nil {
		return nil, err
	}
	files := m.Files
	if len(files) == 0 {
		if cli.IsTerminal(m.Stdin) {
			return nil, cli.Misuse("nothing to merge", "give the files that metrics wrote: metrics --merge part*.arrows")
		}
		files = []string{"-"}
	}
	if k := slices.Index(files, "-"); k >= 0 && slices.Contains(files[k+1:], "-") {
		return nil, cli.Misuse("standard input can be read once only", "write the parts to files")
	}
	var sum *metric.Result
	for i, path := range files {
		if k := slices.IndexFunc(files[:i], func(o string) bool { return cli.SameFile(o, path) }); k >= 0 {
			return nil, cli.Misuse(path+" and "+files[k]+" are the same file", "give each part once: it would count twice")
		}
		part, err := m.readPart(path)
		switch {
		case err != nil:
			return nil, err
		case sum == nil:
			sum = part
			continue
		case sum.Label != part.Label && !m.IsSet("label"):
			err = cli.Misuse("the parts are of different runs, "+sum.Label+" and "+part.Label, "--runs keeps them apart; --label NAME adds them up as one")
		default:
			err = sum.Add(part)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return sum, nil
}

// readPart reads the metric rows of one part.
func (m *measurement) readPart(path string) (*metric.Result, error) {
	const advice = "--merge takes the streams that metrics writes: metrics REPORT -o part.arrows"
	rows, err := m.readRows(path, "metric rows", advice)
	if err != nil {
		return nil, err
	}
	part, err := metric.FromTable(rows)
	if err != nil {
		err = notThis(path, advice)(err)
	}
	return part, err
}
