package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Isolate finds the steps of a run in a stream of events.
var Isolate = manual("isolate", cli.Command{
	Foreign: trtllmFlags,
	Flags:   slices.Concat(outputFlags("isolate"), []cli.Flag{topFlag}, checkpointFlags, isolateFlags, selectFlags),
	Run:     planned("isolate", func(p *Plan) (*annotating, error) { return planAnnotating(p, source.Raw, (*reader).isolate), nil }),
})

// annotating is the job of a filter that adds rows or columns to events at a stage.
type annotating struct {
	*Plan
	in  reading
	at  source.Stage
	add func(*reader, event.Source) (event.Source, error)
}

// planAnnotating plans such a filter. A choice of kinds applies to its output; it needs
// the others as input. A stream into a pipe is complete even if steps cannot be
// identified, and says so: filters that can do without go on.
func planAnnotating(p *Plan, at source.Stage, add func(*reader, event.Source) (event.Source, error)) *annotating {
	in, path := p.reading(p.Files), p.OutputPath()
	in.onePass = p.out.streams() && (path == "" || cli.IsStream(path)) && !p.IsSet("checkpoint")
	in.selected.Kinds = nil
	in.host = hostKinds
	return &annotating{Plan: p, in: in, at: at, add: add}
}

// run passes the events on. It is no error if there are no steps and the output is a
// stream for another filter.
func (a *annotating) run() (int, error) {
	r := a.read(a.in)
	src, err := r.events(a.at)
	if err != nil {
		return 0, err
	}
	if src, err = a.add(r, src); err != nil {
		return 0, err
	}
	if src, err = (&checkpoint.Selection{Kinds: a.chosen.Kinds}).Filter(src); err != nil {
		return 0, err
	}
	if err := r.write(src); err != nil || r.unclear == nil || readOnce(r.files) {
		return 0, err
	}
	return 0, r.unclear
}
