// Package straggler finds the rank that the others wait for: of the collectives that package
// collective has matched it finds who comes last.
//
// The clock error is what nine in ten distances between the first and the last end of a matched
// collective are below, with 95 % confidence (of few, the largest): they end on all ranks
// together. Two starts that are less than that apart count as at once. Less than 16 matched
// collectives in 8 steps say nothing.
//
// # Lateness
//
// A rank arrives at a collective when its kernel starts. The last rank to arrive is
// late by its distance to the one before it. The straggler of a
// step is the rank whose lateness, summed over the step's collectives, is the
// largest; a step in which nobody is late has none. A rank that is the straggler
// of more than 80 % of the steps is persistent, and so is one that has more than 80 %
// of all lateness, however few the steps: unless equal ranks would show as much by
// chance. (Of steps that is a binomial test at 0.1 %. Of lateness it is counted by how
// many equally late steps it is worth, (Σ late)² / Σ late²: one pause of 30 ms may be
// more than all else and is worth one.) Otherwise stragglers rotate, or there are none, when in
// most steps no rank has 80 % of the lateness. Kernels vary in length, so at each collective some
// rank is last: of equal ranks that wait for their GPUs the one that is so most has 57 % of a
// step's lateness among two and 36 % among four; of those of which one is late by 600 us 98 %.
// Steps without collectives to compare are steps in which nobody is known to be late.
//
// Where two ranks are late at once, the distance of the last to the one before it says that nobody
// is. So ranks are compared by how long they wait in a step, too: those before the largest
// distance, in the order of their waits, are late together where they are several, half of all at
// most, and the same ones in more than 80 % of the steps.
//
// What equal ranks show by chance is for steps that are independent. Where hosts do not wait for
// one another they are not: a rank that fell behind stays behind for a while, and may be last in
// nine steps of ten. So its lateness, less that of whoever else is late, has to be above 0 by
// the long-run variance of its steps (0.1 %, package stat), or be explained by what it does longer
// than the others. For the same reason ranks are not late in turn where lateness has a
// correlation of more than one half with that of the step before: nobody is then.
package straggler
