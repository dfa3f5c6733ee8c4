package gap

// Limits of what threads are said to do.
const (
	// saturated, 90 %: the share of the run that a thread with one core's work is on a CPU at
	// least. Source: queueing (a server that is busy 90 % of the time has nine in ten wait).
	saturated = 0.9
	// spinning, 50 %: "most of": the share of the run in calls that ask again and again.
	spinning = 0.5
)

// Limits of findings as rows of whatif's table.
const (
	// maxPredicted, 10: as many as operations. Source: SPEC 12.
	maxPredicted = 10
	// PredictedRow, 16 bytes: what a row of the run takes of the memory while findings are looked for
	// beside the replay. Source: measured, 50 M rows take 586 MiB and 16 M 404 MiB.
	PredictedRow = 16
)
