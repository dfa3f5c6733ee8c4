package nsys

import (
	"maps"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// found is what reading tables finds beside their rows: by one loader, and put together by
// its report.
type found struct {
	unusable map[string]int64 // rows without usable times, by table
	domains  map[domainKey]domainName
	apiNames map[int64]bool // the strings that name API calls

	untimed  int64 // whole-graph rows without times
	zeros    int64 // rows of the GPU from 0 to 0
	nameless int64 // calls of the system's libraries, without a name
	noCalls  int64 // rows among the API calls that are neither calls nor stacks
	replayed int64 // GPU rows that a graph replay ran
	eager    int64 // kernels that none ran
	work     work

	trackFacts  []trackFacts            // by number of the track
	threadFacts []threadFacts           // by number of the thread
	profiler    []profilerCall          // of a report in order of start
	dropped     [][event.MaxKinds]int64 // rows about host threads that nobody wants, by number of the process
}

func newFound() found {
	return found{unusable: map[string]int64{}, domains: map[domainKey]domainName{}, apiNames: map[int64]bool{}}
}

// add adds what another loader found.
func (f *found) add(o *found) {
	for table, n := range o.unusable {
		f.unusable[table] += n
	}
	for key, d := range o.domains {
		if old, ok := f.domains[key]; !ok || d.row < old.row {
			f.domains[key] = d
		}
	}
	maps.Copy(f.apiNames, o.apiNames)
	for _, n := range []struct{ to, from *int64 }{
		{&f.untimed, &o.untimed}, {&f.zeros, &o.zeros}, {&f.nameless, &o.nameless}, {&f.noCalls, &o.noCalls},
		{&f.replayed, &o.replayed}, {&f.eager, &o.eager},
	} {
		*n.to += *n.from
	}
	f.work.add(o.work)
	for n := range o.trackFacts {
		f.trackFacts = grown(f.trackFacts, int32(n), noTrackFacts)
		to, from := &f.trackFacts[n], &o.trackFacts[n]
		to.Join(&from.Tally)
		to.latest = max(to.latest, from.latest)
	}
	for n := range o.threadFacts {
		f.threadFacts = grown(f.threadFacts, int32(n), noThreadFacts)
		f.threadFacts[n].Join(&o.threadFacts[n].Tally)
		f.threadFacts[n].starts.Join(o.threadFacts[n].starts)
	}
	f.profiler = append(f.profiler, o.profiler...)
	for n := range o.dropped {
		f.dropped = grown(f.dropped, int32(n), [event.MaxKinds]int64{})
		for kind, rows := range o.dropped[n] {
			f.dropped[n][kind] += rows
		}
	}
}
