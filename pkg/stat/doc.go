// Package stat says how far two sequences of samples, taken step after step, are apart,
// how sure that is, and which of many such differences can be believed. It is a page of a
// textbook: one estimator for each design, each with what it assumes and what that costs.
//
// # One run a side: the long-run variance
//
// Neighbouring steps resemble one another, so the variance of a mean is not that of a step
// by their number. It is the long-run variance by their number: the spectrum at frequency
// 0. [Estimator.Mean] takes it from the samples x(0) to x(n-1) in two moves.
//
//	prewhitening   e(t) = (x(t) - m) - phi (x(t-1) - m), e(0) = sqrt(1 - phi²) (x(0) - m)
//	               (Prais and Winsten 1954), phi the correlation of neighbours with
//	               Kendall's correction (1 + 3 phi)/n, within 0 and 0.97
//	six cosines    c(j) = sqrt(2/n) sum e(t) cos(pi j (t + 1/2)/n), j = 1 to 6
//	               long-run variance = mean of c(j)² / (1 - phi)²
//
// The coefficients are independent and of equal variance where the spectrum of e is flat at
// the six lowest frequencies, which makes the variance of the mean one of six degrees of
// freedom, and the error of a mean Student's t (Müller 2007; Lazarus, Lewis, Stock and
// Watson 2018; prewhitening: Andrews and Monahan 1992). The error of a difference has
// Welch's degrees of freedom, between six and twelve.
//
// Assumed is a flat spectrum below the sixth frequency, after prewhitening: memory that is
// short beside a sixth of the run, or of the first order. What it costs where that does not
// hold, in equal pairs that are called different at 5 %: with a correlation of 0.9, 5 % at
// 60 steps and 9 % at 20 (without prewhitening 24 and 49 %); with states that last a
// third of the run, or correlations without a sum, 10 to 20 %. More runs answer that, no
// formula: a state that outlasts the run leaves no trace in it.
//
// The shorter of two sequences of unlike length may have missed what the longer shows: its
// variance is not taken for smaller than the longer's would be, cut to that length, which
// are the longer's coefficients up to the same frequency.
//
// # Several runs a side
//
// [Repeated] takes the variance between the runs' means, with one degree of freedom less
// than runs, and Welch's t. What lies within a run is a part of it. Nothing is assumed but
// that starts are independent. One run against several is a prediction: the variance between the
// several is taken for both sides', with its degrees of freedom alone, as it is one estimate.
//
// # Quantiles
//
// A quantile's interval ends at the order statistics whose shares are plausible (Woodruff
// 1952): p ± t sqrt(p(1-p)/k), k being the effective number of steps, by the long-run
// variance of the indicator of lying below the quantile. Beyond the samples there is
// no bound. The interval of a difference joins the two (Zou and Donner 2008); its probability
// is that of so different shares below the quantile of both together. Above
// the 95th percentile events are counted instead.
//
// # Rare events
//
// [CompareEvents] deals events out to the steps of both runs by chance: Fisher's exact
// test. Steps that are worth one independent step together count as one. Whose the largest
// samples are is such a count, too (Rosenbaum 1954).
//
// # Ratios of one run
//
// [Estimator.Ratio] makes the ratio linear in both sums and takes the same long-run variance.
//
// # Many differences
//
// [BenjaminiHochberg] bounds the expected share of false alarms among those raised; where
// nothing differs that is the probability of raising any. It assumes rows that are
// independent or positively dependent.
//
// # Rejected
//
// An average over models of memory, each with its prior: it held intervals for states that
// last a third of the run, cost a third of the changes of 10 % in 60 steps, and nobody could
// say why a row had its figure. Eight cosines: 1 % more false alarms at 100 steps for a
// twentieth more power. Means of groups (Ibragimov and Müller 2010): four to eight groups
// leave too few degrees of freedom for a hundred rows. Resampling of blocks: a short run has
// too few of them.
//
// Nothing here draws random numbers: equal input gives equal output.
package stat
