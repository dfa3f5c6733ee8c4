package nsys

import (
	"maps"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// found is what reading tables yields beside rows. Each loader has one; the report adds
// them up.
type found struct {
	unusable map[string]int64 // rows without usable times, by table
	domains  map[domainKey]domainName
	apiNames map[int64]bool // strings that name API calls

	untimed  int64 // whole-graph rows without times
	zeros    int64 // GPU rows from time 0 to 0
	nameless int64 // OS library calls without a name
	noCalls  int64 // rows in the API call table that are neither calls nor stacks
	replayed int64 // GPU rows run by a graph replay
	eager    int64 // kernels not run by one
	work     work

	trackFacts  []trackFacts            // by number of the track
	threadFacts []threadFacts           // by number of the thread
	profiler    []profilerCall          // in the report in order of start
	dropped     [][event.MaxKinds]int64 // unwanted rows about host threads, by number of the process
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
