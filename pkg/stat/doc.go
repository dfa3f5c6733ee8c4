// Package stat compares two sequences of samples that were taken step after
// step: how far apart their means are, how sure that is, and which of many such
// differences can be believed.
//
// # Why not a t-test
//
// Neighbouring steps of a run are alike: a clock that drifts, a batch that
// grows, a neighbour on the machine. A t-test takes them for independent and
// finds differences between two halves of one run; with a correlation of 0.6
// between neighbours its 95 % interval holds the truth 67 times of 100. So the
// variance of a mean is estimated with all covariances in it: the long-run
// variance of the sequence over its length.
//
// # The long-run variance
//
// It is estimated as the mean of B squared cosine coefficients of the sequence,
// the lowest frequencies but zero: the equally weighted cosine estimator
// (Müller 2007; Lazarus, Lewis, Stock and Watson 2018). Each coefficient is about
// normal and they are about independent, so the studentised mean has a
// t-distribution with B degrees of freedom, also where B is small: that the
// variance is itself uncertain is in the interval, not ignored. Before that the
// sequence is made flatter by the residuals of a first-order autoregression
// whose coefficient is corrected for its bias and kept between 0 and 0.9, and
// the result is coloured again (Andrews and Monahan 1992): with it, B may be
// twice as large at the same coverage. B is 0.8 n^(2/3), 48 at the most; the doubt
// of the coefficient takes some of the degrees of freedom, which matters below 50
// samples and far out in the tails, where corrections for many rows look.
//
// A difference has the sum of both variances and degrees of freedom after Welch
// and Satterthwaite.
//
// This was measured against the alternatives on pairs of 20 to 400 samples,
// correlations from -0.3 to 0.6, normal and skewed noise, and outliers of ten
// standard deviations in a step of fifty. Intervals held the truth in 94.4 to
// 97.2 % of the pairs of every kind. Cosines alone with B of 0.4 n^(2/3), the value
// of the literature, held 92.4 to 97.7 % and were wider where samples are
// independent; an effective number of samples from the autoregression alone held
// 91.7 to 97.9 % and was up to four times as wide. Outliers that come every tenth
// step exactly are noise without chance: there every interval is too wide.
// Resampling blocks costs a thousand times as much and has too few blocks below a
// hundred steps to be better. The script accuracy measures whole comparisons.
//
// # Quantiles
//
// [Quantile] interpolates linearly between order statistics. The interval of one
// is where the share of samples below it is plausible (Woodruff 1952), with the
// long-run variance of that share; the interval of a difference puts the two
// together (the method of variance estimates recovery, Zou and Donner 2008).
//
// # Many differences
//
// [Holm] bounds the probability of one false alarm or more among all rows,
// [BenjaminiHochberg] the expected share of false alarms among those raised.
//
// Nothing here draws random numbers: equal input gives equal output.
package stat
