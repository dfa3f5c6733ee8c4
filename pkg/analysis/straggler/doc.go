// Package straggler finds the rank that the others wait for: the one that arrives last at the
// collectives that package collective has matched.
//
// The ends of a matched collective are simultaneous on all ranks, so the spread of its ends shows
// the clock error: the value that nine in ten spreads are below, with 95 % confidence (of few, the
// largest). Two starts closer together than that count as simultaneous. Fewer than 16 matched
// collectives in 8 steps say nothing.
//
// # Lateness
//
// A rank arrives at a collective when its kernel starts. The last rank to arrive is late by its
// distance to the one before it. The straggler of a step is the rank with the largest lateness,
// summed over the step's collectives; a step in which nobody is late has none. A rank is persistent
// if it is the straggler of more than 80 % of the steps, or has more than 80 % of all lateness,
// however few the steps, unless equal ranks would show as much by chance. (For steps that is a
// binomial test at 0.1 %. For lateness it depends on the number of equally late steps that it is
// worth, (Σ late)² / Σ late²: one pause of 30 ms may be more than all else, and is worth one.)
// Otherwise stragglers rotate, or there are none, if in most steps no rank has 80 % of the
// lateness.
//
// Kernels vary in length, so some rank is last at each collective. Among equal ranks that wait for
// their GPUs, the one that is last most often has 57 % of a step's lateness if there are two, and
// 36 % if there are four. If one of them is late by 600 us, it has 98 %. Steps without collectives
// to compare count as steps in which nobody is late.
//
// If two ranks are late at once, the distance of the last one to the one before it says that nobody
// is. So ranks are also compared by how long they wait in a step. Sorted by their waits, those
// before the largest distance are late together if they are several, at most half of all ranks, and
// the same ones in more than 80 % of the steps.
//
// Chance is computed for independent steps. Where hosts do not wait for one another steps are not
// independent: a rank that fell behind stays behind for a while, and may be last in nine steps of
// ten. So its lateness, less that of whoever else is late, has to be above 0 by the long-run
// variance of its steps (0.1 %, package stat), or be explained by what it does for longer than the
// others. For the same reason, stragglers do not rotate if lateness has a correlation above one
// half with that of the step before: then nobody is late.
package straggler
