package gap

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
)

// whys shows why host threads were stalled, and what the recording lacks to tell.
func (i *Idle) whys(s *report.Section) {
	type row struct {
		cause string
		Why
	}
	var rows []row
	known := false
	for _, c := range i.Causes {
		for _, w := range c.Why {
			known = known || w.Why != idle.Unknown.String()
			if w.Us >= minShare*i.TotalUs {
				rows = append(rows, row{c.Cause, w})
			}
		}
	}
	if known && len(rows) > 0 {
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.Ns, a.Ns) })
		t := s.Table("What the launching threads were doing while the GPUs were idle",
			report.Columns("cause: names, state: names, per step: duration adds 1, share: ratio adds")...)
		t.Top = maxRows
		for _, r := range rows {
			t.Row(report.Str(r.cause), report.Str(r.Why.Why), report.Opt(perStep(r.Us, i.Steps)), report.Num(r.Us/i.TotalUs))
		}
	}
	i.holders(s)
	i.Running.table(s, i.Steps)
	i.pythonTable(s)
	i.besideSections(s)
	if len(i.Unrecorded) == 0 {
		return
	}
	var what []string
	for _, u := range i.Unrecorded {
		if u.Option != "" {
			u.What += " (" + u.Option + ")"
		}
		what = append(what, u.What)
	}
	if i.Record == "" {
		s.Say("Not recorded by PyTorch's profiler: %s. Nsight Systems records these. If the trace has Python functions, %s shows which lines launching threads are on.",
			strings.Join(what, ", "), report.Command("--python"))
		return
	}
	with := "record with Nsight Systems"
	if i.Record == report.ROCm {
		with = report.ROCmName
	}
	s.Say("Not recorded: %s. To see why launching threads stall, %s:", strings.Join(what, ", "), with)
	s.Code(i.Record)
}

// holders shows who held the interpreter lock while launching threads waited for it.
func (i *Idle) holders(s *report.Section) {
	for _, c := range i.Causes {
		if len(c.Holders) == 0 || c.Holders[0].Thread == nil {
			continue
		}
		t := s.Table("Who held the GIL",
			report.Columns("rank: names, thread: names, doing: names, why: names 1, per step: duration adds 2, share: ratio adds")...)
		t.Top = maxRows
		for _, h := range c.Holders {
			rank, thread := report.Label("unknown"), report.Label("unknown")
			if h.Thread != nil {
				rank, thread = report.Str(strconv.Itoa(int(*h.Rank))), report.Str(strconv.FormatInt(*h.Thread, 10))
			}
			t.Row(rank, thread, report.Str(cmp.Or(h.Path, h.Doing)), report.Str(h.Why), report.Opt(perStep(h.Us, i.Steps)), report.Num(ratio(h.Ns, c.Ns)))
		}
	}
}
