package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Metrics measures how busy the GPUs are and what the host does meanwhile.
var Metrics = manual("metrics", cli.Command{
	Foreign: trtllmFlags,
	Flags:   slices.Concat(outputFlags("metrics"), mergeFlags, metricsFlags, []cli.Flag{topFlag, strictFlag, labelFlag, tagFlag, runsFlag, appendFlag}, isolateFlags, selectFlags),
	Run:     planned("metrics", planMetrics),
})

// planMetrics plans to measure one run, or many.
func planMetrics(p *Plan) (job, error) {
	if err := p.checkAppend(); err != nil {
		return nil, err
	}
	if p.Bool("runs") {
		return planRuns(p)
	}
	m := planMeasurement(p, p.Files)
	if p.out.streams() || p.out.format == formatParquet { // rows as text have no first target
		m.aimed()
	}
	return metering{m}, nil
}

// metering is the job of metrics for one run.
type metering struct{ *measurement }

func (m metering) run() (int, error) {
	result, err := m.result()
	if err != nil {
		return 0, err
	}
	if m.aim != nil {
		if _, err := m.point(result); err != nil {
			return 0, err
		}
	}
	return 0, m.out.table(result.Table())
}

// measuring is the heading of metrics' flags.
const measuring = "Measuring"

// metricsFlags are the flags of metrics.
var metricsFlags = []cli.Flag{
	{Name: "window", Usage: "measure `WINDOW` as the aggregate: benchmark (the last segment of steady steps), or trace (all GPU activity of the report)", Default: metric.WindowBenchmark, Values: windows, Group: measuring},
	{Name: "prep", Usage: "ranges with `TEXT` in their names are input preparation (default: the first of _prepare_tp_inputs, _prepare_inputs, prepare_inputs that a rank has)", Group: measuring},
}

// labelFlag names a run in the output.
var labelFlag = cli.Flag{Name: "label", Usage: "call the run `NAME`", Check: checkLabel}

// checkLabel refuses labels that do not fit on a line.
func checkLabel(text string) error {
	if len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return cli.Misuse("a label is a line of text", "give up to 200 bytes, no control characters")
	}
	return nil
}

var windows = []string{metric.WindowBenchmark, metric.WindowTrace}

// metricColumns are the columns that measuring and comparing need.
const metricColumns = (event.BaseCols | event.StepCols | event.PhaseCols) &^ (1<<event.ColStream | 1<<event.ColBytes |
	1<<event.ColDomain | 1<<event.ColLaunchStart | 1<<event.ColLaunchThread)

// measurement is how a run is measured.
type measurement struct {
	*Plan
	in       reading
	opt      metric.Options
	inputs   []*source.Input     // inputs that were opened
	closeups *timeline.Collector // steps that a page shows in detail, nil if none
	aim      *aiming             // finds the first target, nil if not wanted
}

// planMeasurement plans to measure the run in files. Input that cannot be read twice is
// measured in one pass; if it turns out at the end that there are no steps, the result
// says so (withoutSteps).
func planMeasurement(p *Plan, files []string) *measurement {
	m := &measurement{Plan: p, in: p.reading(files), opt: metric.Options{
		Window: p.String("window"), BusyAll: p.finding.busyAll, Prep: p.String("prep"), Samples: p.out.page(),
	}}
	m.in.columns = metricColumns
	if p.out.page() {
		m.in.columns |= closeupColumns
	} else {
		m.in.classes = func(h *event.Header) (event.ClassSet, bool) { return metric.HostClasses(h, m.opt) }
	}
	m.in.onePass, m.in.apart = readOnce(files), true
	m.in.host, m.in.callers = []event.Kind{event.OS}, true // they show waits for requests
	return m
}

// result reads the input and returns its metrics; with --merge, those of all parts
// together.
func (m *measurement) result() (*metric.Result, error) {
	if m.Bool("merge") {
		return m.merge()
	}
	var res *metric.Result
	r := m.read(m.in)
	err := r.orWhole(func() (err error) {
		res, err = m.measure(r)
		return err
	})
	if err == nil && res.NoSteps && m.finding.strict {
		err = &event.Error{Msg: "no steps were found", Advice: "without --strict the figures are those of the whole trace"}
	}
	if err != nil {
		return nil, err
	}
	m.inputs = r.inputs
	res.Warnings = r.merged(res.Warnings)
	m.describe(res)
	return res, nil
}

// measure measures the input of a reader.
func (m *measurement) measure(r *reader) (*metric.Result, error) {
	m.opt.NoSteps, m.opt.Log = r.noSteps, r.Log
	in, err := r.open()
	if err != nil {
		return nil, err
	}
	if in.Table != nil {
		flags := append(names(slices.Concat(isolateFlags, metricsFlags, choiceFlags)), "separate")
		if err := m.refuse(flags, "the metrics were computed already"); err != nil {
			return nil, err
		}
		name := "the input"
		if !fromStdin(r.files) {
			name = r.files[0]
		}
		if in.Table.Schema == metric.RunsSchema {
			return nil, cli.Misuse(name+": a history, the rows of many runs", "give the trace, stream or metric rows of one run; verdict FILE --history "+name+" compares it with these")
		}
		res, err := metric.FromTable(in.Table)
		if err != nil {
			err = cli.Misuse(name+": "+err.Error(), "give a trace, a stream or what metrics writes without --runs")
		}
		return res, err
	}
	src, err := r.bring(in.Events, source.Phased)
	if err != nil {
		return nil, err
	}
	src, m.closeups = m.watchCloseups(m.aim.watched(src), slowestShown)
	m.opt.NoSteps = r.noSteps
	res, err := metric.Compute(src, m.opt)
	if err == nil && m.finding.trace {
		res.NoSteps = false // the user did not ask for steps
	}
	return res, err
}

// metricTable returns a table of the metrics and their meanings, as text.
func metricTable() string {
	var lines []string
	for m, name := range metric.Names {
		lines = append(lines, fmt.Sprintf("  %-26s  %s", name, metric.Meanings[m]))
	}
	return strings.Join(lines, "\n")
}
