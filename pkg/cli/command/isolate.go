package command

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Isolate finds the steps of a run in a stream of events.
var Isolate = cli.Command{
	Name:    "isolate",
	Summary: "find the steps of a run and its benchmark window",
	Args:    "[FILE...]",
	Description: `A step is one forward iteration of one rank. Isolate writes a row of kind step
before the rows of each step, tags those rows with the step's number, and ends
with a row of kind window for each rank: its benchmark window.

By default it takes the all-reduce kernels that every step has (--by allreduce);
where whole graph replays hide them, or there are none, the forward-step ranges
of TensorRT-LLM, vLLM or SGLang (--by nvtx); else what each CUDA graph launch ran
on the GPU (--by graph). It says on standard error which it took and why.

Without forward-step ranges the all-reduce kernels of a step are identified by
what recurs once a step around them: embeddings, sampling, copies, the host's
waits, graph replays. Where that is not clear isolate ends with status 2 and says
what to do; --gap splits at gaps instead. In a pipe, between two filters, it warns
and passes the rows on without steps: metrics and verdict answer for the whole trace,
or where other ranks have forward-step ranges, for these.`,
	Examples: []string{
		"nsys2arrow trace.sqlite | isolate | phase | metrics | verdict",
		"isolate --by nvtx trace.sqlite --format csv | grep ^step",
		"isolate --marker 'iter (?P<step>[0-9]+)' trace.sqlite -o steps.arrows",
	},
	Foreign: trtllmFlags,
	Flags:   slices.Concat(outputFlags("isolate"), []cli.Flag{topFlag, withoutFlag}, checkpointFlags, isolateFlags, selectFlags),
	Run:     filter("isolate", func(c *Context) error { return c.annotate(source.Raw, c.Isolate) }),
}

// annotate passes on events of a stage with what one filter adds to them: rows, or
// columns. A choice of kinds is made among what it writes. A stream into a pipe is whole
// also where steps cannot be identified, and says so: filters that can do without go on.
// As long as this one is a filter itself, that is no error.
func (c *Context) annotate(from source.Stage, filter func(event.Source) (event.Source, error)) error {
	path := c.OutputPath()
	c.onePass = c.out.streams() && (path == "" || cli.IsStream(path)) && !c.IsSet("checkpoint")
	choose := c.keptKinds()
	c.wantHost(c.String(withoutFlag.Name))
	src, err := c.Events(from)
	if err != nil {
		return err
	}
	if src, err = filter(src); err != nil {
		return err
	}
	if src, err = choose(src); err != nil {
		return err
	}
	if err := c.WriteEvents(src); err != nil || c.unclear == nil || c.readOnce() {
		return err
	}
	return c.unclear
}
