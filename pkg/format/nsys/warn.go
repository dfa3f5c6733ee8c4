package nsys

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// What a user should know before trusting figures of a report goes into the header as
// warnings. They are our sentences with numbers in them, never text from the capture,
// which may contain secrets.

func (c *capture) warn(format string, args ...any) {
	c.info.Warnings = append(c.info.Warnings, fmt.Sprintf(format, args...))
}

// plural returns a count with its noun.
func plural(n int64, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y or memset"):
		return fmt.Sprintf("%d copies or memsets", n)
	case strings.HasSuffix(thing, "ch"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// describe joins launches, sets what the header says about the report's rows and warns
// of missing rows.
func (r *report) describe() error {
	if err := r.joinLaunches(); err != nil {
		return err
	}
	if err := r.findFacts(); err != nil {
		return err
	}
	if err := r.addHost(); err != nil {
		return err
	}
	r.info.Workload = event.WorkloadOf(r.work.trains, r.work.diffuses, r.class(event.StepMarker) > 0)
	r.info.GroupSizes = r.work.sizes
	if r.work.almost {
		r.warn(marker.AlmostText)
	}
	r.describeCapture()
	r.warnOfTimes()
	r.warnOfGraphs()
	return r.warnOfLaunches()
}

// describeCapture finds from the rows how graphs were recorded, if the capture does not
// say.
func (c *census) describeCapture() {
	switch {
	case c.info.Capture != "":
	case c.count(event.Graph) > 0:
		c.info.Capture = "graph"
	case c.replayed > 0:
		c.info.Capture = "node"
	}
	if c.count(event.Kernel)+c.count(event.Graph) == 0 {
		c.warnOfNoWork()
	}
}

// warnOfNoWork says what a report without GPU activity has instead.
func (c *census) warnOfNoWork() {
	launches := c.class(event.Launch) + c.class(event.GraphLaunch)
	copies := c.count(event.Memcpy) + c.count(event.Memset)
	switch {
	case launches > 0:
		c.warn("no kernel and no graph replay was recorded, but %s: the export filtered GPU rows out, or the profiler could not record them", plural(launches, "launch call"))
	case copies > 0:
		c.warn("no kernel and no graph replay was recorded, only %s: record while kernels run, or export all tables", plural(copies, "copy or memset"))
	default:
		c.warn("no GPU work was recorded: profile with '-t cuda' while the GPU is in use")
	}
}

// count returns the number of rows of a kind.
func (c *capture) count(kind event.Kind) int64 { return c.info.Rows[event.Kinds[kind]] }

// class returns the number of rows of a class that reports count.
func (c *capture) class(class event.Class) int64 { return c.info.Classes[event.Classes[class]] }

// warnOfTimes warns of rows that are left out.
func (c *census) warnOfTimes() {
	for _, table := range slices.Sorted(maps.Keys(c.unusable)) {
		c.warn("left out %s of %s: no usable times", plural(c.unusable[table], "row"), table)
	}
	if c.zeros > 0 { // CUPTI's value for times that it could not collect
		c.warn("%s of the GPU with zero times: the trace seems to begin there, and their durations are missing", plural(c.zeros, "row"))
	}
	if c.nameless > 0 {
		c.warn("%s of %s or %s without a name: why threads wait in them is unknown", plural(c.nameless, "row"), osTable, syscallTable)
	}
	if c.noCalls > 0 {
		c.warn("left out %s of %s: not of a class of calls", plural(c.noCalls, "row"), runtimeTable)
	}
}

// warnOfGraphs warns of what is unknown about graph replays.
func (c *census) warnOfGraphs() {
	if c.untimed > 0 {
		c.warn("left out %s without times", plural(c.untimed, "graph replay"))
	}
	if n := c.count(event.Graph); n > 0 {
		c.warn("%s recorded as a whole, which hides the kernels: profile with --cuda-graph-trace=node to see them", plural(n, "graph replay"))
	}
	if n := c.class(event.GraphLaunch); n > 0 && c.count(event.Graph) == 0 && c.replayed == 0 {
		c.warn("%s without a recorded replay: their GPU work is missing", plural(n, "graph launch"))
	}
}

// missingShare: up to 1/missingShare of rows may lack their counterpart without a
// warning, as happens at both ends of a recording.
const missingShare = 100

// warnOfLaunches warns of GPU work without a launch call, and of launch calls without
// GPU work.
func (r *report) warnOfLaunches() error {
	s, err := r.orphans()
	if err != nil {
		return r.explain(err)
	}
	if s.early*missingShare > s.rows {
		r.warn(event.EarlyText)
	}
	if s.orphans*missingShare > s.rows {
		percent := 100 * float64(s.orphans) / float64(s.rows)
		share := fmt.Sprintf("%.3g", percent)
		if s.rows < r.count(event.Kernel)+r.count(event.Graph) {
			share = fmt.Sprintf("about %.0f", percent)
		}
		r.warn("%s %% of the kernels and graph replays have no launching call: the API was not traced, or the recording or a filter left the calls out", share)
	}
	launches := r.class(event.Launch)
	if lost := launches - r.eager; r.count(event.Kernel) > 0 && lost*missingShare > launches {
		why := "they were captured into graphs, or the recording or a filter left the kernels out"
		if r.class(event.GraphLaunch) == 0 {
			why = "the recording or a filter left the kernels out, and GPUs that look idle may be busy"
		}
		r.warn("%d of %d kernel launches without a kernel: %s", lost, launches, why)
	}
	return nil
}

// maxSampled is roughly the most GPU rows that orphans samples.
const maxSampled = 1 << 14

// sampled counts kernels and graph replays (rows), those without a launch call
// (orphans), and those that start before their launch call (early).
type sampled struct{ rows, orphans, early int64 }

// orphans samples the kernels and graph replays: all of them, or evenly spaced ones if
// there are many.
func (r *report) orphans() (sum sampled, err error) {
	slots := r.bySlot()
	stride := 1 + int((r.count(event.Kernel)+r.count(event.Graph))/maxSampled)
	all := make([]sampled, len(slots))
	err = together(len(slots), func(k int) error { return r.orphansOf(slots[k], stride, &all[k]) })
	for _, s := range all {
		sum = sampled{sum.rows + s.rows, sum.orphans + s.orphans, sum.early + s.early}
	}
	return sum, err
}

// orphansOf samples every stride-th row of each block.
func (r *report) orphansOf(of []*runs, stride int, s *sampled) error {
	for _, run := range events(of) {
		if !eventTables[run.Tag].isWork() {
			continue
		}
		err := r.store.Scan([]*spill.Run{run}, spill.Columns(colStart, colOwner, colCorrelation), run.First, run.Last, func(rows spill.Rows) error {
			owners, ids := rows[colOwner], rows[colCorrelation]
			for i := 0; i < len(owners); i += stride {
				s.rows++
				c, ok, err := r.tracks[owners[i]].launch(ids[i])
				switch {
				case err != nil:
					return err
				case !ok:
					s.orphans++
				case rows[colStart][i] < c.start:
					s.early++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Diagnostics of the profiler that bear on figures, recognised by parts of their text
// in lower case. Our own words are passed on. lost: the text says that events are
// missing, not only that some may be. A text that ends with the number 0 reports no
// loss.
var diagnostics = []struct {
	has   []string
	lost  bool
	means string
}{
	{[]string{"not all cuda events"}, false, "nsys may have dropped CUDA events, most likely at the end of the recording"},
	{[]string{"not all nvtx events"}, false, "nsys may have dropped NVTX ranges, most likely at the end of the recording"},
	{[]string{"cu", "events", "dropped"}, true, lostEvents},
	{[]string{"cu", "events", "lost"}, true, lostEvents},
	{[]string{"cuda profiling might have not been started"}, false, "nsys may not have started to record CUDA: missing events may never have been recorded"},
	{[]string{"cuda driver version", "is not supported"}, false, "nsys does not know the CUDA driver that ran: what it recorded of the GPU may be wrong"},
	{[]string{"no cuda events"}, false, "nsys collected no CUDA events of some process"},
}

// hostDiagnostics bear on what is known about host threads. Few filters need that, so
// they are facts in the header and not warnings.
var hostDiagnostics = []struct {
	has  []string
	warn func(*event.Report)
}{
	{[]string{"not all os runtime libraries events"}, func(r *event.Report) { r.LostCalls = true }},
	{[]string{"scheduling information is absent"}, func(r *event.Report) { r.NoSwitches = event.SwitchesDeduced }},
	{[]string{"unable to configure", "context switch"}, func(r *event.Report) { r.NoSwitches = event.SwitchesDenied }},
}

const lostEvents = "nsys lost CUDA events: kernels and calls are missing, and what looks idle may have been busy"

// zeroCount matches the number 0 after a colon, at the end of a diagnostic.
var zeroCount = regexp.MustCompile(`:\s*0\.?\s*$`)

// applies reports whether a text, in lower case, is diagnostic k.
func applies(k int, text []byte) bool {
	return containsAll(text, diagnostics[k].has) && !(diagnostics[k].lost && zeroCount.Match(text))
}

// containsAll reports whether a text has all parts, in any order.
func containsAll(text []byte, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !bytes.Contains(text, []byte(part)) })
}

// severeDiagnostic is the severity of an error.
const severeDiagnostic = 3

// readDiagnostics turns the profiler's own complaints into warnings and facts.
func (c *capture) readDiagnostics(s scanner, columns map[string][]string) error {
	said, severe := make([]bool, len(diagnostics)), 0
	want := append(ints("severity"), textColumns("text")...)
	err := scanAll(s, columns, diagnosticTable, want, func(b *block) error {
		severity, lines := b.column("severity"), b.column("text")
		for i := range b.n {
			if !severity.Null[i] && severity.Int[i] == severeDiagnostic {
				severe++
			}
			text := bytes.ToLower(lines.Text(i))
			for k := range diagnostics {
				said[k] = said[k] || applies(k, text)
			}
			for _, d := range hostDiagnostics {
				if containsAll(text, d.has) {
					d.warn(&c.info)
				}
			}
		}
		return nil
	})
	for k, yes := range said {
		if d := &diagnostics[k]; yes && (!d.lost || !c.info.LostEvents) {
			c.info.LostEvents = c.info.LostEvents || d.lost
			c.warn("%s", d.means)
		}
	}
	if severe > 0 {
		c.warn("nsys reported %s while recording: open the report in the Nsight Systems GUI to see them", plural(int64(severe), "error"))
	}
	return err
}
