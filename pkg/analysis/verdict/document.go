package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// sentences are, for each metric with a vote, the sentence for a value over its limit. That of
// gpuUtilization is used only without that of gpuIdle, which is the same measurement.
var sentences = [numVotes]string{
	gpuIdle:         "the GPUs are idle %s of the time (limit %s)",
	launch:          "kernel-launch calls take %s of the time (limit %s)",
	prepExposed:     "%s of input preparation runs while the GPUs are idle (limit %s)",
	prepImpact:      "the GPUs are idle %s of the time while inputs are prepared (limit %s)",
	prepAttribution: "input preparation accounts for %s of the idle time (limit %s)",
	gpuUtilization:  "the GPUs are busy %s of the time (limit %s)",
}

// StepsSection is the title of the section on the steps over time.
const StepsSection = "Steps over time"

// page is a report to be written as a document.
type page struct{ *Report }

// Document returns the report as a document.
func (r *Report) Document() *report.Document { return page{r}.document() }

// document writes the answer first, then the figures, then what to do.
func (r page) document() *report.Document {
	d, first := report.New(r.title())
	if text := event.WorkloadText(r.Workload); text != "" {
		first.Say("%s; steps have no phases.", report.Capital(text))
	}
	first.Say("%s", r.why())
	if f := r.first(); f != nil {
		first.Say("First target: %s. %s.", report.Name(f.Name), report.Capital(f.Text))
	}
	if s := r.run.Span; s != nil && r.run.Window == metric.WindowBenchmark {
		first.Say("The benchmark window is %s long, from %s to %s of the recording.%s",
			report.Micros(float64(s[1]-s[0])/1e3), seconds(s[0]), seconds(s[1]), r.outside())
	}
	if r.History != nil {
		r.History.Report(d.Section("Against the runs before"))
	}
	d.Section("Warnings").Items(slices.DeleteFunc(slices.Clone(r.Warnings), func(w string) bool {
		return strings.HasPrefix(w, inconclusivePrefix) // why says it
	}))
	for i := range r.Scopes {
		scope := &r.Scopes[i]
		s := d.Section(r.heading(scope))
		s.Detail = scope != r.worst() || r.run.NoSteps // without steps the figures are no answer
		s.Figure(scope.figure())
	}
	r.others(d.Details("Ratios without a limit"))
	steps := d.Details(StepsSection)
	r.lengths(steps)
	r.seriesFigures(steps)
	r.interpretation(d.Section("What it means"))
	d.Details("Keep in mind").Items(r.caveats())
	r.nextSteps(d.Section("Next steps"), d.Details(recordLoop))
	return d
}

// outside says what lies outside of the benchmark window, for the rank with the most of it.
func (r page) outside() string {
	var most step.Remainder
	for i := range r.run.Ranks {
		if o := r.run.Ranks[i].Outside; o != nil {
			most = most.Most(*o)
		}
	}
	return most.Text(report.Micros(most.PauseUs))
}

// lowLoadAnswer is the answer in place of a YES that is due to low load.
const lowLoadAnswer = "LOW LOAD"

// title returns the verdict in one line.
func (r *Report) title() report.Text {
	answer, text, tone := r.Verdict, "the host does not hold the GPUs back", report.Good
	switch r.Verdict {
	case No:
		if s, _ := r.waitUnknown(); s != nil {
			text, tone = "the GPUs are not idle, but the cause of their waits in collectives is unknown", report.Warn
		}
	case Yes:
		text, tone = "the host holds the GPUs back", report.Bad
		if r.RaisedBy != nil {
			text = "the host holds the GPUs back: they wait in collectives for a rank whose host is late"
		}
		if share, _ := r.notHost(); share > 0 {
			text, tone = "the GPUs are idle, mostly not because of the host", report.Warn
		}
		if r.LowOnLoad() {
			answer, text, tone = lowLoadAnswer, "the GPUs are idle because there are too few requests; this is not host overhead", report.Warn
		}
	case Inconclusive:
		text, tone = "this trace cannot tell", report.Warn
		if r.run.NoSteps {
			text = "no " + r.what() + " steps found, figures of the whole trace"
		}
	}
	if len(r.Borderline) > 0 {
		text += " (borderline: within measurement noise)"
	}
	if r.Label != "" {
		return report.Textf("%s: %s (%s)", report.Toned(tone, answer), text, report.Name(r.Label))
	}
	return report.Textf("%s: %s", report.Toned(tone, answer), text)
}

// why says in a few sentences what the verdict rests on, and what to do next.
func (r page) why() report.Text {
	switch r.Verdict {
	case Inconclusive:
		if s := &r.Scopes[0]; r.run.NoSteps && s.value[gpuIdle] != nil {
			return report.Textf("In the %s, start-up and shut-down included, the GPUs are idle %s of the time. That is not enough for a verdict on %s.%s %s say what to record instead.",
				r.about(s), percent(s.value[gpuIdle]), r.what(), r.doubts(), report.Strong("Next steps"))
		}
		return report.Textf("%s See %s.", strings.TrimSpace(r.doubts()), report.Strong("Next steps"))
	case No:
		s := &r.Scopes[0]
		if s.value[gpuIdle] == nil {
			return report.Plain("There is nothing to measure.")
		}
		return report.Textf("In the %s the GPUs are idle %s of the time (limit %s). YES needs %d metrics over their limits, in the window or in one phase. %s.",
			r.about(s), percent(s.value[gpuIdle]), limit(*s.limits.at(gpuIdle)), votesForYes, s.bound())
	}
	s := r.worst()
	if s.Raised {
		return report.Textf("In the %s the GPUs are idle %s of the time and wait another %s in collectives for a rank whose host is late: together that is over the limits (idle %s).%s",
			r.about(s), percent(s.value[gpuIdle]), percent(s.value[hostWait]), limit(*s.limits.at(gpuIdle)), r.next())
	}
	return report.Textf("In the %s %s are over the limit. %s.%s%s",
		r.about(s), report.Strong(fmt.Sprintf("%d of %d metrics", s.Over, s.Applicable)), s.evidence(), s.signals(), r.next())
}

// bound says what bounds the steps if the host does not.
func (s *Scope) bound() string {
	if v := s.value[collectiveWait]; v != nil && *v >= worthSaying {
		who := "a late rank: 'gaps' names it, and why"
		if s.value[hostWait] == nil {
			who = "ranks that were not recorded, by estimate: record all at once"
		}
		return fmt.Sprintf("The GPUs work %s of the time, and wait another %s in collectives for %s", report.Percent(s.at(gpuUtilization)-*v), percent(v), who)
	}
	text := fmt.Sprintf("The GPUs' own work takes %s of the step and bounds it", percent(s.value[gpuUtilization]))
	if v := s.value[comm]; v != nil && *v >= worthSaying {
		text += fmt.Sprintf(" (%s of that in collectives)", percent(v))
	}
	return text + ". Look at the kernels rather than the host"
}

// doubts returns the reasons for INCONCLUSIVE, a sentence each, except the one in the title.
func (r page) doubts() (text string) {
	for _, reason := range r.Reasons {
		if reason != noSteps(r.run) {
			text += " " + report.Capital(reason) + "."
		}
	}
	return text
}

// what returns what the run does: its workload, or "inference".
func (r *Report) what() string { return cmp.Or(r.Workload, "inference") }

// rate returns the unit of the run's throughput.
func (r page) rate() string {
	if r.Workload != "" {
		return "steps/s"
	}
	return "tokens/s"
}

// about returns the name of a scope for sentences.
func (r *Report) about(s *Scope) string { return scopeName(s.Name, r.run) }

// signals says how many independent measurements the votes of a YES come from. gpu_idle_ratio
// and gpu_utilization are one, and the three of input preparation are ratios of the same time.
func (s *Scope) signals() string {
	var all []string
	for _, one := range []struct {
		name  string
		votes []int
	}{
		{"idle GPUs", []int{gpuIdle, gpuUtilization}}, {"kernel launches", []int{launch}},
		{"input preparation", []int{prepExposed, prepImpact, prepAttribution}},
	} {
		if slices.ContainsFunc(one.votes, func(m int) bool { return s.over[m] }) {
			all = append(all, one.name)
		}
	}
	return fmt.Sprintf(" %s: %s.", report.Capital(report.Counted(len(all), "independent signal")), strings.Join(all, ", "))
}

// worst returns the scope that the explanation is about: the phase to begin with, else the first
// scope with a YES, else the aggregate.
func (r *Report) worst() *Scope {
	if r.Handoff.Phase != nil {
		return r.scope(*r.Handoff.Phase)
	}
	for i := range r.Scopes {
		if r.Scopes[i].Verdict == Yes {
			return &r.Scopes[i]
		}
	}
	return &r.Scopes[0]
}

// evidence lists the metrics over their limits, with their figures.
func (s *Scope) evidence() string {
	var parts []string
	for m := range numVotes {
		if s.over[m] && (m != gpuUtilization || !s.over[gpuIdle]) {
			parts = append(parts, report.Capital(fmt.Sprintf(sentences[m], percent(s.value[m]), limit(*s.limits.at(m)))))
		}
	}
	return strings.Join(parts, ". ")
}

// moreLoad is what to do if there are too few requests.
const moreLoad = "send more requests, or more at a time, and profile again: no change of the host's code will help"

// next says what to do about a YES, nil if a first target says that.
func (r page) next() report.Text {
	text := report.Textf("run %s to see what the host does while the GPUs are idle", report.Command("gaps"))
	switch s := r.worst(); {
	case r.LowOnLoad():
		text = report.Plain(moreLoad)
	case r.first() != nil:
		return nil
	case s.HostPrep:
		text = report.Plain("shorten input preparation, or overlap it with GPU work")
	case s.over[launch]:
		text = report.Plain("launch fewer kernels one by one, with CUDA graphs or fusion")
	}
	return report.Textf(" Next: %s.", text)
}

// heading returns the name of a scope, its verdict unless INCONCLUSIVE, and what it covers.
func (r page) heading(s *Scope) string {
	title := report.Capital(r.about(s))
	if r.Verdict != Inconclusive {
		title += fmt.Sprintf(": %s, %d of %d over the limit", s.Verdict, s.Over, s.Applicable)
		if s.Raised {
			title += " without waits in collectives"
		}
	}
	if p := r.phaseRun(s.Name); p != nil {
		return fmt.Sprintf("%s (%d per rank)", title, p.Iterations)
	}
	ranks := report.Counted(len(r.run.Ranks), "rank")
	if n := len(r.ranksApart()); n > 0 {
		ranks = fmt.Sprintf("%d of %s", len(r.run.Ranks)-n, ranks)
	}
	return fmt.Sprintf("%s (%s, %s)", title, ranks, report.Counted(r.run.GPUs, "GPU"))
}

var columns = []report.Column{
	{Title: "metric"}, {Title: "value", Kind: report.Ratio}, {Title: "95 % interval", Kind: report.Ratio, Minor: 2},
	{Title: "limit", Right: true}, {Title: "over limit"},
}

// others shows the ratios without a limit, for all scopes.
func (r page) others(d *report.Section) {
	t := d.Table("", report.Column{Title: "ratio"})
	for i := range r.Scopes {
		t.Columns = append(t.Columns, report.Column{Title: r.about(&r.Scopes[i]), Kind: report.Ratio},
			report.Column{Title: "95 % interval", Kind: report.Ratio, Minor: 2})
	}
	for m := nccl + 1; m < len(metric.Names); m++ {
		row := []report.Cell{report.Str(metric.Names[m])}
		for i := range r.Scopes {
			s := &r.Scopes[i]
			row = append(row, report.Opt(s.value[m]), s.ends(m))
		}
		t.Row(row...)
	}
}

// ends returns the interval of a metric as a cell, empty if there is none.
func (s *Scope) ends(m int) report.Cell {
	if i := s.interval[m]; i != nil {
		return report.Range(i.Low, i.High)
	}
	return report.Cell{}
}

// table adds a row for each metric of a scope that has a limit.
func (s *Scope) table(t *report.Table) {
	for m, name := range metric.Names[:nccl+1] {
		over, tone := "no", report.Neutral
		switch {
		case s.value[m] == nil:
			over = "-"
		case s.over[m] && m == nccl:
			over, tone = "caveat", report.Warn
		case s.over[m]:
			over, tone = "yes", report.Bad
		}
		if v := s.value[m]; v != nil && hidden(*v, *s.limits.at(m)) {
			over += fmt.Sprintf(" (%s)", limit(*v))
		}
		if slices.Contains(s.Borderline, name) {
			over += ", borderline"
		}
		t.Row(report.Str(name), report.Opt(s.value[m]), s.ends(m), report.Str(s.limits.text(m)), report.Str(over).With(tone))
	}
}

// interpretation says what the figures mean taken together.
func (r page) interpretation(d *report.Section) {
	for i := range r.Scopes {
		switch s := &r.Scopes[i]; {
		case s.value[gpuIdle] == nil || r.Verdict == Inconclusive:
		case s.Raised:
			d.Item("%s: the GPUs are idle %s of the time and wait in collectives another %s. %s of the time has a host cause.",
				report.Capital(r.about(s)), percent(s.value[gpuIdle]), percent(s.value[collectiveWait]), percent(s.value[hostBound]))
		case s.Verdict == Yes:
			d.Item("%s: the GPUs are idle %s of the time.%s%s would %s.",
				report.Capital(r.about(s)), percent(s.value[gpuIdle]), s.idleBy(), s.removing(), s.ceiling(r.rate()))
		case s.Over > 0:
			d.Item("%s: %s over the limit (YES needs 2). The GPUs are idle %s of the time.",
				report.Capital(r.about(s)), report.Counted(s.Over, "metric"), percent(s.value[gpuIdle]))
		default:
			d.Item("%s: healthy. The GPUs are idle %s of the time.", report.Capital(r.about(s)), percent(s.value[gpuIdle]))
		}
	}
	if s := &r.Scopes[0]; s.value[backpressure] != nil && *s.value[backpressure] >= worthSaying {
		d.Item("%s: launching threads wait for a full queue %s of the time. That is not launch overhead: the GPUs have work queued then.",
			report.Capital(r.about(s)), percent(s.value[backpressure]))
	}
	if r.Waits == nil && r.Verdict == Yes && r.Workload == "" {
		d.Item("Low load was not checked: %s.", r.LowLoadUnknown)
	}
}

// lengths says how long steps take and what launches them.
func (r page) lengths(d *report.Section) {
	for i := range r.run.Phases {
		p := &r.run.Phases[i]
		graphs, length := "CUDA graphs are not used: the host launches every kernel", ""
		switch share := float64(p.Replayed) / float64(max(1, p.Kernels)); {
		case p.Replayed > 0 && r.run.HiddenGraphs == 0 && !stat.MostOf(p.Replayed, p.Kernels): // not the last of a phase alone
			graphs = fmt.Sprintf("CUDA graphs replay %s of the kernels, the host launches the others", percent(&share))
		case p.Replayed > 0:
			graphs = "CUDA graphs are used"
		}
		if p.P50 != nil {
			length = fmt.Sprintf("P50 %s, P90 %s per step; ", report.Micros(*p.P50/1e3), report.Micros(*p.P90/1e3))
		}
		d.Item("%s: %s%s.", report.Capital(scopeNames[p.Phase]), length, graphs)
	}
	if h := r.Handoff; h.Wall != nil {
		text := fmt.Sprintf("%s: %s per step", report.Capital(step.SteadySteps), report.Micros(*h.Wall))
		if h.Kernels != nil {
			text += fmt.Sprintf(", %s kernels", report.Digits(*h.Kernels))
		}
		if h.GapP50 != nil {
			text += fmt.Sprintf("; median gap between steps: %s", report.Micros(*h.GapP50))
		}
		d.Item("%s.", text)
	}
}

// idleBy says how much of the idle time input preparation explains.
func (s *Scope) idleBy() string {
	v := s.value[prepAttribution]
	switch {
	case v == nil:
		return " No ranges of input preparation were recorded to explain it."
	case s.HostPrep:
		return fmt.Sprintf(" Input preparation accounts for %s of that and is confirmed as a cause.", percent(v))
	}
	return fmt.Sprintf(" Input preparation accounts for %s of that.", percent(v))
}

// waits returns the share of time in which the GPUs wait in collectives, 0 if unknown or
// negligible.
func (s *Scope) waits() float64 {
	if w := s.value[collectiveWait]; w != nil && *w >= worthSaying {
		return *w
	}
	return 0
}

// removing begins a sentence on the gain if the GPUs were never idle and, if they wait in
// collectives, never waited. ceiling ends it.
func (s *Scope) removing() string {
	if w := s.waits(); w > 0 {
		return fmt.Sprintf(" They spend another %s waiting in collectives for a late rank. Removing both", percent(&w))
	}
	return " Removing all idle time"
}

// ceiling says by how much the run's throughput would then rise at most.
func (s *Scope) ceiling(rate string) string {
	work := *s.value[gpuUtilization] - s.waits()
	if work <= 0 {
		return "give no upper bound: the GPUs never work"
	}
	return fmt.Sprintf("give at most %s times the %s", report.Digits(1/work), rate)
}

// seconds formats a time of the recording, in ns, as seconds.
func seconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

// caveats lists general reservations about the figures.
func (r page) caveats() []string {
	out := []string{"Profiling slows the host: its cost is overestimated, most of all in short steps."}
	if v := r.Scopes[0].value[graphLaunch]; v != nil && *v >= minGraphLaunch && r.run.HiddenGraphs == 0 {
		out = append(out, fmt.Sprintf("Launching CUDA graphs takes %s of the time (graph_launch_ratio): tracing graphs by node slows these calls, and without it the GPUs may idle less.", report.Percent(*v)))
	}
	if r.Metrics.PrepExposed == nil {
		out = append(out, "The three input-preparation metrics do not apply (-): no such NVTX range in the window. Name yours with --prep.")
	}
	if a := &r.Scopes[0]; a.interval[gpuIdle] != nil {
		out = append(out, "Intervals describe this run: they do not cover run-to-run variation.")
	}
	if r.Steps.Method == "none" {
		out = append(out, "No steps were isolated: start-up and shut-down inside the trace count as idle.")
	}
	if slices.ContainsFunc(r.Scopes, func(s Scope) bool { return s.NCCL }) {
		out = append(out, "NCCL kernels spin until the slowest rank arrives. GPUs that wait for one another count as busy here; collective_wait_ratio is how long they wait.")
	}
	return out
}

// nextSteps says what to do. Long code goes to loop.
func (r page) nextSteps(d, loop *report.Section) {
	switch r.Verdict {
	case Inconclusive:
		r.remedy(d, loop)
		r.python(d)
		return
	case No:
		d.Item("Look at the kernels: which take the time, and how close they are to the hardware's limits.")
		return
	}
	if r.LowOnLoad() {
		d.Item("%s.", report.Capital(moreLoad))
		return
	}
	s := r.worst()
	if s.HostPrep && r.first() == nil {
		d.Item("Shorten input preparation, or overlap it with GPU work.")
	}
	d.Item("Run %s: it attributes idle time to what the host does, and names a straggler rank.", report.Command("gaps"))
	r.python(d)
	if s.over[launch] || r.Phases.Generation != nil && !*r.Phases.Generation.CUDAGraphs {
		d.Item("CUDA graphs or fused kernels: fewer launches per step.")
	}
}

// python says how to read the Python functions of a trace, if it has some and the GPUs are idle
// for longer than the limit. They may tell what the host does then.
func (r page) python(d *report.Section) {
	if n := r.run.PythonFunctions; n > 0 && r.Scopes[0].over[gpuIdle] {
		d.Item("The trace has %s of Python functions, which were not read and may say what the host does while the GPUs are idle: %s.",
			report.Counted(int(n), "call"), report.Command(report.PythonToo))
	}
}

// text formats the threshold of a metric, with its sign.
func (l *Limits) text(m int) string {
	sign := "> "
	if m == gpuUtilization {
		sign = "< "
	}
	return sign + limit(*l.at(m))
}

// limit formats a threshold in percent.
func limit(v float64) string { return fmt.Sprintf("%.10g %%", 100*v) }

// hidden reports whether rounding for display moves a ratio to another side of a limit.
func hidden(v, limit float64) bool {
	return cmp.Compare(v, limit) != cmp.Compare(math.Round(1000*v)/1000, limit)
}

// percent formats a ratio in percent, "unknown" for nil.
func percent(v *float64) string { return percentOr(v, "unknown") }
