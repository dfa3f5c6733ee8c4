package main

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/report"
)

// pages is the number of diff's answers that were read, contradicting that of answers
// that contradict their tables.
var pages, contradicting atomic.Int64

// read counts an answer, and returns it.
func read(c *compare.Comparison) *compare.Comparison {
	pages.Add(1)
	if contradiction(c) != "" {
		contradicting.Add(1)
	}
	return c
}

// contradiction returns a sentence of an answer that contradicts its table, "" if there
// is none.
func contradiction(c *compare.Comparison) string {
	if !c.Comparable || c.Direction == nil {
		return ""
	}
	title := fmt.Sprint(c.Document().Title)
	wall, median := find(c.Summary, "wall"), find(c.Summary, "wall_p50")
	with := func(direction string, sign float64) bool { // the row of the headline agrees
		for _, r := range []*compare.Row{wall, median} {
			if r.Significant && *r.Delta*sign > 0 && *c.Direction == direction {
				return true
			}
		}
		return false
	}
	slower, faster := strings.Contains(title, "Slower by "), strings.Contains(title, "Faster by ")
	for _, claim := range []struct{ said, so bool }{
		{slower, with(compare.Slower, 1)}, {faster, with(compare.Faster, -1)},
		{strings.Contains(title, "No significant change in step time"), !wall.Significant && !median.Significant},
		{strings.Contains(title, "Same step time"), *c.Direction == compare.Same},
		{strings.Contains(title, "Cannot tell"), wall.Unknown != ""},
		{c.Conclusion != compare.None, slower || faster},
		{slower || faster, c.Conclusion != compare.None},
	} {
		if claim.said && !claim.so {
			return title
		}
	}
	for _, sentence := range c.Explanation {
		if !agrees(c, sentence) {
			return sentence
		}
	}
	return ""
}

var (
	mover   = regexp.MustCompile(`(?:: |, )([^,:]+) ([+-][0-9.]+ (?:ns|µs|ms|s))`)
	percent = regexp.MustCompile(`^What explains ([0-9.]+) % of the change`)
	placing = regexp.MustCompile(`host time in ([^,:]+) [+-][0-9.]+ (?:ns|µs|ms|s) (within|between) steps`)
)

// placed reports whether a sentence places idle time as its rows do. The first place that
// it names must be that of the conclusion.
func placed(c *compare.Comparison, sentence string) bool {
	rows := c.Held
	if len(rows) == 0 {
		rows = c.Causes
	}
	for k, m := range placing.FindAllStringSubmatch(sentence, -1) {
		for i := range rows {
			r := &rows[i]
			if r.Cause != "host:"+m[1] {
				continue
			}
			within, between := *r.InStep.Delta, *r.InterStep.Delta
			said := map[string]float64{"within": within, "between": between}[m[2]]
			if math.Abs(said) < math.Abs(within+between-said) {
				return false
			}
			if k == 0 && c.Conclusion == map[string]string{"within": compare.HostInterStep, "between": compare.HostInStep}[m[2]] {
				return false
			}
		}
	}
	return true
}

// agrees reports whether a sentence agrees with the rows.
func agrees(c *compare.Comparison, sentence string) bool {
	row := func(name string) *compare.Row { return find(c.Summary, name) }
	moved := func(sign float64) bool {
		for _, m := range mover.FindAllStringSubmatch(sentence, -1) {
			r := find(c.Operations, m[1])
			for i := range c.Operations {
				if strings.HasSuffix(c.Operations[i].Name, ": "+m[1]) {
					r = &c.Operations[i]
				}
			}
			if !r.Significant || *r.Delta*sign <= 0 || m[2] != report.Signed(report.Micros(*r.Delta)) {
				return false
			}
		}
		return true
	}
	start := func(s string) bool { return strings.HasPrefix(sentence, s) }
	switch {
	case start("Mean step: "), start("Median step: "):
		r := row(map[bool]string{true: "wall", false: "wall_p50"}[start("Mean")])
		head, _, _ := strings.Cut(sentence, "; GPU idle time")
		head, _, _ = strings.Cut(head, ". Mean and median")
		return strings.Contains(head, report.Signed(report.Micros(*r.Delta))) &&
			strings.Contains(head, ", not significant") == (!r.Significant && r.Unknown == "") && strings.Contains(head, "cannot tell") == (r.Unknown != "")
	case start("Operations that take longer"):
		return moved(1)
	case start("Operations that take less"):
		return moved(-1)
	case start("All host work"):
		return row("all host work").Significant
	case start("The slowest steps"):
		r := row(map[bool]string{true: "wall_p99", false: "wall_max"}[strings.Contains(sentence, "P99")])
		return r.Significant && *r.Target > *r.Baseline
	case start("Idle time with a host cause changed most"):
		return strings.HasPrefix(c.Conclusion, "host_")
	case start("What explains"):
		return placed(c, sentence)
	case start("GPU work changed most"):
		return c.Conclusion == compare.GPU
	case start("The rest is in causes"):
		for _, s := range c.Explanation {
			if m := percent.FindStringSubmatch(s); m != nil && len(m[1]) > 3 && m[1] >= "50" {
				return false
			}
		}
	}
	return true
}
