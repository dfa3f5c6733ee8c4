package verdict

import (
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/step"
)

// Limits of the answer; for those of the metrics see Defaults.
const (
	// votesForYes, 2 metrics over their limits, make a YES. Source: TensorRT-LLM's analysis (SPEC 6).
	votesForYes = 2
	// launchPart, 3: launches are the first target if they may be at least a third of the idle
	// time. Reason: besides preparing and waiting, they are one of three things the host does.
	launchPart = 3
	// minWhole is the least number of whole steps in the window of some rank for a verdict: fewer
	// do not make a benchmark segment, by its definition.
	minWhole = step.MinSteps
	// fewSteps is the number of steps below which the uncertainty of figures is unknown.
	fewSteps = metric.MinSteps
)

// Limits of what else is reported. Reason: a reader's patience.
const (
	// worthSaying, 1 % of the time: a figure without a vote is mentioned from this value on.
	worthSaying = 0.01
	// lowLoadWorth, 10 % of the idle time: waits for requests are mentioned from this share on.
	lowLoadWorth = 0.1
	// minGraphLaunch, 5 % of the time in graph launches: from this share on, a caveat says that
	// recording slows them.
	minGraphLaunch = 0.05
)
