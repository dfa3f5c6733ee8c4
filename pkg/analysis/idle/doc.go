// Package idle attributes the idle time of GPUs: it splits each nanosecond in which
// a GPU (a pair of rank and device) is idle by its cause and by the site of that,
// and tells idle time within steps from that between them.
//
// # Causes
//
// For each idle gap of a GPU take the activity that ends it, in the order of the
// stream (of equal starts the longer one), and the one after which it began (of equal
// ends the later row). An instant of the gap is, the first that holds,
//
//	tail        no activity of the GPU starts any more before the window ends, or
//	            before the recording pauses
//	graph       both belong to one graph replay: they have one correlation, and both
//	            have a graph node or are whole-graph rows
//	untraced    the launching call of the next activity was not recorded
//	queued      that call had returned
//	launch …    what the thread that made the call did: thread.go, whose states
//	host:NAME   are launch (graph launches, too), sync, memop, alloc, api, gil, gc,
//	untraced    the innermost range with its digits folded, or nothing
//
// The parts of a gap add up to it, in whole nanoseconds.
//
// # Sites
//
// A site is where a cause arose: of launch, sync, memop, alloc and api the name of the
// call and the path of ranges that it was made in; of host the path; of graph and
// queued the kernel that ended the gap. The other causes have none. A [Key] is a cause
// with its site. Distinct names are limited (see [Names]): what comes after is
// "(other)".
//
// # Why
//
// With the option Why what is attributed to a host thread is divided further by why that
// thread did not go on: hoststate.go. A key is then a part of another one
// ([Sites.Undivided]), and the parts add up to it. Of gaps whose launching call is not known
// nobody asks. Where a thread waits for the interpreter lock its key says who holds it, and
// what that thread does ([Sites.Holder]).
//
// With the option Waits it is also known when launching threads waited for others ([Rank.EachWait]).
//
// # In-step and inter-step
//
// A gap is inter-step, wherever the steps were cut, when the activity that ends it is
// the GPU's first that was launched during a forward-step marker range (of several
// ranges around the launch the one that starts last; ranges of one number that start
// within 100 us are one). While no marker was seen on the rank, the method by which
// steps were isolated decides: under allreduce the longest gap of each GPU between
// the end of one step and the first activity after the start of the next, under graph
// the last of these gaps that is at least a quarter as long as the longest of them, as
// kernels that prepare its input may run right before a graph. All other gaps are in-step.
//
// # Use
//
// One [Sites] for a run; one [Rank] for each rank, which observes the rank's rows in
// their order. Whoever knows about windows cuts time into slices ([Rank.Cut]) and knows what
// each belongs to. At the end [Rank.Each] yields the samples, (slice, key, inter-step, ns).
//
//	sites := idle.NewSites()
//	r := idle.NewRank(sites, idle.Options{Method: h.Isolation.Method})
//	…
//	r.Cut(start, true)          // before the rows of a step
//	r.Step(start, end)          // its row
//	r.Call(batch, i)            // rows of it, by their kind
//	…
//	r.Close()
//	r.Each(windowEnd, func(s idle.Sample) { perStep[s.Slice] += s.Ns })
//
// # Memory
//
// An idle gap needs what all threads did since it began, because only its end tells
// which of them matters. So the states of threads are kept, 262,144 for a rank; of a gap that
// reaches back before these nobody knows what threads did ([Rank.Forgotten]). Samples, one for each
// site that occurs in a slice, are rows in the store of the options; in memory are 16 bytes for
// each slice.
package idle
