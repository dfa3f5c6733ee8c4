// Package round follows rounds of changes to host code: each was profiled, and
// perhaps benchmarked, and is compared with the code that it started from. It says
// whether a round paid, when to stop, and what all of them came to.
//
// # What is compared
//
// A round is compared with the last one that was kept: the baseline, or a later
// round that neither regressed nor was reverted. Functions are matched by the base
// name of their file and the last part of their name, lines by their function and
// their source without blanks and comments, never by number: a change moves lines.
// Several equal lines of a function are one. A function that only one side has is
// NEW or REMOVED, and its time is no improvement: where the outermost functions of
// both rounds are not the same, the change is that of the functions that both have.
//
// If the hits of the same function show the steps of both rounds, figures are per step;
// otherwise they are totals, and a warning says so if the entries differ.
//
// # Verdicts
//
// Throughput decides over profile time, which the profiler inflates: a round that removes
// lines looks better in it than it is. With two or more benchmark runs per side, a change
// is real if its 95 % interval leaves out zero. With one each, the noise between runs of
// the same code is unknown: less than [SingleRun] is no change. Without a benchmark of
// both, the profile's time decides, and less than [ProfileNoise] of it is no change. A
// round whose throughput fell since the last kept round that was measured has regressed
// all the same.
package round
