package lineprof

// Limits on what printed figures can show.
const (
	// halfDecimal is the largest difference between a value and its printed form with
	// one decimal: half of that decimal, and a fifth more for earlier rounding.
	halfDecimal = 0.06
	// wholeTable is the least share of a function's time that the lines of a complete
	// table add up to. Below five sixths, more is missing than rounding explains.
	wholeTable = 5.0 / 6
	// nearUnit is the largest ratio at which an inferred unit counts as a usual one.
	// Reason: usual units differ by a factor of ten or more, and shares of one digit
	// are accurate to half.
	nearUnit = 1.5
	// coarse is the largest total time of a function, in units, for which shares are
	// used instead of times. Reason: shares accurate to 0.05 % are then ten times as
	// accurate as times accurate to 0.05 units.
	coarse = 10
	// sampleNs is the time of a sample without a unit: 100 per second, py-spy's
	// default.
	sampleNs = 10_000_000
)

// Limits on what is filled in from source files.
const (
	// maxGap is the most lines without figures that are filled in before a line that
	// has some, more than docstrings have. maxAdded is the most lines filled in over
	// all functions.
	maxGap   = 500
	maxAdded = 2 << 20
)
