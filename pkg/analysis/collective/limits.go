package collective

// Limits of this package: name, unit, reason, source.
const (
	// maxSample is how many collectives of a name, from the first, are used to find the lanes
	// that end them together: 4,096 are hundreds of steps, 96 kB per lane and name.
	maxSample = 4096
	// apartShare: two lanes end a collective together if the ends differ by at most 1/apartShare
	// of the median distance between a lane's collectives of that name. Unrelated ends are that
	// close in a quarter of the steps.
	apartShare = 8
	// apartMost, in ns, bounds that difference for collectives that are far apart. It is more
	// than the ends of one collective differ by in any recording at hand.
	apartMost = 50_000
	// togetherShare is the share of the collectives, in percent, that must end together. If a
	// quarter of 20 steps do so by chance, the chance of 14 is less than 1 in 10,000.
	togetherShare = 70
	// worthSaying, 1 % of the GPUs' time: from this share on, kernels without a match are
	// mentioned, because they may hide waits as long as that. Reason: a reader's patience.
	worthSaying = 0.01
	// minTogether is the least number of collectives that two lanes must have in common:
	// fewer show nothing.
	minTogether = 4
	// minReduces is how many all-reduces are enough to compare clocks without other
	// collectives, some of which do not end together. It is also how many collectives of another
	// name are enough to compare clocks by these alone.
	minReduces = 16
	// maxShift is the most steps by which the recordings of two reports may begin apart.
	maxShift = 8
	// maxDrift is the largest drift between the clocks of hosts: 500 ppm.
	maxDrift = 500e-6
	// stretches is the number of parts into which a run is cut to see a drift.
	stretches = 16
	// Once clocks are aligned, the ends of collectives of one run agree to within the share
	// agreement of a step's period. Or else the periods of its ranks vary together: their
	// differences vary by less than the share related of what the periods vary by.
	agreement, related = 0.02, 0.5
	// slackShare is the multiple of a clock's median error that nine in ten errors are within:
	// 2.4 if they are normal, and a little more.
	slackShare = 3
	// maxPairs is the most distances between ends that are kept to align two clocks.
	maxPairs = 1 << 16
)
