package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// stepsInDetail is the title of the section on single steps.
const stepsInDetail = "Steps in detail"

// Numbers of steps that a page shows in detail: the slowest overall, the slowest of a
// chosen range, and the random sample from which a step of median length is taken.
const (
	slowestShown = 2
	chosenShown  = 5
	drawnSteps   = 12
)

// stepFlag chooses the step that a page shows in detail.
var stepFlag = cli.Flag{Name: "step", Usage: "on the HTML page, draw step `N` in detail, instead of a median step and the slowest", Check: checkNumber}

// checkNumber refuses what is not a step number.
func checkNumber(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
		return cli.Misuse("--step "+text+" is no number of a step", stepsHint)
	}
	return nil
}

const stepsHint = "steps are numbered from 0: isolate FILE --format csv | grep ^step"

// checkShown refuses --step if that step was not read.
func (p *Plan) checkShown(t *timeline.Timeline) error {
	if p.IsSet(stepFlag.Name) && !slices.ContainsFunc(t.Steps, func(s *timeline.Step) bool { return s.Asked }) {
		return cli.Misuse("--step "+p.String(stepFlag.Name)+": there is no such step", stepsHint)
	}
	return nil
}

// closeupColumns are the columns that only the steps in detail need.
const closeupColumns = 1<<event.ColStream | 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread

// watchCloseups returns a source of the same rows, and a collector of the steps that a
// page shows in detail, slowest of them the slowest steps. The collector is nil for
// other formats.
func (p *Plan) watchCloseups(src event.Source, slowest int) (event.Source, *timeline.Collector) {
	if !p.out.page() {
		return src, nil
	}
	if slowest > 0 && (isRange(&p.chosen)) {
		slowest = chosenShown
	}
	opt := timeline.Options{BusyAll: p.finding.busyAll, Worst: slowest, Spread: drawnSteps, Slowest: true}
	if text := p.String("step"); text != "" {
		number, _ := strconv.ParseInt(text, 10, 64)
		opt.Numbers = []int64{number}
	}
	t := timeline.New(src.Header(), opt)
	return event.Tee(src, t.Add), t
}

// showSides adds a step of each side of a comparison to the page.
func (p *Plan) showSides(d *report.Document, after string, both ...*side) {
	if !p.out.page() {
		return
	}
	var sides []timeline.Side
	for k, one := range both {
		if one.shown != nil {
			sides = append(sides, timeline.Side{Name: []string{"Baseline", "Target"}[k], Timeline: one.shown.Close()})
		}
	}
	timeline.Beside(d.SectionAfter(after, stepsInDetail), sides...)
}

// perfettoFlag writes steps for a trace viewer.
var perfettoFlag = cli.Flag{Name: "perfetto", Usage: fmt.Sprintf("write the %d steps with the most idle time to `FILE` for ui.perfetto.dev: host threads, GPU streams, launches, and what each GPU waits for. With --from and --to: up to %d steps of that range", worstSteps, rangeSteps), File: cli.Writes, Check: checkOutput}

// worstSteps is how many steps --perfetto writes; rangeSteps is how many if a range is
// chosen.
const (
	worstSteps = 10
	rangeSteps = 100
)

// watchWorst returns a source of the same rows, and a collector of the steps for
// --perfetto, nil if that was not given.
func (p *Plan) watchWorst(src event.Source) (event.Source, *timeline.Collector) {
	if p.String("perfetto") == "" {
		return src, nil
	}
	opt := timeline.Options{BusyAll: p.finding.busyAll, Worst: worstSteps}
	if isRange(&p.chosen) {
		opt.Worst = rangeSteps
	}
	lines := timeline.New(src.Header(), opt)
	return event.Tee(src, lines.Add), lines
}

// writeWorst writes the file of --perfetto.
func (p *Plan) writeWorst(lines *timeline.Collector) error {
	if lines == nil {
		return nil
	}
	path, t := p.String("perfetto"), lines.Close()
	if n := len(t.Steps); n == 0 {
		p.Log(path + " is empty: no steps were read")
	} else if n < t.Seen {
		p.Log(fmt.Sprintf("%s holds %d of %d steps: those with the most idle time", path, n, t.Seen))
	}
	return cli.WriteFile(path, func(w io.Writer) error { return timeline.WritePerfetto(w, t) })
}
