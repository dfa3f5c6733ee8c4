package replay

import (
	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// clocks aligns the rows of several reports to one clock, as package collective does, so
// that collectives match: session starts of different hosts are milliseconds apart.
type clocks struct {
	lanes []collective.Lane
	of    []int32 // the process of each lane
	ahead []int64 // by process: how far its clock is ahead of the first one's, ns
}

// collective records a collective if there are several reports.
func (t *Trace) collective(b *event.Batch, i int, process int32, name int64) {
	if len(t.header.Reports) < 2 || b.End.Values[i] <= b.Start.Values[i] {
		return
	}
	device, _ := b.Device.Get(i)
	rank, k := t.processes[process], len(t.clocks.lanes)-1
	for k >= 0 && (t.clocks.of[k] != process || t.clocks.lanes[k].Device != device) {
		k--
	}
	if k < 0 {
		k = len(t.clocks.lanes)
		lane := collective.NewLane(t.header, rank, device, collective.NewLog(t.store), nil, func(n int32) string { return t.names.all[n].text })
		t.clocks.lanes, t.clocks.of = append(t.clocks.lanes, lane), append(t.clocks.of, process)
	}
	number := int32(-1)
	if b.Columns.Has(event.ColStep) && b.Step.Valid.Get(i) {
		number = int32(b.Step.Values[i])
	}
	t.clocks.lanes[k].Log.Collective(collective.Collective{
		Step: number, Name: int32(name), Allreduce: b.Class.Values[i] == event.Allreduce, Start: b.Start.Values[i], End: b.End.Values[i],
	})
}

// align moves all rows to the clock of the first report of their run. Drift within a run
// remains.
func (t *Trace) align() error {
	t.clocks.ahead = make([]int64, len(t.processes))
	if len(t.clocks.lanes) < 2 {
		return nil
	}
	for _, l := range t.clocks.lanes {
		l.Log.Seal()
	}
	m := collective.New(t.clocks.lanes)
	for k, process := range t.clocks.of {
		if c, _ := m.Clock(k); max(c.Offset, -c.Offset) > jitter {
			t.clocks.ahead[process] = c.Offset
		}
	}
	for k, run := range t.runs {
		if d := t.clocks.ahead[t.stretches[run.Tag]]; d != 0 {
			moved, err := earlier(t.store, t.writer, run, d)
			if err != nil {
				return err
			}
			t.runs[k] = moved
		}
	}
	for _, rows := range [][]stepRow{t.steps, t.windows} {
		for k := range rows {
			rows[k].start -= t.clocks.ahead[rows[k].process]
			rows[k].end -= t.clocks.ahead[rows[k].process]
		}
	}
	return nil
}

// earlier returns a copy of a run with all times earlier by the given ns.
func earlier(store *spill.Store, w *spill.Writer, run *spill.Run, by int64) (*spill.Run, error) {
	err := store.Scan([]*spill.Run{run}, spill.All, run.First, run.Last, func(rows spill.Rows) error {
		for i := range rows[spill.Key] {
			rows[spill.Key][i] -= by
			rows[spill.Then][i] -= by
			if rows[colLaunch][i] != spill.None {
				rows[colLaunch][i] -= by
			}
		}
		return w.Write(rows)
	})
	if err != nil {
		return nil, err
	}
	return w.End(run.Order, run.Tag)
}
