// Package stat says how far apart two sequences of samples are, taken step after step,
// how sure that is, and which of many such differences can be believed. It is a page of a
// textbook: one estimator for each design, each with what it assumes and what that costs.
//
// # One run per side: the long-run variance
//
// Neighbouring steps resemble one another, so the variance of a mean is not the variance
// of a step divided by their number. It is the long-run variance divided by their number:
// the spectrum at frequency 0. [Estimator.Mean] takes it from the samples x(0) to x(n-1)
// in two moves.
//
//	prewhitening   e(t) = (x(t) - m) - phi (x(t-1) - m), e(0) = sqrt(1 - phi²) (x(0) - m)
//	               (Prais and Winsten 1954), phi the correlation of neighbours with
//	               Kendall's correction (1 + 3 phi)/n, within 0 and 0.97
//	six cosines    c(j) = sqrt(2/n) sum e(t) cos(pi j (t + 1/2)/n), j = 1 to 6
//	               long-run variance = mean of c(j)² / (1 - phi)²
//
// The coefficients are independent and of equal variance if the spectrum of e is flat at
// the six lowest frequencies. The variance of the mean then has six degrees of freedom,
// and the error of a mean is Student's t (Müller 2007; Lazarus, Lewis, Stock and Watson
// 2018; prewhitening: Andrews and Monahan 1992). The error of a difference has Welch's
// degrees of freedom, between six and twelve.
//
// This assumes a flat spectrum below the sixth frequency, after prewhitening: memory that
// is short compared with a sixth of the run, or of the first order. If that does not
// hold, the share of equal pairs that are called different at the 5 % level is: with a
// correlation of 0.9, 5 % at 60 steps and 9 % at 20 (without prewhitening 24 and 49 %);
// with states that last a third of the run, or correlations without a sum, 10 to 20 %.
// Only more runs answer that, no formula: a state that outlasts the run leaves no trace
// in it.
//
// If two sequences differ in length, the shorter one may have missed what the longer one
// shows. Its variance is taken to be at least that of the longer one cut to the same
// length, which is given by the longer one's coefficients up to the same frequency.
//
// # Several runs per side
//
// [Repeated] takes the variance between the runs' means, with one degree of freedom less
// than runs, and Welch's t. Variation within a run is part of it. The only assumption is
// that starts are independent. One run against several is a prediction: the variance
// between the several is used for both sides, with its degrees of freedom alone, as it is
// one estimate.
//
// # Quantiles
//
// A quantile's interval ends at the order statistics whose shares are plausible (Woodruff
// 1952): p ± t sqrt(p(1-p)/k), where k is the effective number of steps, by the long-run
// variance of the indicator of being below the quantile. Beyond the samples there is no
// bound. The interval of a difference joins the two (Zou and Donner 2008); its
// probability is that of shares so different below the quantile of both together. Above
// the 95th percentile, events are counted instead.
//
// # Rare events
//
// [CompareEvents] distributes events over the steps of both runs by chance: Fisher's
// exact test. Steps that together are worth one independent step count as one. Which side
// has the largest samples is such a count, too (Rosenbaum 1954).
//
// # Ratios of one run
//
// [Estimator.Ratio] makes the ratio linear in both sums and takes the same long-run variance.
//
// # Many differences
//
// [BenjaminiHochberg] bounds the expected share of false alarms among those raised; if
// nothing differs, that is the probability of raising any. It assumes rows that are
// independent or positively dependent.
//
// # Rejected
//
// An average over models of memory, each with its prior: it held intervals for states
// that last a third of the run, but lost a third of the changes of 10 % in 60 steps, and
// nobody could say why a row had its figure. Eight cosines: 1 % more false alarms at 100
// steps for a twentieth more power. Means of groups (Ibragimov and Müller 2010): four to
// eight groups leave too few degrees of freedom for a hundred rows. Block resampling: a
// short run has too few blocks.
//
// Nothing here draws random numbers: equal input gives equal output.
package stat
