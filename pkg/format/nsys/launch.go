package nsys

import (
	"runtime"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// joinLaunches gives each track an index of the API calls of its process, by
// correlation.
func (r *report) joinLaunches() error {
	calls := map[process][]*spill.Run{}
	for n := range r.runs {
		if of := r.runs[n].calls; len(of) > 0 {
			p := r.processes[n]
			calls[p] = append(calls[p], of...)
		}
	}
	var of []process
	for _, t := range r.tracks {
		if len(calls[t.process]) > 0 && !slices.Contains(of, t.process) {
			of = append(of, t.process)
		}
	}
	indexes := make([]*spill.Index, len(of))
	err := together(len(of), func(k int) (err error) {
		indexes[k], err = spill.NewIndex(r.store, calls[of[k]], r.limits.fanIn)
		return err
	})
	for _, t := range r.tracks {
		if k := slices.Index(of, t.process); k >= 0 {
			t.calls = indexes[k]
		}
	}
	return err
}

// together calls fn with 0 to n-1, as many calls at a time as there are processors, and
// returns the error of the lowest number.
func together(n int, fn func(k int) error) error {
	return event.Beside(n, min(runtime.GOMAXPROCS(0), maxLoaders), fn)
}

// call is an API call that launched a GPU row: times in ns on the report's clock and
// the number of its thread.
type call struct{ start, end, thread int64 }

// launch finds the API call that launched a row of the track: the first to start of
// those with the row's correlation. Rows of a track are in about the order of their
// launches, so the search starts where the last one ended.
func (t *track) launch(correlation int64) (c call, ok bool, err error) {
	if t.calls == nil || correlation == none {
		return call{}, false, nil
	}
	if correlation == t.lastID { // like all rows of a graph replay
		return t.lastCall, t.lastOK, nil
	}
	rows, i, ok, err := t.calls.Find(correlation, &t.recent)
	if err != nil {
		return call{}, false, err
	}
	t.lastID, t.lastOK, t.lastCall = correlation, ok, call{}
	if ok {
		t.lastCall = call{-rows[spill.Then][i], rows[callEnd][i], rows[callThread][i]}
	}
	return t.lastCall, ok, nil
}

// setLaunches sets the launch columns for those of rows i to j that are of the wanted
// class. The rows are kernels; they go to the batch from its next row on.
func (e *emitter) setLaunches(rows spill.Rows, i, j int) error {
	for k, class := range rows[colClass][i:j] {
		if event.Class(class) != e.launched {
			continue
		}
		at := e.at + k
		if err := e.setLaunch(e.r.tracks[rows[colOwner][i+k]], rows[colCorrelation][i+k], at, at+1); err != nil {
			return err
		}
	}
	return nil
}

// setLaunch sets the launch columns of rows from to to of the batch. All are of one
// track and launch.
func (e *emitter) setLaunch(t *track, correlation int64, from, to int) error {
	if e.columns&launchColumns == 0 {
		return nil
	}
	c, ok, err := t.launch(correlation)
	if !ok || err != nil {
		return err
	}
	b := e.batch
	if e.columns.Has(event.ColLaunchStart) {
		b.LaunchStart.Fill(from, to, c.start+e.offset)
	}
	if e.columns.Has(event.ColLaunchEnd) {
		b.LaunchEnd.Fill(from, to, c.end+e.offset)
	}
	if tid := e.r.threads[c.thread].tid; tid != none && e.columns.Has(event.ColLaunchThread) {
		b.LaunchThread.Fill(from, to, tid)
	}
	return nil
}

// launchColumns describe the call that launched a row.
const launchColumns event.Set = 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread
