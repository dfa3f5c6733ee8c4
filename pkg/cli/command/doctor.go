package command

import (
	"github.com/hostbound/hostbound/pkg/analysis/doctor"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
)

// doctorFlag is a flag of the readers.
var doctorFlag = cli.Flag{Name: "doctor", Usage: "say what the recording can and cannot answer, and how to record what is missing; text by default, or --format html or json", Default: false}

// diagnosis is the job of --doctor.
type diagnosis struct {
	*Plan
	in reading
}

// planDiagnosis plans one. It refuses selections: of a part of the rows, the answer
// would be wrong.
func planDiagnosis(p *Plan) (*diagnosis, error) {
	for _, name := range append(names(choiceFlags), "checkpoint") {
		if p.IsSet(name) {
			return nil, cli.Misuse("--doctor examines the whole recording", "leave --"+name+" out")
		}
	}
	in := p.reading(p.Files)
	in.host = hostKinds
	return &diagnosis{p, in}, nil
}

// run reports what a recording can answer.
func (j *diagnosis) run() (int, error) {
	src, err := j.read(j.in).events(source.Raw)
	if err != nil {
		return 0, err
	}
	d, err := doctor.Examine(src)
	if err != nil {
		return 0, err
	}
	return 0, j.out.analysis(d, d.Document(), nil)
}
