package gap

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// TableVersion is the version of the schemas of the tables.
const TableVersion = 1

// Table returns one of Reports as a table; an unknown name is an error.
func (rep *Report) Table(part string) (*table.Table, error) {
	tables := map[string]func() *table.Table{
		"idle": rep.idleTable, "gaps": rep.gapTable, "graph": rep.graphTable, "pattern": rep.patternTable, "straggler": rep.stragglerTable,
	}
	if tables[part] == nil {
		return nil, fmt.Errorf("no report is called %q", part)
	}
	return tables[part](), nil
}

// idleTable has a row for each cause in the window (scope "window"), in the steps of each
// phase (scope is the phase), and in each step ("step"). It also has a row for each site of a
// cause in the window ("site").
func (rep *Report) idleTable() *table.Table {
	t := table.New("idle_rows", TableVersion, table.Fields("scope text, rank int, step int, cause text, ns int, us float, share float, us_per_step float, path text, source text, "+
		"site text")...)
	add := func(scope string, rank, step any, causes []Cause) {
		for _, c := range causes {
			t.Append(scope, rank, step, c.Cause, c.Ns, c.Us, c.Share, c.UsPerStep, table.OrNull(c.Path), table.OrNull(c.Source), nil)
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
			t.Append("site", nil, nil, c.Cause, s.Ns, s.Us, s.Us/rep.Idle.TotalUs, perStep(s.Us, rep.Idle.Steps), table.OrNull(s.Path), table.OrNull(s.Source), table.OrNull(s.Site))
		}
	}
	t.Meta["window"] = rep.Idle.Window
	return t
}

// gapTable has a row for each bucket and each of the longest gaps.
func (rep *Report) gapTable() *table.Table {
	t := table.New("gap_rows", TableVersion, table.Fields("kind text, lower_us float, upper_us float, count int, total_us float, share float, source text, gap_us float, "+
		"previous text, next text, rank int, device int, stream int, step int, start int, call text, range text, path text, "+
		"idle_us float, cause text")...)
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
			table.OrNull(g.Call), table.OrNull(g.Range), table.OrNull(g.Path), g.IdleUs, table.OrNull(cause))
	}
	t.Meta["dominant"] = rep.Gaps.Dominant
	return t
}

// graphTable has a row for each total, each rank with a partial recording, and each kernel
// that was launched one by one.
func (rep *Report) graphTable() *table.Table {
	g := &rep.Graph
	t := table.New("graph_rows", TableVersion, table.Fields("kind text, name text, rank int, count int, share float, class text, range text, path text, us float, per_step float, "+
		"generation int, capturable bool")...)
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
		t.Append("eager", e.Name, nil, e.Count, ratio(e.Count, g.Kernels), table.OrNull(e.Class), table.OrNull(e.Range), table.OrNull(e.Path), e.Us,
			e.PerStep, e.Generation, e.Capturable)
	}
	if g.Recapture != "" {
		t.Meta["recapture"] = g.Recapture
	}
	return t
}

// patternTable has a row for each kernel of the repeated unit.
func (rep *Report) patternTable() *table.Table {
	t := table.New("pattern_rows", TableVersion, table.Fields("index int, name text, class text, variants int, gap_us float, us float, repetitions int, gap_us_per_step float, "+
		"group text, group_gap_us float, priority text")...)
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

// stragglerTable has a row for each rank, and one for each thing that the straggler spends
// more time on than the others.
func (rep *Report) stragglerTable() *table.Table {
	t := table.New("straggler_rows", TableVersion, table.Fields("kind text, rank int, straggler bool, share_of_steps float, late_us_per_step float, wait_us_per_step float, "+
		"transfer_us_per_step float, offset_us float, name text, us_per_step float, others_us_per_step float, "+
		"excess_us_per_step float")...)
	s := rep.Straggler
	if s == nil {
		return t
	}
	for _, r := range s.Ranks {
		is := s.Rank != nil && *s.Rank == r.Rank || slices.Contains(s.Together, r.Rank)
		t.Append("rank", r.Rank, is, r.ShareOfSteps, r.LateUs, r.WaitUs, r.TransferUs, r.OffsetUs, nil, nil, nil, nil)
	}
	for _, w := range s.Why {
		t.Append(w.What, s.Rank, nil, nil, nil, nil, nil, nil, w.Name, w.UsStep, w.OthersUs, w.ExcessUs)
	}
	t.Meta["kind"] = s.Kind
	t.Meta["clock_error_us"] = fmt.Sprint(s.ClockErrorUs)
	return t
}
