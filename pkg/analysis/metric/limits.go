package metric

import "github.com/hostbound/hostbound/pkg/stat"

// Limits of this package: name, unit, reason, source.
const (
	// DefaultLast is how many runs before it a run is compared with, in runs: a month of
	// nights, long enough for a drift, short enough to forget another machine.
	DefaultLast = 30
	// DefaultAlpha is the chance that a run is called worse though nothing changed, over all
	// series of the run together: one night in fifty, or seven in a year of nights.
	DefaultAlpha = 0.02
	// DefaultLeast is the least rise that is called worse, as a share of a step: below 1 % the
	// steps of two runs count as the same, in diff too (its direction).
	DefaultLeast = 0.01
	// DefaultMemory is how many bytes the collectives of a run may take in memory: more than a
	// million of them.
	DefaultMemory = 32 << 20
	// stepShare is the part of the chance that the time per step has for itself, the others
	// sharing the rest: weighted Bonferroni (S. Holm, Scand. J. Statist. 6, 1979), because the
	// time per step is what a night is about, and the ratios say where it went.
	stepShare = 0.75
	// outlierAlpha, 1 %: the share of false ones among those named. Source: at most one false
	// among the few that somebody then looks at.
	outlierAlpha = 0.01
	// MinSteps is the number of steps below which a scope has no intervals. Source: SPEC 4.
	MinSteps = 8
	// mainLaunches is the least share of a rank's launches, as 1 in so many, of a thread whose
	// waits count: GPUs do not wait for one that has launched something once and then receives
	// requests beside the others.
	mainLaunches = 10
)

// MinRuns is how many runs before it a run is compared with at least.
const MinRuns = stat.MinBefore
