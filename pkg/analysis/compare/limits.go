package compare

// What the specification says (section 7).
const (
	// sameShare is the share of the wall time within which two runs count as the same, and
	// beyond which a longer one is a regression.
	sameShare = 0.01
	// unevenShare is the share of waits for a rank with more GPU work in what the GPUs' side
	// changed by, beyond which the ranks are uneven: half of it is where one rank of two
	// works longer, more where one of several does, none where all do. Source: halfway.
	unevenShare = 0.25
	// A change of more than so many percent is a regression, of less an improvement.
	regressionPercent = 50
	improvedPercent   = -30
	// fewSteps is the number of steps of a single run, and fewEffective that of independent
	// ones that they are worth, below which a row cannot be told.
	fewSteps     = 12
	fewEffective = 5
	// fewTails is the number of steps below which the report says what cannot be told.
	fewTails = 20
	// An operation is one of the common ones where it comes in so many of the steps of both
	// sides; of fewer common ones there is no common factor.
	commonSteps      = 0.9
	commonOperations = 5
	// few is the share below which something is rare (steps, section 7), torn or mixed (steps of
	// another size or batch, section 3), and a change of the number of kernels or of their time,
	// or of graphs no pattern; and by how much ranks have other shares of the steps than on the other side.
	few = 0.1
	// explains is the share of a change that what is named explains at least, or the sentence
	// says how little it is.
	explains = 0.5
)

// Statistics.
const (
	// alpha bounds the expected share of false alarms among the rows flagged.
	alpha = 0.05
	// tailQuantile is the quantile from which on steps are counted: fewer of them lie beyond
	// it than order statistics need (Fisher's test, package stat).
	tailQuantile = 0.95
)

// What makes a run one that cannot be compared.
const (
	// minSteps is how many steps of a rank a comparison needs: as many as make a benchmark
	// segment (specification, section 3).
	minSteps = 5
	// otherModel is the share of GPU time in kernels of names that the other side lacks, and
	// that of the number of kernels per step, from which on the model or its build is another
	// one. Measured: 0.89 between the models of testdata/h100, below 0.01 between its runs of one.
	otherModel = 0.25
)

// Sizes of what people read.
const (
	maxRows  = 20 // of a table, a figure, a list of steps
	topOps   = 10 // operations and causes of the hand-off and of the waterfall
	maxSaid  = 4  // items of a sentence
	maxParts = 80 // of a run, in the order of time
)

// Sizes of what a run keeps.
const (
	rowBlock = 256 // entries of a row that wait in memory: there are many rows
)
