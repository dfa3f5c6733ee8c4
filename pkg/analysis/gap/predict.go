package gap

import (
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Predict reads the stream to its end and says what would help, as whatif's table does, with a row for
// each finding that brings something. Findings are those of Compute, and so is what they bring, but for
// runs of which Compute replays a sample. The trace that was replayed is in the store.
func Predict(src event.Source, store *spill.Store) (*replay.Report, *replay.Trace, error) {
	c := newWatch(src.Header(), Options{FirstOnly: true, Top: -1}, store)
	var all *replay.Report
	c.replay = func(treatments []replay.Scenario, _ bool) (_ *replay.Report, err error) {
		if all, err = c.trace.Table(treatments); err != nil {
			return nil, err
		}
		of, n := *all, len(all.Scenarios)-len(treatments)
		all.Scenarios, of.Scenarios = all.Scenarios[:n:n], all.Scenarios[n:]
		return &of, nil
	}
	c.read(src)
	rep, err := c.finish()
	if err == nil && all == nil { // there are no facts to ask for
		all, err = c.trace.Table(nil)
	}
	if err != nil {
		return nil, nil, err
	}
	rows := 0
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Row != nil && rows < maxPredicted {
			rows++
			f.Row.Change = "treating " + f.Named()
			all.Scenarios = append(all.Scenarios, *f.Row)
		}
	}
	return all, c.trace, nil
}
