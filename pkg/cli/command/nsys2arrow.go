package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
)

// Nsys2arrow reads Nsight Systems exports as a stream of events.
var Nsys2arrow = cli.Command{
	Name:    "nsys2arrow",
	Summary: "read Nsight Systems exports as a stream of events",
	Args:    "FILE...",
	Description: `Each FILE is one report: an SQLite export of any version since 2020, a parquetdir
export, or a .nsys-rep (which needs nsys on PATH). Several files are several
reports of one run: ranks are numbered consecutively, and clocks aligned by
session start time. Consecutive reports of one process (--capture-range-end=repeat)
are parts of one rank; other reports that do not overlap in time are rejected.
Databases of AMD's rocprofv3 (--output-format rocpd, recognised by content) are read, too.

A row is an event: a kernel, a copy, an API call, an NVTX range. GPU rows carry
the API call that launched them. Rows are sorted by rank, then by start time.`,
	Examples: []string{
		"nsys2arrow trace.sqlite | isolate | phase | metrics | verdict",
		"nsys2arrow rank*.sqlite -o run.arrows",
		"nsys2arrow trace.sqlite -o trace.parquet",
		"nsys2arrow rank*.sqlite --checkpoint run/ | isolate | phase | metrics | verdict",
		"nsys2arrow trace.sqlite --format csv | head",
		"nsys2arrow --doctor rank*.sqlite",
		"nsys2arrow *_results.db | isolate | phase | metrics | verdict",
	},
	Flags: slices.Concat(outputFlags("nsys2arrow"), []cli.Flag{topFlag, doctorFlag, withoutFlag}, checkpointFlags, selectFlags),
	Run:   planned("nsys2arrow", planReports),
}

// planReports plans to pass on the rows of reports, or to say what they can answer. Of host
// threads it reads all that --without does not name; torch2arrow, which has no such flag, has
// no such rows.
func planReports(p *Plan) (job, error) {
	if p.Bool(doctorFlag.Name) {
		return planDiagnosis(p)
	}
	in := p.reading(p.Files)
	if p.Has(withoutFlag.Name) {
		in.wantHost(p.String(withoutFlag.Name))
	}
	return &converting{p, in}, nil
}

// converting is the job of a filter that reads reports.
type converting struct {
	*Plan
	in reading
}

// run passes the rows on. Where --checkpoint holds the reports as they are, their rows come
// from there, and need not be kept again.
func (j *converting) run() (int, error) {
	in, dir := j.in, j.String("checkpoint")
	if dir != "" && !slices.ContainsFunc(names(choiceFlags), j.IsSet) && checkpoint.MadeOf(dir, j.Files) {
		j.Log(dir + " holds these reports already")
		in.kept, in.files = true, []string{dir}
	}
	r := j.read(in)
	src, err := r.events(source.Raw)
	if err != nil {
		return 0, err
	}
	if r.kept {
		r.ofReports(src.Header())
	}
	return 0, r.write(src)
}
