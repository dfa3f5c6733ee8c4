package round

import (
	"cmp"
	"fmt"

	"github.com/hostbound/hostbound/pkg/hotspot"
	"github.com/hostbound/hostbound/pkg/stat"
)

// summarise fills in the summary; last is the index of the last kept round.
func (res *Result) summarise(in []Input, profiles []*profile, last int) {
	s := &res.Summary
	s.Rounds = len(in) - 1
	for i := range res.Rounds {
		if res.Rounds[i].Verdict == Improved && res.Rounds[i].kept {
			s.Improved++
		}
	}
	if len(in) > 1 {
		s.Cumulative = cumulative(in, profiles, last)
	}
	s.Benchmark = benchmarkTable(in, res.Rounds)
	s.Changes, s.Failed = res.changes()
	s.Remaining = remaining(in[last].Report)
	s.Recommendations = res.recommend(in[last].Report)
}

// cumulative compares the last kept round with the baseline directly, and returns nil
// if they cannot be compared. Changes of single rounds do not add up, as each is of the
// functions that its two sides share. Times before and after are derived from change
// and percentage of the shared functions, so that they agree.
func cumulative(in []Input, profiles []*profile, last int) *Cumulative {
	all := Round{Name: in[last].Name, Against: &in[0].Name}
	all.compareProfiles(profiles[0], profiles[last])
	if all.ChangePct == nil {
		return nil
	}
	c := &Cumulative{From: in[0].Name, To: in[last].Name, ChangeUs: *all.ChangeUs, ChangePct: *all.ChangePct, PerStep: all.PerStep}
	if *all.ChangePct != 0 {
		c.BeforeUs = 100 * c.ChangeUs / c.ChangePct
	} else {
		c.BeforeUs = in[0].Report.TotalUs
	}
	c.AfterUs = c.BeforeUs + c.ChangeUs
	return c
}

// benchmarkTable compares the baseline with the last kept round that was measured. Each
// metric is of the last kept round that measured it, which is named.
func benchmarkTable(in []Input, rounds []Round) []BenchmarkLine {
	lines := []BenchmarkLine{}
	for _, m := range Metrics {
		base := values(in[0].Bench, m)
		if len(base) == 0 {
			continue
		}
		for i := len(in) - 1; i > 0; i-- {
			final := values(in[i].Bench, m)
			if len(final) == 0 || !rounds[i].kept {
				continue
			}
			l := BenchmarkLine{Metric: m, Baseline: stat.Mean(base), Final: stat.Mean(final), Round: in[i].Name}
			l.ChangePct, l.ChangeCI = changed(base, final)
			lines = append(lines, l)
			break
		}
	}
	return lines
}

// changes returns what was changed and kept, and what was tried and did not pay. A note
// takes precedence over the profile. A round that was kept can have failed attempts,
// too: those in its note.
func (res *Result) changes() (made []Made, failed []Attempt) {
	made, failed = []Made{}, []Attempt{}
	for i := range res.Rounds {
		r := &res.Rounds[i]
		n := cmp.Or(r.Note, &Note{})
		for _, f := range n.Failed { // the baseline is no change, but attempts may have started from it
			failed = append(failed, Attempt{r.Name, f.Change, f.Type, f.Reason})
		}
		t := cmp.Or(r.Target, &Change{})
		m := Made{Round: r.Name, Change: n.Change, File: t.File, Line: t.Line, Type: cmp.Or(n.Type, t.Type), ChangePct: r.ChangePct}
		if n.File != "" {
			m.File, m.Line = n.File, n.Line
		}
		switch {
		case i == 0:
			continue
		case r.kept:
			made = append(made, m)
			continue
		}
		reason := r.Reason
		if len(r.Pitfalls) > 0 {
			reason += "; " + r.Pitfalls[0].Name + ": " + r.Pitfalls[0].Reason
		}
		failed = append(failed, Attempt{r.Name, m.Change, m.Type, reason})
	}
	return made, failed
}

// remaining returns the largest hotspots of a report other than real work, in report
// order.
func remaining(rep *hotspot.Report) []Remaining {
	left := []Remaining{}
	for _, h := range rep.Hotspots {
		if len(left) == maxRemaining {
			break
		}
		if h.Type != hotspot.Compute {
			left = append(left, Remaining{h.Function, h.File, h.Line, string(h.Type), h.TimeUs, h.UsPerStep, h.Share, h.Source})
		}
	}
	return left
}

// recommend returns what to do next.
func (res *Result) recommend(rep *hotspot.Report) []string {
	var out []string
	last := &res.Rounds[len(res.Rounds)-1]
	if last.RollBack {
		out = append(out, fmt.Sprintf("Roll %s back: %s.", last.Name, last.Reason))
	}
	if len(res.Rounds) > 1 && len(res.Summary.Benchmark) == 0 {
		out = append(out, "Benchmark the baseline and the last round without the profiler: only throughput says whether the changes paid.")
	}
	if rep.ProfileNext != "" {
		out = append(out, "Profile what is hidden: "+rep.ProfileNext)
	}
	for _, h := range rep.Hotspots {
		if h.Type == hotspot.Compute || len(h.Options) == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("Next (risk %s): %s at %s:%d in %s: %s", h.Options[0].Risk, h.Type, h.File, h.Line, h.Function, h.Options[0].Description))
		break
	}
	if res.Stop.Reason != nil {
		out = append(out, "Stop here ("+*res.Stop.Reason+"). Record a new trace: the bottleneck may have moved to the GPU.")
	}
	return out
}
