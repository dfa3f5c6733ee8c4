// Package straggler finds the rank that the others wait for: it matches the
// collectives of several ranks and finds who comes last.
//
// # Matching
//
// Ranks run the same steps. A collective of one rank is matched with that of
// another that is the n-th of its name in the same step; only those count that
// every rank has. A rank whose recording began some steps earlier or later than
// that of the first rank is moved by as many steps, as long as that makes the
// collectives of most steps agree in their names, and their ends in time.
// Where collectives matched so end more than 50 us apart, they are matched by name and
// end instead, within a quarter of their usual distance: ranks that leave out other steps
// each (dummy batches have no marker) have other ones under the same number. That counts
// where seven in ten between the first and the last pair are found; by chance it is half.
//
// # Clocks
//
// A collective ends on all ranks together, whatever it did before. So the clock
// of a report is off from that of the first one by the median distance of the
// ends of their matched collectives, of all-reduces where there are enough of
// them. (A median, because a few collectives do not end together: those that were
// cut off, or a broadcast whose root goes on.) Clocks of different hosts also drift:
// where a line through the medians of sixteen stretches leaves less than half of
// the error of a constant, it is the line. Ranks of one report share a clock,
// which is left alone.
//
// The clock error is what remains: what nine in ten distances between the first and
// the last end of a matched collective are below, with 95 % confidence (of few, the
// largest). Two starts that are less than that apart count as at once.
//
// # Groups
//
// Ranks that do not end their collectives together (the stages of a pipeline, replicas of
// a model) wait for ranks of their own group only. Where the clock error is above 50 us,
// those whose collectives' ends are that close in most cases are such a group, and the one
// in which a rank is late most is reported.
//
// # What cannot be told
//
// Less than 16 matched collectives in 8 steps say nothing, nor do those that end more than
// a step apart. Ranks of different reports are of one run only where their collectives end together, once the clocks are brought
// together: in nine of ten steps within 2 % of a step (or 50 us), or so that the
// differences between their periods are less than half of what the periods vary by;
// clocks drift by 500 ppm at most. Where the reports have a common clock, their
// collectives must overlap on it, too. Otherwise the answer is unknown, and says why.
//
// # Lateness
//
// A rank arrives at a collective when its kernel starts. The last rank to arrive is
// late by its distance to the one before it, the others wait for it: a rank's wait
// goes from its own arrival to the last, and the rest of the collective is
// transfer. (All kernels of a collective spin until the last one is there, so
// their durations say nothing about the network before that.) The straggler of a
// step is the rank whose lateness, summed over the step's collectives, is the
// largest; a step in which nobody is late has none. A rank that is the straggler
// of more than 80 % of the steps is persistent, and so is one that has more than 80 %
// of all lateness, however few the steps: unless equal ranks would show as much by
// chance. (Of steps that is a binomial test at 0.1 %. Of lateness it is counted by how
// many equally late steps it is worth, (Σ late)² / Σ late²: one pause of 30 ms may be
// more than all else and is worth one.) Otherwise stragglers rotate, or there are none,
// when in most steps nobody is late. Steps without collectives to compare are steps in
// which nobody is known to be late.
// What equal ranks show by chance is for steps that are independent. Where hosts do not wait for
// one another they are not: a rank that fell behind stays behind for a while, and in 20 steps
// may have nine in ten. It is named, since the others did wait for it, and Report.Lasts is for
// who gives advice.
//
// # Memory
//
// Ranks of several files come one after the other, so that the first one's collectives
// must be kept until the last one's are there; and clocks are compared over the whole run
// before anything is said of a single step. So they are in a store, ten bytes each, and
// read several times in their order, a block of each rank at a time. Medians and quantiles
// are exact: of more values than are sorted in memory the buckets of a histogram are
// counted, then those of the bucket that holds the answer. In memory are a few numbers for
// each step.
package straggler
