package nsys

import "github.com/hostbound/hostbound/pkg/spill"

// joinLaunches gives each track the API calls of its process, by correlation.
func (r *report) joinLaunches() error {
	calls := map[process][]*spill.Run{}
	for n := range r.runs {
		p := r.processes[n]
		calls[p] = append(calls[p], r.runs[n].calls...)
	}
	joined := map[process]*spill.Index{}
	for _, t := range r.tracks {
		x, ok := joined[t.process]
		if !ok && len(calls[t.process]) > 0 {
			var err error
			if x, err = spill.NewIndex(r.store, calls[t.process], r.limits.fanIn); err != nil {
				return r.explain(err)
			}
			joined[t.process] = x
		}
		t.calls = x
	}
	return nil
}

// call is an API call that launched a GPU row: times in ns on the report's clock
// and the number of its thread.
type call struct{ start, end, thread int64 }

// launch finds the API call that launched a row of the track: of several with
// its correlation the one that starts first. Rows of a track follow one another
// in about the order of their launches, so the search starts where the last one
// ended.
func (t *track) launch(correlation int64) (c call, ok bool, err error) {
	if t.calls == nil || correlation == none {
		return call{}, false, nil
	}
	if correlation == t.lastID { // as all rows of a graph replay
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
