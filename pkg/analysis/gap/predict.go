package gap

import (
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Predict reads the stream to its end and returns whatif's table, with a row for each finding
// that has a gain. Findings and gains are those of Compute, except that Compute replays only a
// sample of a large run. The returned trace lives in the store, which must stay open.
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
	if err == nil && all == nil { // no facts, so nothing was replayed
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
