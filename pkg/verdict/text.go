package verdict

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/step"
)

// sentences say of each metric that votes what it is to cross it.
var sentences = [numVotes]string{
	gpuIdle:         "the GPUs idle %s of the time (limit %s)",
	launch:          "kernel-launch calls take %s of the time (limit %s)",
	prepExposed:     "%s of the preparation of inputs happens while the GPUs idle (limit %s)",
	prepImpact:      "the GPUs idle %s of the time while inputs are prepared (limit %s)",
	prepAttribution: "%s of the idle time goes to the preparation of inputs (limit %s)",
	gpuUtilization:  "the GPUs are busy %s of the time only (limit %s)",
}

// WriteText writes the report as Markdown that is easy to read as it is.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s\n\n%s\n", r.Verdict, r.headline(), r.why())
	section(&b, "Warnings", r.Warnings)
	for i := range r.Scopes {
		s := &r.Scopes[i]
		fmt.Fprintf(&b, "\n## %s\n\n", r.title(s))
		s.writeTable(&b)
	}
	section(&b, "What it means", r.interpretation())
	section(&b, "Keep in mind", r.caveats())
	section(&b, "Next steps", r.nextSteps())
	_, err := w.Write(b.Bytes())
	return err
}

// section writes a list below a title, and nothing where the list is empty.
func section(b *bytes.Buffer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", item)
	}
}

func (r *Report) headline() string {
	text := "the host does not hold the GPUs back"
	switch r.Verdict {
	case Yes:
		text = "the host holds the GPUs back"
	case Inconclusive:
		text = "this trace cannot tell"
	}
	if len(r.Borderline) > 0 {
		text += " (borderline: within what the steps vary it could be the other)"
	}
	return text
}

// why says in a sentence or two what the verdict rests on and what to do next.
func (r *Report) why() string {
	switch r.Verdict {
	case Inconclusive:
		return capital(r.Reasons[0]) + ". Profile again so that all GPU work is recorded, then ask again."
	case No:
		s := &r.Scopes[0]
		if s.value[gpuIdle] == nil {
			return "There is nothing to measure."
		}
		return fmt.Sprintf("In the %s the GPUs idle %s of the time (limit %s), and in no scope %d metrics are over their limits: look at what the GPUs do, not at the host.",
			r.about(s), percent(s.value[gpuIdle]), limit(*s.limits.at(gpuIdle)), votesForYes)
	}
	s := r.worst()
	return fmt.Sprintf("In the %s %d of %d metrics are over their limits: %s.%s Next: %s.",
		r.about(s), s.Crossed, s.Applicable, s.evidence(), r.alone(), r.first())
}

// about is what a scope is called.
func (r *Report) about(s *Scope) string { return scopeName(s.Name, r.run) }

// alone says where a YES rests on one fact.
func (r *Report) alone() string {
	if !r.idleAlone() {
		return ""
	}
	return " gpu_idle_ratio and gpu_utilization are one fact with two votes, and no other metric has one."
}

// worst returns the scope that the explanation is about: the phase that the
// optimisation starts with, or else the first with a YES.
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

// evidence lists the crossed metrics with their figures.
func (s *Scope) evidence() string {
	var parts []string
	for m := range numVotes {
		if s.crossed[m] {
			parts = append(parts, fmt.Sprintf(sentences[m], percent(s.value[m]), limit(*s.limits.at(m))))
		}
	}
	return strings.Join(parts, "; ")
}

// first is the first thing to do about a YES.
func (r *Report) first() string {
	s := r.worst()
	switch {
	case s.HostPrep:
		return "shorten the preparation of inputs or overlap it with the GPUs' work"
	case s.crossed[launch]:
		return "have fewer kernels launched one by one, with CUDA graphs or fusion"
	}
	return "see with gaps what the host does while the GPUs idle"
}

// title names a scope with its verdict, where that counts, and what it is of.
func (r *Report) title(s *Scope) string {
	title := capital(r.about(s))
	if r.Verdict != Inconclusive {
		title += ": " + s.Verdict
	}
	if p := r.phaseRun(s.Name); p != nil {
		return fmt.Sprintf("%s (%d per rank)", title, p.Iterations)
	}
	return fmt.Sprintf("%s (%s, %s)", title, count(len(r.run.Ranks), "rank"), count(r.run.Lanes, "lane"))
}

// writeTable writes the metrics of a scope as a Markdown table with aligned
// columns.
func (s *Scope) writeTable(b *bytes.Buffer) {
	rows := [][5]string{{"metric", "value", "95 % interval", "limit", "over the limit"}, {}}
	for m, name := range metric.Names {
		row := [5]string{name, percent(s.value[m]), ends(s.interval[m]), "-", "-"}
		if m <= nccl {
			row[3], row[4] = s.limits.text(m), "no"
			if s.crossed[m] {
				row[4] = "yes"
			}
			if s.value[m] == nil {
				row[4] = "-"
			}
		}
		if m == nccl && s.crossed[m] {
			row[4] = "caveat"
		}
		if slices.Contains(s.Borderline, name) {
			row[4] += ", borderline"
		}
		rows = append(rows, row)
	}
	width := [5]int{}
	for _, row := range rows {
		for c, text := range row {
			width[c] = max(width[c], len(text))
		}
	}
	for i, row := range rows {
		if i == 1 {
			fmt.Fprintf(b, "|%s|%s:|%s:|%s:|%s|\n", strings.Repeat("-", width[0]+2), strings.Repeat("-", width[1]+1),
				strings.Repeat("-", width[2]+1), strings.Repeat("-", width[3]+1), strings.Repeat("-", width[4]+2))
			continue
		}
		fmt.Fprintf(b, "| %-*s | %*s | %*s | %*s | %-*s |\n", width[0], row[0], width[1], row[1], width[2], row[2], width[3], row[3], width[4], row[4])
	}
}

// ends shows an interval.
func ends(i *metric.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f to %.1f", 100*i.Low, 100*i.High)
}

// worthSaying is the share of time from which on a figure without a vote is put
// into a sentence.
const worthSaying = 0.01

// interpretation says what the figures mean together.
func (r *Report) interpretation() []string {
	var out []string
	for i := range r.Scopes {
		s := &r.Scopes[i]
		if idle := s.value[gpuIdle]; idle != nil && s.Verdict == Yes {
			out = append(out, fmt.Sprintf("%s: the GPUs idle %s of the time%s.", capital(r.about(s)), percent(idle), s.idleBy()))
		}
	}
	if s := &r.Scopes[0]; s.value[backpressure] != nil && *s.value[backpressure] >= worthSaying {
		out = append(out, fmt.Sprintf("%s: launching threads wait for a full queue %s of the time, which is no launch overhead: the GPUs have work waiting then.",
			capital(r.about(s)), percent(s.value[backpressure])))
	}
	if g := r.Phases.Generation; g != nil && !*g.CUDAGraphs {
		out = append(out, "Generation steps run without CUDA graphs: the host launches every kernel.")
	}
	if h := r.Handoff; h.Wall != nil {
		text := fmt.Sprintf("%s: one takes %.1f us", capital(step.SteadySteps), *h.Wall)
		if h.Kernels != nil {
			text += fmt.Sprintf(" and runs %.1f kernels", *h.Kernels)
		}
		if h.GapP50 != nil {
			text += fmt.Sprintf("; half of the gaps between the end of one and the start of the next are longer than %.1f us", *h.GapP50)
		}
		out = append(out, text+".")
	}
	return out
}

// idleBy says how much of the idle time input preparation explains.
func (s *Scope) idleBy() string {
	v := s.value[prepAttribution]
	switch {
	case v == nil:
		return "; there are no ranges of input preparation to explain it"
	case s.HostPrep:
		return fmt.Sprintf("; inputs are being prepared during %s of that, which is confirmed as a cause", percent(v))
	}
	return fmt.Sprintf("; inputs are being prepared during %s of that", percent(v))
}

// caveats are what holds of all such figures.
func (r *Report) caveats() []string {
	out := []string{"Profiling itself takes time on the host; figures of small steps are upper bounds of what the host costs."}
	if r.Metrics.PrepExposed == nil {
		out = append(out, "The three metrics of input preparation are not applicable (n/a): no such ranges in the window. --prep names others.")
	}
	if a := &r.Scopes[0]; a.interval[gpuIdle] != nil {
		out = append(out, "Intervals are of this start of the program: what differs from start to start is not in them.")
	}
	if r.Steps.Method == "none" {
		out = append(out, "No steps were isolated: start-up and shut-down inside the trace count as idle.")
	}
	if slices.ContainsFunc(r.Scopes, func(s Scope) bool { return s.NCCL }) {
		out = append(out, "NCCL kernels spin until the slowest rank arrives. GPUs that wait for one another count as busy here; compare the ranks with gaps.")
	}
	return out
}

// nextSteps are what to do.
func (r *Report) nextSteps() []string {
	switch r.Verdict {
	case Inconclusive:
		return []string{"Profile with --cuda-graph-trace=node, or make sure that the whole run is recorded, and ask again."}
	case No:
		return []string{"Look at kernels: which take the time, and how close to the hardware's limits they are."}
	}
	s := r.worst()
	out := []string{"`gaps` splits the idle time by what the host does meanwhile, and names a slow rank.",
		"`diff` compares with a run that was faster, operation by operation."}
	if s.HostPrep {
		out = append([]string{"Shorten the preparation of inputs, or overlap it with the GPUs' work."}, out...)
	}
	if s.crossed[launch] || r.Phases.Generation != nil && !*r.Phases.Generation.CUDAGraphs {
		out = append(out, "CUDA graphs or fused kernels: fewer launches per step.")
	}
	return out
}

// text returns the threshold of a metric for people.
func (l *Limits) text(m int) string {
	sign := "> "
	if m == gpuUtilization {
		sign = "< "
	}
	return sign + limit(*l.at(m))
}

func limit(v float64) string { return fmt.Sprintf("%.4g %%", 100*v) }

// percent shows a ratio, n/a where there is none.
func percent(v *float64) string {
	if v == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
