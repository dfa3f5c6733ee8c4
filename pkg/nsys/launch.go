package nsys

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hostbound/hostbound/pkg/spill"
)

// joinLaunches gives each track the API calls of its process, by correlation.
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

// together calls fn with 0 to n-1, as many at a time as there are processors, and
// returns one of the errors.
func together(n int, fn func(k int) error) error {
	workers := min(n, runtime.GOMAXPROCS(0), maxLoaders)
	errs := make([]error, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < n && errs[w] == nil; k = int(next.Add(1)) - 1 {
				errs[w] = fn(k)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
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
