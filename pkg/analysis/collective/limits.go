package collective

// Limits of this package: name, unit, reason, source.
const (
	// maxSample is of how many collectives of a name, from the first that counts, it is found
	// out which lanes end them together: 4,096 are hundreds of steps, 64 kB per lane and name.
	maxSample = 4096
	// apartShare is the part of the usual distance between the ends of a lane's collectives of
	// a name within which another lane's end together with it. Ends that have nothing to do
	// with one another are that close in a quarter of the steps.
	apartShare = 8
	// apartMost bounds the same for collectives that are far apart, in ns: more than ends of
	// one collective differ by in any recording at hand.
	apartMost = 50_000
	// togetherShare is the share of the collectives, in percent, that have to end together: of
	// 20 steps that do by chance in a quarter, 14 are less likely than 1 in 10,000.
	togetherShare = 70
	// worthSaying, 1 % of the time of the GPUs: from here on kernels without a match are said, which
	// may hide waits of as much. Reason: a reader's patience.
	worthSaying = 0.01
	// minTogether is how many collectives two lanes have in common at least: of fewer nothing
	// can be said.
	minTogether = 4
	// minReduces is how many all-reduces are enough to compare clocks without other collectives, some
	// of which do not end together, and how many of another name to compare them by these alone.
	minReduces = 16
	// maxShift is by how many steps the recordings of two reports begin apart at most.
	maxShift = 8
	// maxDrift is by how much the clocks of hosts drift at most, as a share: 500 ppm.
	maxDrift = 500e-6
	// stretches is into how many a run is cut to see a drift.
	stretches = 16
	// agreement is within what share of a step's period the ends of collectives of one run agree
	// once clocks are aligned, and related what share of the differences between periods may
	// differ between its ranks.
	agreement, related = 0.02, 0.5
	// slackShare is how many times the median error of a clock nine in ten errors are within: 2.4
	// where they are normal, and a little more.
	slackShare = 3
	// maxPairs is how many distances between ends are kept to align two clocks.
	maxPairs = 1 << 16
)
