package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// Gate is a condition under which a comparison fails, for the CI of an engine.
//
//	regression       a step's mean or median wall time grew by more than 1 %, or its tail
//	                 grew, or what happens in few steps, or an operation, kernel or API
//	                 call has the status REGRESSION; causes of idle time do not count
//	NAME>LIMIT       a row grew by more than LIMIT, which is in % of the baseline
//	                 or in us per step: wall>3%, idle>50us, _update_requests>100us
//
// NAME is wall, busy, idle, duration, gap, gap_p50, gap_p90, gpu, eager_kernels,
// graph_kernels, graph_launches (limits without a unit), or the name of an operation, a
// class of kernels, a kernel, an API call or a cause of idle time
// (host:_prepare_inputs). A limit is exceeded if the change is significant and its whole
// 95 % interval lies above the limit. An estimate above it is not enough.
type Gate struct {
	text       string
	regression bool
	name       string
	limit      float64
	unit       string // "%", "us" or ""
}

var gateForm = regexp.MustCompile(`^(.+)>\s*\+?([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(%|us|ms|)$`)

// ParseGate reads a condition.
func ParseGate(text string) (Gate, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "regression" {
		return Gate{text: trimmed, regression: true}, nil
	}
	m := gateForm.FindStringSubmatch(trimmed)
	if m == nil {
		return Gate{}, fmt.Errorf("condition %q is neither regression nor NAME>LIMIT with a limit like 3%% or 100us", text)
	}
	limit, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return Gate{}, fmt.Errorf("condition %q: the limit is not a number", text)
	}
	g := Gate{text: trimmed, name: strings.TrimSpace(m[1]), limit: limit, unit: m[3]}
	if g.unit == "ms" {
		g.limit, g.unit = 1000*limit, "us"
	}
	switch {
	case g.unit == "" && !isCount(g.name):
		return Gate{}, fmt.Errorf("condition %q: the limit needs a unit, %% or us", text)
	case g.unit == "us" && isCount(g.name):
		return Gate{}, fmt.Errorf("condition %q: a number of kernels is not in us", text)
	}
	return g, nil
}

// isCount reports whether a summary row is a count, not a duration.
func isCount(name string) bool {
	return name == eagerKernels || name == graphKernels || name == graphLaunches
}

// String returns the condition as written.
func (g Gate) String() string { return g.text }

// Check reports whether a condition is met, and why, or what was found instead. It
// returns an error if the comparison cannot tell, or has no such row.
func (c *Comparison) Check(g Gate) (failed bool, why string, err error) {
	switch {
	case c.target == nil:
		return false, "", errors.New("there is nothing to compare with: give a target")
	case !c.Comparable:
		return false, "", errors.New("the sides cannot be compared: " + strings.Join(c.Reasons, "; "))
	case g.regression:
		if failed, why = c.regressed(); !failed {
			err = c.summary(wall).tellable(g)
		}
		return failed, why, err
	}
	for _, r := range c.tested { // of idle time, the row by cause comes first; the name may be the baseline's
		if r.Name != g.name && (g.name == "" || r.Rename != g.name) {
			continue
		}
		if err := r.tellable(g); err != nil {
			return false, "", err
		}
		return r.exceeds(g), r.sentence() + r.renamed(), nil
	}
	return false, "", fmt.Errorf("condition %q: neither side has %q", g.text, g.name)
}

// tellable returns an error if a row is not testable.
func (r *Row) tellable(g Gate) error {
	switch {
	case r.P == nil:
		return fmt.Errorf("condition %q: there are too few samples: %s", g.text, r.sentence())
	case r.Unknown != "":
		return fmt.Errorf("condition %q is undecided: %s", g.text, r.Unknown)
	}
	return nil
}

// regressed looks for a regression. That is a longer step by the interval of its mean or
// median, a slower tail, or more of what happens in few steps. It is also an operation,
// kernel or call with that status.
func (c *Comparison) regressed() (bool, string) {
	least := Gate{limit: 100 * sameShare, unit: "%"}
	for _, name := range []string{wall, wallP50} {
		if r := c.summary(name); r.Significant && r.exceeds(least) {
			return true, c.headline() + ": " + summaryTitles[name] + " " + r.sentence()
		}
	}
	if said := c.fewSteps(); len(said) > 0 {
		return true, c.headline() + ": " + said[0]
	}
	for _, r := range slices.Concat(rowsOf(c.Operations), rowsOf(c.Kernels), rowsOf(c.API)) {
		if r.Status == Regression {
			return true, r.Name + ": " + r.sentence()
		}
	}
	return false, "no evidence that a step takes more than " + report.Percent(sameShare) + " longer: wall " + c.summary(wall).sentence()
}

// exceeds reports whether a row has grown beyond a limit.
func (r *Row) exceeds(g Gate) bool {
	if !r.Significant || r.CI == nil {
		return false
	}
	limit := g.limit
	if g.unit == "%" {
		if r.Baseline == nil {
			return r.CI[0] > 0 // relative to nothing, any growth exceeds any percentage
		}
		limit *= *r.Baseline / 100
	}
	return r.CI[0] > limit
}
