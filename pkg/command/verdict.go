package command

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/verdict"
)

// VerdictFlags are the flags of verdict.
func VerdictFlags() []Flag {
	return []Flag{
		&StringFlag{Name: "format", Usage: "`FORMAT` of the report: text (Markdown) or json", Value: formatText},
		&StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write to `FILE`"},
		&BoolFlag{Name: "exit-code", Usage: "end with status 0 for NO, 1 for YES, 3 for INCONCLUSIVE"},
		&Strings{Name: "threshold", Usage: "set the threshold of a metric, as `[SCOPE.]METRIC=VALUE`; SCOPE is aggregate, context or generation, without one it is set in all; again for more"},
		&StringFlag{Name: "thresholds", Usage: "read thresholds from a JSON `FILE`, such as {\"generation\": {\"gpu_idle_ratio\": 0.2}}"},
	}
}

// Verdict opens the input, brings it to metric rows and decides.
func (c *Context) Verdict() (*verdict.Report, error) {
	limits, err := c.thresholds()
	if err != nil {
		return nil, err
	}
	result, err := c.Measure()
	if err != nil {
		return nil, err
	}
	return verdict.Decide(result, limits), nil
}

// WriteVerdict writes the report and returns the exit status.
func (c *Context) WriteVerdict(r *verdict.Report) (int, error) {
	var write func(io.Writer) error
	switch format := c.String("format"); format {
	case formatText:
		write = r.WriteText
	case formatJSON:
		write = func(w io.Writer) error { return writeJSON(w, r) }
	default:
		return 0, &UsageError{"unknown format " + format, "--format takes text or json"}
	}
	if err := c.output(write); err != nil {
		return 0, err
	}
	if c.Bool("exit-code") {
		return verdict.ExitCode(r.Verdict), nil
	}
	return 0, nil
}

// thresholds are the defaults, changed by --thresholds and then by --threshold.
func (c *Context) thresholds() (verdict.Thresholds, error) {
	t := verdict.Defaults()
	if path := c.String("thresholds"); path != "" {
		f, err := os.Open(path)
		if err != nil {
			return t, err
		}
		defer f.Close()
		if err := t.Read(f); err != nil {
			return t, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, setting := range c.StringSlice("threshold") {
		if err := setThreshold(&t, setting); err != nil {
			return t, err
		}
	}
	return t, t.Check()
}

// setThreshold carries out one [SCOPE.]METRIC=VALUE.
func setThreshold(t *verdict.Thresholds, setting string) error {
	name, text, _ := strings.Cut(setting, "=")
	number, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return &UsageError{"--threshold " + setting + ": want METRIC=VALUE with a share between 0 and 1, or with a percentage",
			"for example --threshold generation.gpu_idle_ratio=0.2, or =20%"}
	}
	scopes := []*verdict.Limits{&t.Aggregate, &t.Context, &t.Generation}
	if scope, metric, scoped := strings.Cut(name, "."); scoped {
		limits := t.Scope(scope)
		if limits == nil {
			return &UsageError{"--threshold " + setting + ": unknown scope " + scope, "scopes are aggregate, context and generation"}
		}
		scopes, name = []*verdict.Limits{limits}, metric
	}
	for _, l := range scopes {
		limit := l.Limit(name)
		if limit == nil {
			return &UsageError{"--threshold " + setting + ": no threshold for " + name, "metrics with a threshold: " + strings.Join(verdict.WithThreshold(), ", ")}
		}
		*limit = value
	}
	return nil
}
