package compare

// Limits of SPEC 7.
const (
	// sameShare is the share of the wall time within which two runs count as the same,
	// and beyond which a longer step is a regression.
	sameShare = 0.01
	// unevenShare: ranks are uneven if waits for a rank with more GPU work exceed this
	// share of the change on the GPUs' side. The share is half if one rank of two works
	// longer, more if one of several does, 0 if all do. Source: halfway.
	unevenShare = 0.25
	// A change of more than regressionPercent is a regression, one below
	// improvedPercent an improvement.
	regressionPercent = 50
	improvedPercent   = -30
	// A row is not testable with fewer than fewSteps steps in a single run, or if these
	// are worth fewer than fewEffective independent ones.
	fewSteps     = 12
	fewEffective = 5
	// fewTails is the number of steps below which the report lists what cannot be
	// tested.
	fewTails = 20
	// An operation is common if it occurs in this share of the steps of both sides. With
	// fewer common operations than commonOperations there is no common factor.
	commonSteps      = 0.9
	commonOperations = 5
	// few is a share with several uses. Less is rare (steps, section 7). More makes
	// steps torn or mixed (of another size or batch, section 3), or a rank's share of
	// the steps different from the other side's. If this share of the baseline's graph
	// replays, or less, remains, graphs are lost.
	few = 0.1
	// explains is the share of a change that the named causes should explain; if they do
	// not, the report says so.
	explains = 0.5
)

// Statistics.
const (
	// alpha bounds the expected share of false alarms among the significant rows.
	alpha = 0.05
	// tailQuantile is the quantile from which on steps are counted (Fisher's test,
	// package stat): fewer steps lie beyond it than order statistics need.
	tailQuantile = 0.95
)

// Limits of what can be compared.
const (
	// minSteps is how many steps per rank a comparison needs: those of a benchmark
	// segment (SPEC 3).
	minSteps = 5
	// otherModel: the model or its build differs if this share of GPU time is in kernels
	// whose names the other side lacks. The same holds if the number of kernels per step
	// differs by this share. Measured: 0.89 between the models of testdata/h100, below
	// 0.01 between runs of one.
	otherModel = 0.25
)

// Sizes of reports.
const (
	maxRows  = 20 // rows of a table, a figure, a list of steps
	topOps   = 10 // operations and causes in the hand-off and the waterfall
	maxSaid  = 4  // items in a sentence
	maxParts = 80 // parts of a run in a figure over time
)

// Memory.
const (
	rowBlock = 256 // entries of a row that are buffered: there are many rows
)
