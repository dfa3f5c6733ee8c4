package findings

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// evidence returns the names and numbers for the sentences about a group. Times are per step or,
// without steps, per rank, as gains are.
func (g *group) evidence(run *Run, call, path string) map[string]any {
	e := map[string]any{}
	steps := float64(max(1, run.Steps))
	periods := float64(max(1, cmp.Or(run.Steps, run.Ranks)))
	for name, v := range g.numbers {
		switch {
		case strings.HasSuffix(name, "_us"):
			e[name] = v / periods
		case name == "count":
			e["times"], e["each_us"] = v/steps, g.numbers["call_us"]/max(1, v)
		default:
			e[name] = v
		}
	}
	if idle := g.numbers["idle_us"]; run.IdleUs > 0 && idle > 0 {
		e["idle_share"] = idle / run.IdleUs
		for name, v := range g.numbers { // parts of the idle time become shares of it
			if part, ok := strings.CutSuffix(name, "_idle_us"); ok {
				e[part+"_share"] = v / idle
			}
		}
	}
	for name, text := range g.names {
		e[name] = text
	}
	if n := g.steps.Len(); n > 0 {
		e["rank_steps"] = float64(n)
	}
	for name, text := range map[string]string{"call": call, "path": path, "range": Innermost(path), "listed": g.listed()} {
		if text != "" {
			e[name] = text
		}
	}
	if run.GPUs > 1 {
		e["gpus"] = float64(run.GPUs)
	}
	e["per"] = "in the trace"
	if run.Steps > 0 {
		e["per"] = "per step"
	}
	return e
}

// listed names the first few steps of the first rank that has any, "" without steps.
func (g *group) listed() string {
	if len(g.steps) == 0 {
		return ""
	}
	rank := slices.Min(slices.Collect(maps.Keys(g.steps)))
	numbers := slices.Sorted(maps.Keys(g.steps[rank]))
	var list []string
	for _, k := range numbers[:min(maxListed, len(numbers))] {
		list = append(list, fmt.Sprint(k))
	}
	word, more := "step ", ""
	if len(numbers) > 1 {
		word = "steps "
	}
	if n := len(numbers) - maxListed; n > 0 {
		more = fmt.Sprintf(" and %s", report.Counted(n, "other"))
	}
	return fmt.Sprintf("%s%s%s of rank %d", word, strings.Join(list, ", "), more, rank)
}

// Parts of a sentence: a name, and what is left out if one of its names is unknown.
var (
	nameIn = regexp.MustCompile(`\{[^}]*\}`)
	partIn = regexp.MustCompile(`\{[^}]*\}|\[[^]]*\]`)
)

// Text fills evidence into a sentence. {name} becomes a number, formatted by the unit at the end
// of its name, or a text; an unknown one becomes "". A part in [ ] is left out if one of its names
// is unknown.
func Text(say string, evidence map[string]any) string {
	return partIn.ReplaceAllStringFunc(say, func(part string) string {
		known := true
		text := nameIn.ReplaceAllStringFunc(strings.Trim(part, "[]"), func(name string) string {
			name = strings.Trim(name, "{}")
			if v, ok := evidence[name]; ok {
				return word(name, v, evidence)
			}
			known = false
			return ""
		})
		if part[0] == '[' && !known {
			return ""
		}
		return text
	})
}

// word formats one number or name.
func word(name string, v any, evidence map[string]any) string {
	x, number := v.(float64)
	switch {
	case !number:
		return fmt.Sprint(v)
	case name == "times":
		return times(x, fmt.Sprint(evidence["per"]))
	case name == "idle_us" && evidence["gpus"] != nil:
		return fmt.Sprintf("%s (sum of %.0f GPUs)", report.Micros(x), evidence["gpus"])
	case strings.HasSuffix(name, "_us"), strings.HasSuffix(name, "_us_most"):
		return report.Micros(x)
	case strings.HasSuffix(name, "_share"):
		return report.Percent(x)
	case x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	}
	return report.Digits(x)
}

// times formats how often something happens.
func times(n float64, per string) string {
	switch text := report.Digits(n); text {
	case "1", "1.00":
		return "once " + per
	case "2", "2.00":
		return "twice " + per
	default:
		return text + " times " + per
	}
}
