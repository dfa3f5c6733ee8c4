package command

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/timeline"
)

// stepsInDetail is the title of the section that has single steps.
const stepsInDetail = "Steps in detail"

// Of the steps that a page shows closely: how many are the slowest, in all and of a range
// that was chosen, and of how many drawn by chance one of median length is.
const (
	slowestShown = 2
	chosenShown  = 5
	drawnSteps   = 12
)

// closeupColumns are the columns that only the steps in detail look at.
const closeupColumns = 1<<event.ColStream | 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread

// watchCloseups returns a source of the same rows, and what keeps the steps that a page
// shows closely, so many of them the slowest; nil for other formats.
func (c *Context) watchCloseups(src event.Source, slowest int) (event.Source, *timeline.Collector) {
	if c.format != formatHTML {
		return src, nil
	}
	if slowest > 0 && (c.selected.Time != nil || c.selected.Steps != nil) {
		slowest = chosenShown
	}
	t := timeline.New(src.Header(), timeline.Options{BusyAll: c.busyAll(), Worst: slowest, Spread: drawnSteps, Slowest: true})
	return event.Tee(src, t.Add), t
}

// showSides adds a step of each side of a comparison to the page.
func (c *Context) showSides(d *report.Document, after string) {
	if c.format != formatHTML {
		return
	}
	var sides []timeline.Side
	for k, one := range c.shown {
		sides = append(sides, timeline.Side{Name: []string{"Baseline", "Target"}[k], Timeline: one.Close()})
	}
	timeline.Beside(d.SectionAfter(after, stepsInDetail), sides...)
}
