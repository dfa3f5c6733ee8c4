package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
)

// Phase distinguishes context steps from generation steps.
var Phase = manual("phase", cli.Command{
	Flags: slices.Concat(outputFlags("phase"), []cli.Flag{topFlag}, checkpointFlags, isolateFlags, selectFlags),
	Run: planned("phase", func(p *Plan) (*annotating, error) {
		return planAnnotating(p, source.Isolated, (*reader).phase), p.needSteps("verdict --by none and gaps --by none answer for the whole trace")
	}),
})
