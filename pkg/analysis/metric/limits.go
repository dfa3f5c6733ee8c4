package metric

import "github.com/hostbound/hostbound/pkg/stat"

// Limits of this package: name, unit, reason, source.
const (
	// DefaultLast is the number of earlier runs that a run is compared with: a month of nights,
	// long enough to see a drift, short enough to forget another machine.
	DefaultLast = 30
	// DefaultAlpha is the chance that a run is called worse though nothing changed, over all
	// its series together: one night in fifty, or seven nights a year.
	DefaultAlpha = 0.02
	// DefaultLeast is the least rise that is called worse, as a share of a step. Steps that
	// differ by less than 1 % count as the same, as in diff (its direction).
	DefaultLeast = 0.01
	// keptInMemory is how many bytes of memory the collectives of a run may use: enough for
	// more than a million.
	keptInMemory = 32 << 20
	// stepShare is the part of the chance for the time per step; the other series share the
	// rest (weighted Bonferroni, S. Holm, Scand. J. Statist. 6, 1979). The time per step is what
	// a night is about, and the ratios only say where it went.
	stepShare = 0.75
	// outlierAlpha, 1 %: the expected share of false ones among the outliers named. Reason: at
	// most one is false among the few that somebody then looks at.
	outlierAlpha = 0.01
	// MinSteps is the least number of steps for intervals of a scope. Source: SPEC 4.
	MinSteps = 8
	// mainLaunches, 10: the waits of a thread count if it made at least one in this many of the
	// rank's launches. GPUs do not wait for a thread that launched something once and then
	// receives requests in parallel.
	mainLaunches = 10
)

// MinRuns is the least number of earlier runs that a run can be compared with.
const MinRuns = stat.MinBefore
