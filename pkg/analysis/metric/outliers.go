package metric

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Outliers says which of many runs, or groups of runs, differ from the others, and by which part
// of the step.
type Outliers struct {
	By     string  `json:"by"`      // what is compared: run, label, version, commit, or the key of a tag
	Units  int     `json:"units"`   // how many are compared
	Scope  string  `json:"scope"`   // the phase whose steps are compared, "" if most have no steps
	StepUs float64 `json:"step_us"` // median step over all units
	Spread float64 `json:"spread"`  // half of the units are within this share of StepUs
	// Unknown says why nothing can be told, "" if it can.
	Unknown string    `json:"cannot_tell,omitempty"`
	Found   []Outlier `json:"outliers"` // the most certain first
	// Largest is the one whose step differs most, if none is certain and it counts; else nil.
	Largest *Outlier `json:"largest,omitempty"`
	// Alpha is the expected share of false ones among Found.
	Alpha float64 `json:"alpha"`
}

// Outlier is a run, or group of runs, that differs from the others.
type Outlier struct {
	Name    string  `json:"name"`     // name as in the rows
	Runs    int     `json:"runs"`     // number of runs with that name
	StepUs  float64 `json:"step_us"`  // median step of its runs
	DeltaUs float64 `json:"delta_us"` // StepUs less the median over all units
	Cause   string  `json:"cause"`    // the part of the step that differs most, one of the parts of a step
	CauseUs float64 `json:"cause_us"` // by how much that part differs from its median
	Q       float64 `json:"q"`        // expected share of false ones among outliers at least this certain
}

// part is a part of a step. The parts add up to the step.
type part struct {
	name string
	of   func(v func(metric string) float64) float64 // as a share of the step
}

var parts = []part{
	{"input preparation", func(v func(string) float64) float64 { return v(PrepImpact) }},
	{"launch calls", launching},
	{"other host work", func(v func(string) float64) float64 { return v(GPUIdle) - v(PrepImpact) - launching(v) }},
	{"waits for a rank that its host makes late", func(v func(string) float64) float64 { return v(HostWait) }},
	{"waits for a rank with more GPU work", func(v func(string) float64) float64 { return v(CollectiveWait) - v(HostWait) }},
	{"transfers of collectives", func(v func(string) float64) float64 { return v(Comm)*v(GPUUtilization) - v(CollectiveWait) }},
	{"GPU kernels", func(v func(string) float64) float64 { return v(GPUUtilization) * (1 - v(Comm)) }},
}

// launching returns an upper bound of the launch calls while GPUs are idle. Launch calls that a
// busy GPU hides do not make a step longer.
func launching(v func(string) float64) float64 { return min(v(Launch), v(GPUIdle)-v(PrepImpact)) }

// unit is a run or group of runs that is compared, with the values of its runs for each series.
type unit struct {
	name   string
	runs   int
	values map[Key][]float64
}

// FindOutliers compares the runs in a table of rows with one another. by is "run", or names what
// groups runs: "label", "version", "commit" or the key of a tag.
func FindOutliers(t *table.Table, by string) (*Outliers, error) {
	units, err := unitsOf(t, by)
	if err != nil {
		return nil, err
	}
	o := &Outliers{By: by, Units: len(units), Alpha: outlierAlpha, Found: []Outlier{}}
	for _, phase := range []event.Phase{event.Generation, event.Context, event.Unknown} {
		known := 0
		for _, u := range units {
			if len(u.values[Key{event.Phases[phase], StepP50}]) > 0 {
				known++
			}
		}
		if !stat.MostOf(len(units)-known, len(units)) {
			o.Scope = event.Phases[phase]
			break
		}
	}
	switch {
	case o.Scope == "":
		o.Unknown = "most of them have no steps"
	case len(units) < stat.MinSamples:
		o.Unknown = fmt.Sprintf("%s, %d needed", report.Counted(len(units), by), stat.MinSamples)
	default:
		o.find(units)
	}
	return o, nil
}

// find tests the step and its parts.
func (o *Outliers) find(units []*unit) {
	steps := make([]float64, len(units))
	series := [][]float64{steps}
	for k := range parts {
		x := make([]float64, len(units))
		for i, u := range units {
			steps[i] = u.value(Key{o.Scope, StepP50})
			x[i] = steps[i] * parts[k].of(func(m string) float64 {
				if v := u.value(Key{o.Scope, m}); !math.IsNaN(v) {
					return v
				}
				return 0
			})
		}
		series = append(series, x)
	}
	var p []float64
	medians := make([]float64, len(series))
	for k, x := range series {
		var deviation float64
		var one []float64
		medians[k], deviation, one = stat.Outliers(x)
		if k == 0 {
			o.StepUs, o.Spread = medians[0], deviation/1.4826/medians[0]
		}
		for i := range one { // smaller differences of a step do not count
			if math.Abs(x[i]-medians[k]) < DefaultLeast*medians[0] {
				one[i] = 1
			}
		}
		p = append(p, one...)
	}
	q := stat.BenjaminiHochberg(p)
	for i, u := range units {
		one := Outlier{Name: u.name, Runs: u.runs, StepUs: steps[i], DeltaUs: steps[i] - medians[0], Q: 1}
		for k := range series {
			if v := q[k*len(units)+i]; v < one.Q {
				one.Q = v
			}
		}
		for k := range parts {
			if d := series[k+1][i] - medians[k+1]; math.Abs(d) > math.Abs(one.CauseUs) && (d > 0) == (one.DeltaUs > 0 || math.Abs(one.DeltaUs) < DefaultLeast*medians[0]) {
				one.Cause, one.CauseUs = parts[k].name, d
			}
		}
		if one.Q <= outlierAlpha {
			o.Found = append(o.Found, one)
		} else if d := math.Abs(one.DeltaUs); d >= DefaultLeast*medians[0] && (o.Largest == nil || d > math.Abs(o.Largest.DeltaUs)) {
			o.Largest = &one
		}
	}
	if len(o.Found) > 0 {
		o.Largest = nil
	}
	slices.SortStableFunc(o.Found, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(a.Q, b.Q), cmp.Compare(math.Abs(b.DeltaUs), math.Abs(a.DeltaUs)), strings.Compare(a.Name, b.Name))
	})
}

// value returns the median over the unit's runs, NaN if none has the series.
func (u *unit) value(k Key) float64 {
	x := u.values[k]
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return stat.Quantile(x, 0.5)
}

// unitsOf groups the runs of a table. Runs without a value for by are left out; if none has one,
// that is an error.
func unitsOf(t *table.Table, by string) (all []*unit, err error) {
	runs, err := Read(t)
	if err != nil {
		return nil, err
	}
	at := map[string]*unit{}
	for _, r := range runs {
		name, err := r.calledBy(t, by)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		u := at[name]
		if u == nil {
			u = &unit{name: name, values: map[Key][]float64{}}
			at[name], all = u, append(all, u)
		}
		u.runs++
		for k, v := range r.Values {
			u.values[k] = append(u.values[k], v)
		}
	}
	if len(all) == 0 {
		return nil, &event.Error{Msg: "no run has a " + by, Advice: "metrics --runs NAME=FILE --tag " + by + "=VALUE gives it one"}
	}
	return all, nil
}

// calledBy returns a run's name, label, version, commit or tag, "" for none.
func (r *HistoryRun) calledBy(t *table.Table, by string) (string, error) {
	switch by {
	case "run":
		return r.Name, nil
	case "label", "version", "commit":
		return t.Text(r.row, by), nil
	}
	tags := map[string]string{}
	if text := t.Text(r.row, "tags"); text != "" {
		if err := json.Unmarshal([]byte(text), &tags); err != nil {
			return "", fmt.Errorf("row %d: tags: %w", r.row, err)
		}
	}
	return tags[by], nil
}

// Table returns the outliers as a table, a row each.
func (o *Outliers) Table() *table.Table {
	t := table.New("outlier_rows", 1, table.Fields("name text, runs int, step_us float, delta_us float, cause text, cause_us float, q float")...)
	for _, f := range o.Found {
		t.Append(f.Name, int64(f.Runs), f.StepUs, f.DeltaUs, f.Cause, f.CauseUs, f.Q)
	}
	return t
}

// Document returns the result as a document.
func (o *Outliers) Document() *report.Document {
	d, s := report.New(o.title())
	if o.Unknown != "" {
		return d
	}
	s.Say("A typical step takes %s (%s steps; half of all are within %s of it). At most %s of the names below are expected to be false alarms; differences under %s of a step do not count.",
		report.Micros(o.StepUs), o.Scope, report.Percent(o.Spread), report.Percent(o.Alpha), report.Percent(DefaultLeast))
	if len(o.Found) > 0 {
		t := d.Section("Those that differ").Table("", report.Column{Title: o.By, Kind: report.Names}, report.Column{Title: "step", Right: true}, report.Column{Title: "difference", Right: true},
			report.Column{Title: "largest part"}, report.Column{Title: "its difference", Right: true}, report.Column{Title: "q", Right: true, Minor: 1})
		for _, f := range o.Found {
			t.Row(report.Str(f.Name), report.Str(report.Micros(f.StepUs)), report.Str(signed(f.DeltaUs)+fmt.Sprintf(" (%+.1f %%)", 100*f.DeltaUs/o.StepUs)), report.Str(f.Cause), report.Str(signed(f.CauseUs)), report.Str(report.Digits(f.Q)))
		}
	}
	return d
}

func signed(us float64) string {
	if us > 0 {
		return "+" + report.Micros(us)
	}
	return report.Micros(us)
}

// title says how many differ, and names the most certain one with its cause.
func (o *Outliers) title() report.Text {
	switch {
	case o.Unknown != "":
		return report.Textf("Cannot tell which differ: %s", o.Unknown)
	case o.Largest != nil:
		return report.Textf("None of %s differs for certain; the largest difference is that of %s, %s per step (%+.1f %%)",
			report.Counted(o.Units, o.By), report.Name(o.Largest.Name), signed(o.Largest.DeltaUs), 100*o.Largest.DeltaUs/o.StepUs)
	case len(o.Found) == 0:
		return report.Textf("None of %s differs from the others", report.Counted(o.Units, o.By))
	}
	f := &o.Found[0]
	verb := "differ"
	if len(o.Found) == 1 {
		verb = "differs"
	}
	return report.Textf("%d of %s %s; most significant: %s, %s per step, by %s", len(o.Found), report.Counted(o.Units, o.By), verb, report.Name(f.Name), signed(f.DeltaUs), f.Cause)
}

// Brief returns the short form for programs.
func (o *Outliers) Brief() *report.Brief {
	b := &report.Brief{Answer: o.title().String(), Conclusion: "none"}
	if o.Unknown != "" {
		b.Conclusion, b.CannotTell = "unknown", []string{o.Unknown}
	}
	for i := range o.Found {
		f := &o.Found[i]
		b.Conclusion = "outliers"
		b.Items = append(b.Items, report.BriefItem{ID: report.BriefID("outliers", f.Name), Claim: f.Name + " differs from the others by " + f.Cause, MagnitudeUs: &f.DeltaUs,
			Evidence: fmt.Sprintf("%s per step, %s of it by %s", signed(f.DeltaUs), signed(f.CauseUs), f.Cause), Where: &f.Name})
	}
	return b.Fit()
}
