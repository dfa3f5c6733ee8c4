package command

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/cli"
)

// Verdict says whether the host holds the GPUs of a run back.
var Verdict = manual("verdict", cli.Command{
	Status:  "; with --exit-code 0 for NO, 1 for YES (LOW LOAD, too), 3 for INCONCLUSIVE; with --fail-worse 4 if the run is worse than those before it",
	Foreign: trtllmFlags,
	Flags:   slices.Concat(verdictFlags, outputFlags("verdict"), historyFlags, isolateFlags, metricsFlags, selectFlags),
	Run:     planned("verdict", planVerdict),
})

var verdictFlags = []cli.Flag{
	junitFlag,
	reportFlag,
	{Name: "exit-code", Usage: "end with status 0 for NO, 1 for YES, 3 for INCONCLUSIVE", Default: false},
	{Name: "threshold", Usage: "set the limit of a metric, as `[SCOPE.]METRIC=VALUE`; SCOPE is aggregate, context or generation (default: all three); repeatable", Default: []string{}},
	{Name: "thresholds", Usage: "read limits from a JSON `FILE`, such as {\"generation\": {\"gpu_idle_ratio\": 0.2}}", File: cli.Reads},
	topFlag,
	strictFlag,
	labelFlag, tagFlag,
	{Name: "trace", Usage: "another `FILE`, same as an argument", Default: []string{}, File: cli.Reads},
}

// deciding is the job of verdict.
type deciding struct {
	*measurement
	limits  verdict.Thresholds
	history *history
}

// planVerdict plans to decide. Errors in thresholds and history are reported before the
// trace is read, which takes longest.
func planVerdict(p *Plan) (*deciding, error) {
	d := &deciding{measurement: planMeasurement(p, p.Files)}
	d.aimed()
	var err error
	if d.limits, err = thresholdsOf(p); err != nil {
		return nil, err
	}
	d.history, err = historyOf(p)
	return d, err
}

// report measures the input and decides.
func (d *deciding) report() (*verdict.Report, error) {
	result, err := d.result()
	if err != nil {
		return nil, err
	}
	r := verdict.Decide(result, d.limits)
	aimed, err := d.point(result)
	if err != nil {
		return nil, err
	}
	if aimed {
		r = verdict.Decide(result, d.limits)
	}
	r.History = d.history.compare(result)
	return r, nil
}

// run writes the report.
func (d *deciding) run() (int, error) {
	r, err := d.report()
	if err != nil {
		return 0, err
	}
	d.out.tell(r.Warnings)
	doc := r.Document()
	about(doc, "Input: ", r.Of, r.Ranks())
	if d.closeups != nil {
		steps := d.closeups.Close()
		steps.Document(doc.SectionAfter(verdict.StepsSection, stepsInDetail), timeline.Palette(steps))
	}
	if !r.LowOnLoad() { // no Python line is to blame
		goOn(doc, &r.Handoff, "gaps trace.sqlite")
	}
	if err := d.out.analysis(r, doc, nil); err != nil {
		return 0, err
	}
	if err := d.out.tests(r.Tests()); err != nil {
		return 0, err
	}
	switch {
	case d.Bool("fail-worse") && r.History.Worse:
		return statusWorse, nil
	case d.Bool("exit-code"):
		return verdict.ExitCode(r.Verdict), nil
	}
	return 0, nil
}

// thresholdsOf returns the default thresholds, changed by --thresholds and then by
// --threshold. A threshold given twice is an error: which of two values a script means
// must not be guessed.
func thresholdsOf(p *Plan) (verdict.Thresholds, error) {
	t := verdict.Defaults()
	if path := p.String("thresholds"); path != "" {
		read := func(r io.Reader) (any, error) { return nil, t.Read(r) }
		if _, err := readFile(p, path, read, notThis(path, `--thresholds takes JSON such as {"generation": {"gpu_idle_ratio": 0.2}}`)); err != nil {
			return t, err
		}
	}
	given := map[string]bool{}
	for _, setting := range p.Strings("threshold") {
		name, _, _ := strings.Cut(setting, "=")
		if given[name] {
			return t, cli.Misuse("--threshold "+name+" is given twice", "give each threshold once")
		}
		given[name] = true
		if err := setThreshold(&t, setting); err != nil {
			return t, err
		}
	}
	return t, t.Check()
}

// setThreshold applies one [SCOPE.]METRIC=VALUE. A value is a ratio from 0 to 1, or a
// percentage; without a scope it is set in all three.
func setThreshold(t *verdict.Thresholds, setting string) error {
	refused := func(what, advice string) error {
		return cli.Misuse("--threshold "+setting+": "+what, advice)
	}
	name, text, _ := strings.Cut(setting, "=")
	number, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return refused("want METRIC=VALUE with a share between 0 and 1, or with a percentage",
			"for example --threshold generation.gpu_idle_ratio=0.2, or =20%")
	}
	scopes := []*verdict.Limits{&t.Aggregate, &t.Context, &t.Generation}
	if scope, metric, scoped := strings.Cut(name, "."); scoped {
		limits := t.Scope(scope)
		if limits == nil {
			return refused("unknown scope "+scope, "scopes are aggregate, context and generation")
		}
		scopes, name = []*verdict.Limits{limits}, metric
	}
	for _, l := range scopes {
		limit := l.Limit(name)
		if limit == nil {
			return refused("no threshold for "+name, "metrics with a threshold: "+strings.Join(verdict.WithThreshold(), ", "))
		}
		*limit = value
	}
	return nil
}
