package lineprof

// Limits of what printed figures can tell.
const (
	// halfDecimal is how far a number with one decimal is from what was printed, half of that
	// decimal, and a fifth more for what was rounded before.
	halfDecimal = 0.06
	// wholeTable is the share of a function's time that the lines of a whole table add up to at
	// least: under five sixths, more is missing than rounding explains.
	wholeTable = 5.0 / 6
	// nearUnit is how many times as large as a usual unit one may be that is inferred from shares.
	// Reason: usual units are ten times apart or more, and shares of one digit are right to half.
	nearUnit = 1.5
	// coarse is how many units a function takes at most whose shares, right to 0.05 %, say ten
	// times more than times that are right to 0.05 units.
	coarse = 10
	// sampleNs is what a sample without a unit stands for: 100 a second, py-spy's default.
	sampleNs = 10_000_000
)

// Limits of what is filled in from source files.
const (
	// maxGap is how many lines without figures are put ahead of one that has some, which is
	// longer than docstrings are; maxAdded is how many are put into all functions.
	maxGap   = 500
	maxAdded = 2 << 20
)
