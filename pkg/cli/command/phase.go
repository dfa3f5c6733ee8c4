package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
)

// Phase tells context steps from generation steps.
var Phase = cli.Command{
	Name:    "phase",
	Summary: "distinguish context steps from generation steps",
	Args:    "[FILE...]",
	Description: `Phase reads how many context and generation requests a step has from the forward-step
range around its launches, and adds both numbers to the step's row (ctx, gen).
A step with context requests is a context step, even if it has generation requests
as well. A step with generation requests only is a generation step. The phase of
other steps is unknown.`,
	Examples: []string{
		"nsys2arrow trace.sqlite | isolate | phase | metrics | verdict",
		"phase trace.sqlite -o phases.arrows",
		"phase trace.sqlite --format csv | grep ^step",
	},
	Flags: slices.Concat(outputFlags("phase"), []cli.Flag{topFlag, withoutFlag}, checkpointFlags, isolateFlags, selectFlags),
	Run: planned("phase", func(p *Plan) (*annotating, error) {
		return planAnnotating(p, source.Isolated, (*reader).phase), p.needSteps("verdict --by none and gaps --by none answer for the whole trace")
	}),
}
