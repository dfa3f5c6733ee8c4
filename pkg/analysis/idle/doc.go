// Package idle attributes the idle time of GPUs: it splits each nanosecond in which a GPU
// (a pair of rank and device) is idle by its cause and by the site of that cause, and
// separates idle time within steps from idle time between them.
//
// # Causes
//
// Each idle gap of a GPU has an activity that ends it, the next one in the order of the
// stream (of equal starts the longer), and an activity after which it began (of equal
// ends the later row). The cause at an instant of the gap is the first of these that
// applies:
//
//	tail        no activity of the GPU starts before the window ends, or before
//	            the recording pauses
//	graph       both activities belong to one graph replay: they have the same
//	            correlation, and both have a graph node or are whole-graph rows
//	untraced    the launching call of the next activity was not recorded
//	queued      that call had returned
//	otherwise   the state of the thread that made that call (thread.go):
//	            launch (graph launches, too), sync, memop, alloc, api, gil or gc;
//	            host:NAME, the innermost range with its digits folded;
//	            untraced, if it was in none of these
//
// The parts of a gap add up to it, in whole nanoseconds.
//
// # Sites
//
// A site is where a cause arose: for launch, sync, memop, alloc and api the name of the
// call and the path of ranges that it was made in; for host the path; for graph and
// queued the kernel that ended the gap. The other causes have none. A [Key] is a cause
// with its site. The number of distinct names is limited (see [Names]); further ones are
// "(other)".
//
// # Why
//
// With the option Why, time attributed to a host thread is divided further by why that
// thread was stalled (hoststate.go). Such a key is a part of another one
// ([Sites.Undivided]), and the parts add up to it. Gaps whose launching call is not known
// are not divided. While a thread waits for the interpreter lock, its key says who holds
// the lock and what that thread does ([Sites.Holder]).
//
// The option Waits also records when launching threads waited for others
// ([Rank.EachWait]).
//
// # In-step and inter-step
//
// A gap is inter-step, wherever the steps were cut, if the activity that ends it is the
// GPU's first that was launched during a forward-step marker range. If several ranges
// surround the launch, the one that starts last counts; ranges with the same number that
// start within 100 us are one.
//
// Until a marker has been seen on the rank, the method that isolated the steps decides.
// With allreduce the inter-step gap is the longest of each GPU between the end of one
// step and the first activity after the start of the next. With graph it is the last of
// these gaps that is at least a quarter as long as the longest, since kernels that
// prepare a graph's input may run right before it. All other gaps are in-step.
//
// # Use
//
// There is one [Sites] for a run, and one [Rank] for each rank, which observes the rank's
// rows in their order. The caller, who knows the windows, cuts time into slices
// ([Rank.Cut]) and keeps track of what each belongs to. At the end [Rank.Each] yields the
// samples: (slice, key, inter-step, ns).
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
// Only the end of an idle gap tells which thread matters, so a gap needs the states of
// all threads since it began. The last 262,144 states of a rank are kept; in a gap that
// began earlier, what threads did before these is unknown ([Rank.Forgotten]). Samples,
// one for each site that occurs in a slice, are rows in the store of the options. Each
// slice takes 16 bytes of memory.
package idle
