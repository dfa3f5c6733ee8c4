package hotspot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Trace is what a trace says about the host's functions.
type Trace struct {
	Verdict     string  // YES, NO or INCONCLUSIVE; "" if the evidence has none
	FirstTarget string  // what to begin with: a function, a range or a call; "" if unknown
	WallUs      float64 // period of a step, 0 if unknown

	// ranges is idle GPU time in us per step, by the last part of the function's name.
	// A function not in it has no range with idle time, or none at all.
	ranges map[string]float64
	texts  map[string]string // the range with most of it
	most   map[string]float64
}

// document has the keys used from all three reports.
type document struct {
	Idle       json.RawMessage `json:"idle"`
	Operations []operation     `json:"operations"`
	Metrics    *struct {
		PrepImpact *float64 `json:"host_prep_perf_impact"`
	} `json:"aggregate_metrics"`
	Verdict string `json:"verdict"`
	Handoff struct {
		Verdict     string  `json:"verdict"`
		FirstTarget string  `json:"recommended_first_target"`
		Wall        float64 `json:"wall_time_per_step_us"`
	} `json:"optimization_handoff"`
}

type operation struct {
	Name    string `json:"name"`
	Source  string `json:"source_function"`
	Exposed *struct {
		Baseline *float64 `json:"baseline_us"`
		Target   *float64 `json:"target_us"`
	} `json:"exposed"`
}

// idleCauses is the idle time in gaps' JSON.
type idleCauses struct {
	Causes []struct {
		Cause     string   `json:"cause"`
		Us        float64  `json:"us"`
		UsPerStep *float64 `json:"us_per_step"`
		Path      string   `json:"path"`
		Source    string   `json:"source"`
		Sites     []struct {
			Site   string  `json:"site"`
			Path   string  `json:"path"`
			Us     float64 `json:"us"`
			Source string  `json:"source"`
		} `json:"sites"`
	} `json:"causes"`
}

// Read reads evidence.
func Read(r io.Reader) (*Trace, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxEvidence+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxEvidence {
		return nil, fmt.Errorf("evidence of more than %d MiB", maxEvidence>>20)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("no evidence: not the JSON of a report: %w", err)
	}
	t := &Trace{ranges: map[string]float64{}, texts: map[string]string{}, most: map[string]float64{}}
	t.Verdict, t.FirstTarget, t.WallUs = cmp.Or(d.Verdict, d.Handoff.Verdict), d.Handoff.FirstTarget, max(0, d.Handoff.Wall)
	switch {
	case d.Metrics != nil:
		if d.Metrics.PrepImpact != nil && t.WallUs > 0 {
			t.ranges[preparation[0]] = *d.Metrics.PrepImpact * t.WallUs
		}
	case d.Operations != nil:
		t.addDiff(&d)
	case len(d.Idle) > 0 && d.Idle[0] == '{':
		var idle idleCauses
		if err := json.Unmarshal(d.Idle, &idle); err != nil {
			return nil, fmt.Errorf("no evidence: idle: %w", err)
		}
		t.addGaps(&idle)
	default:
		return nil, errors.New("no evidence: neither aggregate_metrics, operations nor idle causes in it")
	}
	return t, nil
}

func (t *Trace) addGaps(idle *idleCauses) {
	for _, c := range idle.Causes {
		if c.UsPerStep == nil || !(c.Us > 0) {
			continue
		}
		perUs := *c.UsPerStep / c.Us // steps per us, to divide the window
		for _, s := range c.Sites {
			t.addPath(s.Path, s.Source, s.Us*perUs)
		}
		if len(c.Sites) == 0 {
			t.addPath(c.Path, c.Source, *c.UsPerStep)
		}
	}
}

// addPath adds idle time to every function named in a path of ranges, once each.
func (t *Trace) addPath(path, source string, us float64) {
	if !(us > 0) {
		return
	}
	ranges := strings.Split(path, " > ")
	seen := map[string]bool{"": true}
	for i, r := range ranges {
		names := []string{functionOf(r)}
		if i == len(ranges)-1 {
			names = append(names, lastName(source))
		}
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				t.ranges[n] += us
				if us > t.most[n] {
					t.most[n], t.texts[n] = us, r
				}
			}
		}
	}
}

func (t *Trace) addDiff(d *document) {
	twoRuns := slices.ContainsFunc(d.Operations, func(o operation) bool { return o.Exposed != nil && o.Exposed.Target != nil })
	for _, o := range d.Operations {
		if o.Exposed == nil {
			continue
		}
		us := o.Exposed.Baseline
		if twoRuns { // the target is to be changed; a range that it lacks does not count
			us = o.Exposed.Target
		}
		if us == nil || *us < 0 {
			continue
		}
		names := map[string]bool{functionOf(o.Name): true, lastName(o.Source): true}
		delete(names, "")
		for n := range names {
			t.ranges[n] += *us
		}
	}
}

// preparation are the names of the functions that prepare inputs, innermost first.
var preparation = []string{"_prepare_tp_inputs", "_prepare_inputs", "prepare_inputs"}

// of returns the idle time in a function's range, in us per step, and whether there is
// one.
func (t *Trace) of(function string) (us float64, known bool) {
	us, known = t.ranges[t.alias(function)]
	return us, known
}

// alias returns a function's name among ranges.
func (t *Trace) alias(function string) string {
	return alias(lastName(function), func(name string) bool {
		_, known := t.ranges[name]
		return known
	})
}

// alias returns the name by which a function is known. The functions that prepare
// inputs stand for each other.
func alias(name string, known func(string) bool) string {
	if at := slices.IndexFunc(preparation, known); at >= 0 && !known(name) && slices.Contains(preparation, name) {
		return preparation[at]
	}
	return name
}

// functionOf returns the name of the function that a range stands for, "" if its text
// is not a name: "[Executor] _forward_step #: # ctx reqs" stands for _forward_step.
func functionOf(text string) string { return lastName(named.FindStringSubmatch(text)[1]) }

// named matches the name at the beginning of a range's text, after a prefix in
// brackets.
var named = regexp.MustCompile(`^\s*(?:\[[^\]]*\]\s*)?([A-Za-z0-9_.]*)`)
