package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRows is how many rows of a section the text shows.
const maxRows = 20

// WriteText writes the report as Markdown that is easy to read as it is.
func (c *Comparison) WriteText(w io.Writer) error {
	var b bytes.Buffer
	switch {
	case c.target == nil:
		fmt.Fprintf(&b, "# Where a step's time goes: %s\n", c.names[0])
	case !c.Comparable:
		fmt.Fprintf(&b, "# Not comparable: %s\n\n%s -> %s\n", c.Reasons[0], c.names[0], c.names[1])
	default:
		fmt.Fprintf(&b, "# Root cause: %s\n\n%s -> %s\n", c.headline(), c.names[0], c.names[1])
	}
	list(&b, "", c.Explanation)
	list(&b, "Warnings", c.Warnings)
	c.writeSteps(&b)
	list(&b, "What to do", c.Mitigations)
	c.writeFew(&b)
	c.writeIdle(&b)
	c.writeRows(&b, "Operations (NVTX ranges)", c.Operations, true)
	c.writeRows(&b, "GPU kernels by class", c.Classes, false)
	c.writeRows(&b, "GPU kernels by name", c.Kernels, false)
	c.writeRows(&b, "CUDA API calls", c.API, false)
	c.writeMethod(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// headline is the conclusion as words, with the main cause of idle time.
func (c *Comparison) headline() string {
	if g := c.mainCause(); g != nil {
		return fmt.Sprintf("%s: %s (%s us per step)", conclusionWords[c.Conclusion], clean(g.title()), signed(g.delta))
	}
	if w := c.summary(wall); c.Conclusion == None && w.grown() > 0 && len(c.inFewSteps(true)) == 0 {
		return fmt.Sprintf("not known: a step takes %s us longer, but neither idle nor busy time alone grew beyond the noise", spell(*w.Delta))
	}
	if c.Conclusion == None {
		return c.fewHeadline()
	}
	return conclusionWords[c.Conclusion]
}

// list writes sentences below a title, and nothing where there are none.
func list(b *bytes.Buffer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(b, "\n## %s\n", title)
	}
	b.WriteByte('\n')
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", printable(item))
	}
}

// grid is a Markdown table in the making; the first row is the head.
type grid [][]string

// write writes the table with aligned columns, the first to the left.
func (g grid) write(b *bytes.Buffer) {
	widths := make([]int, len(g[0]))
	for _, row := range g {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for k, row := range g {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 || i == len(row)-1 {
				fmt.Fprintf(b, "| %s%s ", cell, pad)
			} else {
				fmt.Fprintf(b, "| %s%s ", pad, cell)
			}
		}
		b.WriteString("|\n")
		if k > 0 {
			continue
		}
		for i := range row {
			rule := strings.Repeat("-", widths[i]+1)
			if i == 0 || i == len(row)-1 {
				fmt.Fprintf(b, "|:%s", rule)
			} else {
				fmt.Fprintf(b, "|%s:", rule)
			}
		}
		b.WriteString("|\n")
	}
}

// summaryTitles are the names of the summary for people.
var summaryTitles = map[string]string{
	wall: "wall", busyTime: "GPU busy", idleTime: "GPU idle", idleIn: "idle within steps", idleOut: "idle between steps", duration: "duration",
	gap: "gap, mean", gapP50: "gap, P50", gapP90: "gap, P90", gpuTime: "GPU time",
	wallP50: "wall, P50", wallP90: "wall, P90", wallP99: "wall, P99", wallMax: "wall, maximum",
	eagerKernels: "eager kernels", graphKernels: "replayed kernels", graphLaunches: "whole-graph replays",
}

// writeSteps writes the summary.
func (c *Comparison) writeSteps(b *bytes.Buffer) {
	a := c.Steady.Baseline
	fmt.Fprintf(b, "\n## Per step (%s steps", c.opt.Phase)
	if c.opt.Match != "" {
		b.WriteString(", batches matched")
	}
	b.WriteString(")\n\n")
	head := []string{"us per step", "time", "95 % interval"}
	steps := []string{"rank-steps", strconv.Itoa(a.Steps), ""}
	if t := c.Steady.Target; t != nil {
		head = []string{"us per step", "baseline", "target", "delta", "%", "95 % interval", "evidence"}
		steps = []string{"rank-steps", strconv.Itoa(a.Steps), strconv.Itoa(t.Steps), "", "", "", ""}
	}
	g := grid{head, steps}
	for i := range c.Summary {
		g = append(g, c.cells(&c.Summary[i], summaryTitles[c.Summary[i].Name]))
	}
	for i := range c.Counts {
		r := &c.Counts[i].Row
		if r.Baseline != nil && *r.Baseline != 0 || r.Target != nil && *r.Target != 0 {
			g = append(g, c.cells(r, summaryTitles[r.Name]))
		}
	}
	g.write(b)
	if m := c.Method; m.Duration != "" {
		fmt.Fprintf(b, "\nAll figures are of %s. Duration: %s. Gap: %s. Idle between steps: %s.\n", m.Scope, m.Duration, m.Gap, m.InterStep)
	}
	if c.NoiseFloor != nil {
		fmt.Fprintf(b, "\nNoise floor: halves of one and the same run differ by up to %s us per step.\n", spell(*c.NoiseFloor))
	}
}

// cells are the columns that all tables have.
func (c *Comparison) cells(r *Row, title string) []string {
	if c.target == nil {
		ci := "-"
		if r.BaselineCI != nil {
			ci = spell(r.BaselineCI[0]) + " .. " + spell(r.BaselineCI[1])
		}
		return []string{title, spellNull(r.Baseline), ci}
	}
	percent := "-"
	if r.DeltaPercent != nil {
		percent = signed(*r.DeltaPercent)
	}
	delta, ci := "-", "-"
	if r.Delta != nil {
		delta = signed(*r.Delta)
	}
	if r.CI != nil {
		ci = signed(r.CI[0]) + " .. " + signed(r.CI[1])
	}
	return []string{title, spellNull(r.Baseline), spellNull(r.Target), delta, percent, ci, r.evidence()}
}

// evidence says whether a change is real: its status, "changed" for one that is
// neither a regression nor an improvement, "~" where there is no evidence.
func (r *Row) evidence() string {
	switch {
	case r.P == nil, r.CannotTell != "":
		return "?"
	case !r.Significant:
		return "~"
	case r.Status != "":
		return r.Status
	}
	return "changed"
}

// writeRows writes the rows of a section, the largest first.
func (c *Comparison) writeRows(b *bytes.Buffer, title string, rows []Row, ops bool) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	head := []string{"us per step", "time", "per step", "95 % interval"}
	if c.target != nil {
		head = []string{"us per step", "baseline", "target", "delta", "%", "95 % interval", "per step", "evidence"}
	}
	if ops {
		head = append(head[:len(head)-1:len(head)-1], "self", "exposed", head[len(head)-1])
	}
	g := grid{head}
	for i := range min(len(rows), maxRows) {
		r := &rows[i]
		line := c.cells(r, clean(r.Name))
		last := line[len(line)-1]
		line = append(line[:len(line)-1], counts(r))
		if ops {
			line = append(line, part(r.Self), part(r.Exposed))
			if r.Rename != "" {
				last += " (now " + clean(r.Rename) + ")"
				if r.Baseline == nil {
					last = strings.Replace(last, "(now ", "(was ", 1)
				}
			}
		}
		g = append(g, append(line, last))
	}
	g.write(b)
	if n := len(rows) - maxRows; n > 0 {
		fmt.Fprintf(b, "\n%d more, each of %s us at most; --format json has all.\n", n, spell(rows[maxRows].size()))
	}
}

// counts spells how often a row occurs in a step.
func counts(r *Row) string {
	switch {
	case r.BaselineCount == nil && r.TargetCount == nil:
		return "-"
	case r.TargetCount == nil:
		return spell(*r.BaselineCount)
	case r.BaselineCount == nil:
		return "0 -> " + spell(*r.TargetCount)
	case math.Abs(*r.BaselineCount-*r.TargetCount) < 0.005:
		return spell(*r.TargetCount)
	}
	return spell(*r.BaselineCount) + " -> " + spell(*r.TargetCount)
}

// part spells a part of an operation: of one run its size, of two its change.
func part(p *Part) string {
	switch {
	case p == nil:
		return "-"
	case p.Delta != nil:
		return signed(*p.Delta)
	}
	return spellNull(p.Baseline)
}

// writeMethod says how sure the figures are.
func (c *Comparison) writeMethod(b *bytes.Buffer) {
	if c.target == nil {
		b.WriteString("\nself: without what is nested in it. exposed: while GPUs are idle; no more can be gained by making it faster.\n")
		return
	}
	b.WriteString("\n## How to read this\n\n")
	fmt.Fprintf(b, "Means over %s steps; intervals hold the truth in 95 of 100 cases and allow for neighbouring steps being correlated. ", c.opt.Phase)
	if c.opt.Control == Family {
		fmt.Fprintf(b, "A row has a status, or \"changed\", where there is evidence: among all rows together one false alarm or more is raised in at most %s %% of comparisons of equal runs. ", spell(100*c.opt.Alpha))
	} else {
		fmt.Fprintf(b, "A row has a status, or \"changed\", where there is evidence: of these at most %s %% are expected to be false alarms. ", spell(100*c.opt.Alpha))
	}
	b.WriteString("~ is no evidence of a change, ? cannot be told (--format json says why). REGRESSION is more than +50 %, IMPROVED less than -30 %. " +
		"self: without what is nested in it; exposed: while GPUs are idle, no more can be won back; both as changes. " +
		"What differs from one start of an engine to the next (clocks, placement) is in the intervals only with two runs a side or more.\n")
}

// spell writes a figure for people.
func spell(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimSuffix(s, "0"), ".0")
}

// signed writes a change for people.
func signed(v float64) string {
	if math.IsInf(v, 0) {
		return "?" // of a bound: not known
	}
	s := spell(v)
	switch {
	case strings.Trim(s, "-0.") == "":
		return "0"
	case v > 0:
		return "+" + s
	}
	return s
}

// spellNull writes a figure that may be missing.
func spellNull(v *float64) string {
	if v == nil {
		return "-"
	}
	return spell(*v)
}

// maxName is how many characters of a name the text shows.
const maxName = 60

// printable replaces what would move a terminal's cursor or begin a line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '.'
	}, text)
}

// clean makes a name fit for a cell of a table.
func clean(name string) string {
	name = strings.ReplaceAll(printable(name), "|", "/")
	if runes := []rune(name); len(runes) > maxName {
		return string(runes[:maxName-3]) + "..."
	}
	return name
}

// MarshalJSON writes a count under keys without a unit.
func (r CountRow) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name         string    `json:"name"`
		Baseline     *float64  `json:"baseline"`
		Target       *float64  `json:"target"`
		Delta        *float64  `json:"delta"`
		DeltaPercent *float64  `json:"delta_percent"`
		CI           *Interval `json:"ci"`
		P            *float64  `json:"p_value"`
		Adjusted     *float64  `json:"p_adjusted"`
		QValue       *float64  `json:"q_value"`
		Significant  bool      `json:"significant"`
		Status       string    `json:"status"`
	}{r.Name, r.Baseline, r.Target, r.Delta, r.DeltaPercent, r.CI, r.P, r.Adjusted, r.QValue, r.Significant, r.Status})
}
