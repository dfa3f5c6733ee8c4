package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
)

// Nsys2arrow reads Nsight Systems exports as a stream of events.
var Nsys2arrow = manual("nsys2arrow", cli.Command{
	Flags: slices.Concat(outputFlags("nsys2arrow"), []cli.Flag{topFlag, doctorFlag}, checkpointFlags, selectFlags),
	Run:   planned("nsys2arrow", planReports),
})

// planReports plans to pass on the rows of reports, or to diagnose them.
func planReports(p *Plan) (job, error) {
	if p.Bool(doctorFlag.Name) {
		return planDiagnosis(p)
	}
	in := p.reading(p.Files)
	in.host = hostKinds
	return &converting{p, in}, nil
}

// converting is the job of a filter that reads reports.
type converting struct {
	*Plan
	in reading
}

// run passes the rows on. If --checkpoint already holds the reports unchanged, the rows
// come from there and are not written again.
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
