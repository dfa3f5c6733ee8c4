package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// archiveFlags make diff compare the runs in an archive.
var archiveFlags = []cli.Flag{
	{Name: "archive", Usage: "say which runs in `FILE`, written by metrics --runs, differ from the others, and in which part of the step", File: cli.Reads, Group: archiveGroup},
	{Name: "group-by", Usage: "compare groups of runs that have the same `KEY`: label, version, commit, or a key of --tag such as node", Default: "run", Group: archiveGroup},
}

const archiveGroup = "An archive"

// archived is the job of diff --archive.
type archived struct {
	*Plan
	rows *table.Table
}

// planArchive plans to compare the runs in an archive.
func planArchive(p *Plan) (*archived, error) {
	if err := p.refuse(names(slices.Concat(diffFlags, baselineFlags, isolateFlags, selectFlags)), "the figures of an archive are computed already"); err != nil {
		return nil, err
	}
	if len(p.Files) > 0 {
		return nil, cli.Misuse("--archive takes no runs besides its file", "diff --archive runs.parquet")
	}
	const advice = "metrics --runs NAME=FILE --append -o runs.parquet adds a run, of a trace, stream, checkpoint or metric rows"
	rows, err := p.readRuns(p.String("archive"), advice)
	return &archived{p, rows}, err
}

func (a *archived) run() (int, error) {
	res, err := metric.FindOutliers(a.rows, a.String("group-by"))
	if err != nil {
		return 0, err
	}
	return 0, a.out.analysis(res, res.Document(), func() (*table.Table, error) { return res.Table(), nil })
}
