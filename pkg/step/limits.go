package step

const (
	// minRepetitions is how often what is taken for a period, or for evidence, recurs.
	minRepetitions = 3
	// minCover is the share of what runs that a period has to cover, and of its repetitions
	// that have evidence once for it to count.
	minCover = 0.9
	// maxLag is the longest period, in collectives or replays without what repeats inside it.
	maxLag = 64
	// maxApart is by how much two independent counts of steps may differ, as a share (SPEC 3).
	maxApart = 0.05
	// maxStray is the share of the places of what begins steps that lie inside them, or of
	// steps that begin without it: recordings lose rows.
	maxStray = 0.02
)
