package gap

// Limits for facts about threads.
const (
	// saturated, 90 %: a thread that is on a CPU for at least this share of the run keeps a
	// core busy. Source: queueing (if a server is busy 90 % of the time, nine in ten wait).
	saturated = 0.9
	// spinning, 50 % ("most of"): a thread that is in polling calls on a CPU for at least this
	// share of the run spins.
	spinning = 0.5
)

// Limits of findings as rows of whatif's table.
const (
	// maxPredicted, 10: the most rows of findings, as many as of operations. Source: SPEC 12.
	maxPredicted = 10
	// PredictedRow, 16 bytes: the memory that findings need for each row of the run, beside the
	// replay's. Source: measured, 50 M rows take 586 MiB and 16 M 404 MiB.
	PredictedRow = 16
)
