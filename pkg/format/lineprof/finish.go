package lineprof

import (
	"cmp"
	"fmt"

	"github.com/hostbound/hostbound/pkg/report"
)

// finish ends the text and returns its profile, nil if it contains none.
func (t *textReader) finish() *Profile {
	t.end()
	if !t.found {
		return nil
	}
	p := t.profile
	p.Runs = max(1, p.Runs)
	t.addSums()
	if t.timers > 0 && t.timers == len(p.Functions) {
		p.Format = Timer
	}
	p.Unit = cmp.Or(p.Unit, t.unit)
	t.warnAll()
	return p
}

// addSums adds functions that only the summaries have, and the names of tables that
// lost theirs.
func (t *textReader) addSums() {
	type place struct {
		path string
		line int
		run  int
	}
	p := t.profile
	at := map[place]*Function{}
	for _, f := range p.Functions {
		at[place{f.path, f.Line, f.Run}] = f
	}
	for _, s := range t.sums {
		run := max(0, s.run-1)
		if f := at[place{s.path, s.line, run}]; f != nil {
			f.Name = cmp.Or(f.Name, s.name)
			continue
		}
		f := &Function{Name: s.name, path: s.path, File: Reduce(s.path), Line: s.line, Run: run, Ns: roundNs(s.seconds * 1e9), SelfNs: -1, Calls: -1}
		at[place{s.path, s.line, run}] = f
		p.Functions = append(p.Functions, f)
	}
}

// warnAll warns of what was inferred, left out or contradictory: once per kind, with
// the number and the first place.
func (t *textReader) warnAll() {
	p := t.profile
	if len(t.inferred) > 0 {
		p.UnitInferred = true
		p.warn("no Timer unit in it: %g s, by which times agree with their shares of the totals", t.inferred[len(t.inferred)-1])
	}
	if p.Unit == 0 && p.Total() == 0 && len(p.Functions) > t.timers {
		p.warn("no Timer unit in it and nothing to infer it from: times are not known")
	}
	if t.cut > 0 || t.ahead.total >= 0 || t.ahead.named {
		p.warn("it ends in the middle of a table: the end is missing")
	}
	if t.short > 0 {
		p.warn("%s cut or edited, the first of %s", report.Counted(t.short, "table"), t.firstShort)
	}
	if t.contradicting > 0 {
		p.warn("columns of %s contradict each other, the first about line %d: damaged or edited", report.Counted(t.contradicting, "line"), t.firstContradicting)
	}
	if t.negative > 0 {
		p.warn("negative times in %s, which count as 0: the clock went back", report.Counted(t.negative, "line"))
	}
	if t.huge > 0 {
		p.warn("more than 73 years in %s, which count as that", report.Counted(t.huge, "line"))
	}
	if t.many > 0 {
		p.warn("more than %.1e hits in %s, which count as that", float64(most), report.Counted(t.many, "line"))
	}
	if p.Runs > 1 {
		p.warn("it holds %d runs one after another", p.Runs)
	}
}

// warn adds a warning, a sentence without a full stop.
func (p *Profile) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}
