package gap

// Limits of what threads are said to do.
const (
	// saturated, 90 %: the share of the run that a thread with one core's work is on a CPU at
	// least. Source: queueing (a server that is busy 90 % of the time has nine in ten wait).
	saturated = 0.9
	// spinning, 50 %: "most of": the share of the run in calls that ask again and again.
	spinning = 0.5
)

// maxPredicted, 10: how many findings are rows of whatif's table, as many as operations. Source: SPEC 12.
const maxPredicted = 10
