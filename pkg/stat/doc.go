// Package stat compares two sequences of samples that were taken step after
// step: how far apart their means, quantiles and rare events are, how sure that is,
// and which of many such differences can be believed.
//
// # Why not a t-test
//
// Neighbouring steps of a run are similar: a clock that drifts, a batch that
// grows, a neighbour on the machine. A t-test takes them for independent and
// finds differences between two halves of one run; with a correlation of 0.6
// between neighbours its 95 % interval holds the truth 67 times of 100. So the
// variance of a mean must have all covariances in it, and how strong they are is
// itself uncertain: most of what decides lies in the few lowest frequencies.
//
// # The variance of a mean
//
// A sequence is turned into its lowest cosine coefficients but the first, 64 at the
// most. Under any way in which steps resemble one another each coefficient is about
// normal with a variance of its own, and they are about independent (Müller and
// Watson 2015). The ways considered ([shapes]) are noise without memory, a state
// that is forgotten within so many steps, from one to eight times the run, and
// both together, and noise whose correlations have no sum, which is also what several
// times of memory together look like. Each says what the coefficients' variances are up to a common
// scale, and what the variance of the mean is. The scale is estimated from all
// coefficients; how well a shape fits both sequences, times how probable it is
// beforehand, is its weight. The error of a difference has the mixture of the
// t-distributions that the shapes give, so that what the samples cannot exclude is
// in the interval (averaging over models, in place of choosing a bandwidth).
//
// Both sequences have the same shape, each its own scale: they are runs of the same
// engine. Where one is longer by a quarter or more, the scale of the shorter is not
// taken for smaller than the longer's.
//
// No end of a sequence is special: turned around, it has the same coefficients but
// for signs, which do not count.
//
// How many independent steps the weights say that a sequence is worth is
// [Difference.Effective]. Where these are few (states that last as long as the run,
// drifts, random walks) nothing can be told, and the caller says so. A state that
// does not change within either run leaves no trace and cannot be noticed by
// anybody who has only these two runs; one that does so seldom is noticed where a run
// has been near the level of the other ([CompareLevels]).
//
// Where a sequence seems to be worth fewer than sixteen, the error is not taken for
// smaller than the two lowest coefficients make it, and above ten by less and less:
// which pairs get an answer is itself
// chance, and where few do these are the ones that seem better than they are. (To answer
// less, on an upper bound for the memory, makes it worse: fewer and more extreme pairs are
// left. To widen by such a bound costs more where all get an answer.) So pairs that seem to
// be worth five should get one: with a correlation of 0.9 six in ten pairs of 100 steps do,
// and 96 % of their intervals hold the truth; with eight it is two in ten, and 89 %.
//
// A difference far above any change of level inside either run is told all the same
// ([Beyond]).
//
// What comes every so many steps (housekeeping, batches that take turns) is in the
// coefficients and hardly in the error of the mean. Where single steps have the same period in
// both sequences, of 2 to 64 steps, four cycles and more in each, and each cycle is foretold by
// the others to half of the variance and more, the coefficients are of what is left, and the mean
// of the cycle that is not whole is added to the error. Whatever is not repeated exactly, as
// pauses of random size at even distances, is left and counts. A period in one sequence alone is
// no reason: it may be of its load.
//
// A ratio of one run ([Estimator.Ratio]) has no other run beside it that shows what
// this one may have missed, but also no many rows among which it must be sure. Its scale
// is that of the two lowest coefficients alone, which leaves a t of two degrees of freedom
// (Lazarus, Lewis, Stock and Watson 2018, with fewer coefficients than they recommend):
// so it hardly matters what is true of the others. What matters is how much more the mean
// varies than these two do. Where steps are independent that is nothing; where
// correlations have no sum it is three to five times as much (fractionally integrated noise;
// Robinson 2005 and Abadir, Distaso and Giraitis 2009 for standard errors with
// an estimated order). All coefficients together say how probable each is ([memories]),
// and the error has the mixture of what they make of it, as above. The level is 95.7 %,
// for what a run happens not to show. The price is width: two and a half times that of an
// interval for independent steps, three to four where neighbours are similar.
// Where bursts are seldom, a run that had few of them shows too little of their time and of
// how uncertain it is: the variance of the sum is taken to rise with the sum, by what the third
// cumulant says ([skew]), which makes the interval longer on the side of the bursts
// and shorter on the other.
// What no stretch of the run came to is not in the interval ([Estimator.Ratio]). Where steps
// are independent that takes away next to nothing, where few bursts are, in 60 steps, a third
// to a half of the width, and less than one in a hundred of the truths held. Where neighbouring
// stretches are similar the run does not show how far it goes, and the bounds are further off.
//
// Rejected for ratios: two coefficients without such weights, at 96.6 %, which hold
// long memory in 91 %; more coefficients, or the scale of all of them, whose intervals are
// narrow where a run looks independent by chance and hold the truth too seldom in states
// of twenty steps (75 % at 60 steps); the wider of two intervals, too often in independent
// steps (98 %); orders above 0.35, and long memory without autoregressions beside it,
// which hold the truth in 98 to 99.7 % where memory is short.
//
// What is not in the run cannot be in the interval: a burst that did not come, a
// state that was not left. Nor would it help to give no interval where a run is
// worth few independent steps: those intervals are wide and hold the truth, and the
// ones that miss it are of runs in which nothing seems to last.
//
// Rejected for differences: the equally weighted cosine estimator after an
// autoregression, which takes states that last tens of steps for changes; t-tests on the means of a few groups (Ibragimov
// and Müller 2010), whose four to eight degrees of freedom find nothing where many
// rows are compared; resampling of blocks, of which a short run has too few.
//
// # Several runs
//
// Of several runs of a version ([Repeated]) the variance between their means is
// what counts, with Welch's degrees of freedom; that within a run is a part of it.
//
// # Quantiles and events
//
// [Quantile] interpolates linearly between order statistics. The interval of one
// is where the share of samples below it is plausible (Woodruff 1952), with the
// uncertainty of that share as above, and without a bound where that reaches beyond
// the samples; the interval of a difference puts the two together (the method of
// variance estimates recovery, Zou and Donner 2008). The probability is that of so
// different shares below the quantile of both together.
//
// Far out there are too few samples for shares. There events are counted, and dealt
// out to the steps of both runs by chance ([Estimator.CompareEvents]): those above
// the largest sample of the other run, or the largest of both.
//
// # Many differences
//
// [Holm] bounds the probability of one false alarm or more among all rows,
// [BenjaminiHochberg] the expected share of false alarms among those raised.
//
// Nothing here draws random numbers: equal input gives equal output. The section
// noise of the script accuracy measures all of this.
package stat
