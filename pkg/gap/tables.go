package gap

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/table"
)

// TableVersion is the version of the schemas of the tables.
const TableVersion = 1

// Table returns one of Reports as a table, whose schema has its name.
func (rep *Report) Table(part string) (*table.Table, error) {
	switch part {
	case "idle":
		return rep.idleTable(), nil
	case "gaps":
		return rep.gapTable(), nil
	case "graph":
		return rep.graphTable(), nil
	case "pattern":
		return rep.patternTable(), nil
	case "straggler":
		return rep.stragglerTable(), nil
	case "slack":
		return rep.slackTable(), nil
	}
	return nil, fmt.Errorf("no report is called %q", part)
}

// fields makes fields of names and types that take turns.
func fields(list ...any) []table.Field {
	var all []table.Field
	for i := 0; i < len(list); i += 2 {
		all = append(all, table.Field{Name: list[i].(string), Type: list[i+1].(table.Type)})
	}
	return all
}

// orNull is nil for "".
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// idleTable has a row for each cause in the window (scope "window"), in the steps
// of each phase (the phase), and in each step ("step"), and one for each site of a
// cause in the window ("site").
func (rep *Report) idleTable() *table.Table {
	t := table.New("idle", TableVersion, fields(
		"scope", table.Text, "rank", table.Int, "step", table.Int, "cause", table.Text, "ns", table.Int, "us", table.Float,
		"share", table.Float, "us_per_step", table.Float, "path", table.Text, "source", table.Text, "site", table.Text)...)
	add := func(scope string, rank, step any, causes []Cause) {
		for _, c := range causes {
			t.Append(scope, rank, step, c.Cause, c.Ns, c.Us, c.Share, c.UsPerStep, orNull(c.Path), orNull(c.Source), nil)
		}
	}
	add("window", nil, nil, rep.Idle.Causes)
	for _, p := range rep.Idle.Phases {
		add(p.Phase, nil, nil, p.Causes)
	}
	for _, s := range rep.Idle.PerStep {
		add("step", s.Rank, s.Step, s.Causes)
	}
	for _, c := range rep.Idle.Causes {
		for _, s := range c.Sites {
			t.Append("site", nil, nil, c.Cause, s.Ns, s.Us, s.Us/rep.Idle.TotalUs, perStep(s.Us, rep.Idle.Steps), orNull(s.Path), orNull(s.Source), orNull(s.Site))
		}
	}
	t.Meta["window"] = rep.Idle.Window
	return t
}

// gapTable has a row for each bucket and each of the longest gaps.
func (rep *Report) gapTable() *table.Table {
	t := table.New("gaps", TableVersion, fields(
		"kind", table.Text, "lower_us", table.Float, "upper_us", table.Float, "count", table.Int, "total_us", table.Float,
		"share", table.Float, "source", table.Text, "gap_us", table.Float, "previous", table.Text, "next", table.Text,
		"rank", table.Int, "device", table.Int, "stream", table.Int, "step", table.Int, "start", table.Int,
		"call", table.Text, "range", table.Text, "path", table.Text, "idle_us", table.Float, "cause", table.Text)...)
	for _, b := range rep.Gaps.Buckets {
		t.Append("bucket", b.LowerUs, b.UpperUs, b.Count, b.TotalUs, b.Share, b.Source,
			nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	}
	for _, g := range rep.Gaps.Top {
		cause := ""
		if len(g.Causes) > 0 {
			cause = g.Causes[0].Cause
		}
		t.Append("gap", nil, nil, nil, nil, nil, nil, g.GapUs, g.Previous, g.Next, g.Rank, g.Device, g.Stream, g.Step, g.StartNs,
			orNull(g.Call), orNull(g.Range), orNull(g.Path), g.IdleUs, orNull(cause))
	}
	t.Meta["dominant"] = rep.Gaps.Dominant
	return t
}

// graphTable has a row for each total, each rank whose recording is partial, and
// each kernel that was launched by itself.
func (rep *Report) graphTable() *table.Table {
	g := &rep.Graph
	t := table.New("graph", TableVersion, fields(
		"kind", table.Text, "name", table.Text, "rank", table.Int, "count", table.Int, "share", table.Float, "class", table.Text,
		"range", table.Text, "path", table.Text, "us", table.Float, "per_step", table.Float, "generation", table.Int,
		"capturable", table.Bool)...)
	total := func(name string, n int64, share any, perStep *float64) {
		t.Append("total", name, nil, n, share, nil, nil, nil, nil, perStep, nil, nil)
	}
	total("kernels", g.Kernels, nil, nil)
	total("replayed", g.Replayed, g.Coverage, nil)
	total("launches", g.GraphLaunches, nil, g.GraphLaunchesPerStep)
	total("recorded", g.Recorded, nil, nil)
	total("whole", g.Whole, nil, nil)
	for _, p := range g.Partial {
		t.Append("partial", nil, p.Rank, p.Recorded, ratio(p.Recorded, p.GraphLaunches), nil, nil, nil, nil, nil, nil, nil)
	}
	for _, e := range g.Eager {
		t.Append("eager", e.Name, nil, e.Count, ratio(e.Count, g.Kernels), orNull(e.Class), orNull(e.Range), orNull(e.Path), e.Us,
			e.PerStep, e.Generation, e.Capturable)
	}
	if g.Recapture != "" {
		t.Meta["recapture"] = g.Recapture
	}
	return t
}

// patternTable has a row for each kernel of the repeated unit.
func (rep *Report) patternTable() *table.Table {
	t := table.New("pattern", TableVersion, fields(
		"index", table.Int, "name", table.Text, "class", table.Text, "variants", table.Int, "gap_us", table.Float, "us", table.Float,
		"repetitions", table.Int, "gap_us_per_step", table.Float, "group", table.Text, "group_gap_us", table.Float,
		"priority", table.Text)...)
	p := rep.Pattern
	if p == nil {
		return t
	}
	for _, g := range p.Groups {
		for _, k := range p.Kernels[g.First : g.Last+1] {
			t.Append(k.Index, k.Name, k.Class, k.Variants, k.GapUs, k.Us, p.Repetitions, k.GapUs*float64(p.Repetitions),
				g.Group, g.GapUs, g.Priority)
		}
	}
	t.Meta["sentence"] = p.Sentence
	return t
}

// stragglerTable has a row for each rank, and for what the straggler spends more on
// than the others.
func (rep *Report) stragglerTable() *table.Table {
	t := table.New("straggler", TableVersion, fields(
		"kind", table.Text, "rank", table.Int, "straggler", table.Bool, "share_of_steps", table.Float, "late_us_per_step", table.Float,
		"wait_us_per_step", table.Float, "transfer_us_per_step", table.Float, "offset_us", table.Float, "name", table.Text,
		"us_per_step", table.Float, "others_us_per_step", table.Float, "excess_us_per_step", table.Float)...)
	s := rep.Straggler
	if s == nil {
		return t
	}
	for _, r := range s.Ranks {
		is := s.Rank != nil && *s.Rank == r.Rank
		t.Append("rank", r.Rank, is, r.ShareOfSteps, r.LateUs, r.WaitUs, r.TransferUs, r.OffsetUs, nil, nil, nil, nil)
	}
	for _, w := range s.Why {
		t.Append(w.What, s.Rank, nil, nil, nil, nil, nil, nil, w.Name, w.UsStep, w.OthersUs, w.ExcessUs)
	}
	t.Meta["kind"] = s.Kind
	t.Meta["clock_error_us"] = fmt.Sprint(s.ClockErrorUs)
	return t
}

// slackTable has a row for the window, without rank and step, and one for each step
// where these were asked for.
func (rep *Report) slackTable() *table.Table {
	t := table.New("slack", TableVersion, fields(
		"rank", table.Int, "step", table.Int, "launches", table.Int, "p50_us", table.Float, "p10_us", table.Float,
		"min_us", table.Float, "near_zero_share", table.Float, "trend_us_per_step", table.Float)...)
	s := rep.Slack
	if s == nil {
		return t
	}
	t.Append(nil, nil, s.Launches, s.P50Us, s.P10Us, s.MinUs, s.NearZero, s.TrendUs)
	for _, k := range s.Steps {
		t.Append(k.Rank, k.Step, k.Launches, k.P50Us, k.P10Us, k.MinUs, k.NearZero, nil)
	}
	return t
}
