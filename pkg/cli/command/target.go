package command

import (
	"errors"
	"io"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// aiming finds the first target of a measured run by running gaps. Input that cannot be
// read again is watched while it is measured; files are read again if wanted.
type aiming struct {
	*Plan
	in    reading
	opt   gap.Options
	watch *gap.Watch
}

// aimed makes a measurement find the first target.
func (m *measurement) aimed() {
	known := findings.DefaultSources()
	m.aim = &aiming{Plan: m.Plan, in: m.reading(m.in.files), opt: gap.Options{
		Window: m.opt.Window, BusyAll: m.opt.BusyAll, Top: -1, FirstOnly: true, Source: known.Function, Advice: known.Advice, Memory: m.memory.keep(1),
	}}
	m.aim.in.columns, m.aim.in.host = gapsColumns, hostKinds
	m.aim.in.callers = true
	if readOnce(m.in.files) {
		m.in.columns, m.in.classes = 0, nil
		m.in.host = hostKinds
	}
}

// watched returns a source of the same rows, which are watched if they cannot be read
// again.
func (a *aiming) watched(src event.Source) event.Source {
	if a == nil || !readOnce(a.in.files) {
		return src
	}
	if a.watch != nil { // the input turned out to have no steps and is read again
		a.watch.Close()
	}
	a.watch = gap.NewWatch(src.Header(), a.opt)
	return event.Tee(src, a.watch.Add)
}

// point sets the first target if the host holds the GPUs back by the default limits. In
// a recording without ranks, it sets that a CPU quota stopped the threads. It reports
// whether it set anything. If gaps has no answer, gaps itself says why. Rows that cannot
// be read are an error, even if only gaps needs them.
func (m *measurement) point(res *metric.Result) (bool, error) {
	rep, err := m.aim.report(func() bool {
		if len(res.Ranks) == 0 {
			return true
		}
		r := verdict.Decide(res, verdict.Defaults())
		return r.Verdict == verdict.Yes && !r.LowOnLoad() && len(res.Apart) == 0
	}, m.inputs)
	none, refused := (*step.NotFound)(nil), (*event.Error)(nil)
	switch {
	case errors.As(err, &none), errors.As(err, &refused):
		return false, nil
	case err != nil:
		return false, err
	case rep != nil && rep.Quota != "":
		res.Warnings = append(res.Warnings, rep.Quota)
		return true, nil
	}
	if rep == nil || rep.First == nil || rep.First.GainUs == nil || rep.Handoff.FirstTarget == nil {
		return false, nil
	}
	res.First = &metric.Target{Name: *rep.Handoff.FirstTarget, Text: rep.First.Text + ". " + report.Capital(rep.First.Do), Us: *rep.First.GainUs}
	return true, nil
}

// report returns gaps' report on the run. It is nil if that is not wanted, or the input
// is metric rows.
func (a *aiming) report(wanted func() bool, inputs []*source.Input) (rep *gap.Report, err error) {
	if a.watch != nil {
		rep, err = a.watch.Close()
		if !wanted() {
			return nil, err
		}
		return rep, err
	}
	if readOnce(a.in.files) || len(inputs) == 0 || inputs[0].Events == nil || !wanted() {
		return nil, nil
	}
	for _, in := range inputs {
		in.Done()
	}
	defer func(w io.Writer) { a.Stderr = w }(a.Stderr)
	a.Stderr = io.Discard // remarks were made when the rows were first read
	r := a.read(a.in)
	err = r.orWhole(func() error {
		src, err := r.events(source.Phased)
		if err == nil {
			rep, err = gap.Compute(src, a.opt)
		}
		return err
	})
	return rep, err
}
