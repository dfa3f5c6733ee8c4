package verdict

import (
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/step"
)

// Limits of the answer; those of the metrics are Defaults.
const (
	// votesForYes, 2 metrics over their limits, make a YES. Source: TensorRT-LLM's analysis (SPEC 6).
	votesForYes = 2
	// launchPart, 3: launches are the first target where they may be one in so many parts of the
	// idle time. Reason: beside what the host prepares and what it waits for they are one of three.
	launchPart = 3
	// minWhole whole steps of a rank, in its window, are the least that a verdict speaks of: fewer
	// are no benchmark, by the definition of its segment.
	minWhole = step.MinSteps
	// fewSteps is the number of steps below which how sure figures are is unknown.
	fewSteps = metric.MinSteps
)

// Limits of what is said beside it. Reason: a reader's patience.
const (
	// worthSaying, 1 % of the time: from here on a figure without a vote is put into a sentence.
	worthSaying = 0.01
	// lowLoadWorth, 10 % of the idle time: from here on waiting for requests is said.
	lowLoadWorth = 0.1
	// minGraphLaunch, 5 % of the time in graph launches: from here on it is said what recording adds.
	minGraphLaunch = 0.05
)
