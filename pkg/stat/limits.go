package stat

const (
	// Level is the probability with which an interval is to hold the truth.
	Level = 0.95

	// MinSamples is the number of samples below which a mean has no variance: with three,
	// two cosines are left, and an interval says nothing.
	MinSamples = 4

	// Cosines is how many of the lowest cosine coefficients make the long-run variance.
	// More are more certain where steps are independent and too small where they resemble
	// one another. Source: Lazarus, Lewis, Stock and Watson (2018) recommend 0.4 n^(2/3),
	// which is 6 at 60 steps; measured on this project's noise in compare/ACCURACY.md.
	Cosines = 6

	// mostMemory is the largest correlation of neighbouring samples that is taken out before
	// the cosines. Source: Andrews and Monahan (1992).
	mostMemory = 0.97

	// unlike is how many times as long a sequence is that says what a shorter one may have
	// missed, MostUnlike up to how many times it does (specification, section 7).
	unlike     = 1.25
	MostUnlike = 10

	// MaxBins is how many samples a sequence is put together to, at most: so the time
	// for an estimate does not grow with the run.
	MaxBins = 1024

	// power is the probability with which a change that is called detectable is found.
	power = 0.8

	// roundingError is the share of a mean below which deviations from it are rounding.
	roundingError = 1e-12
)

// MostOf reports whether part is half of whole or more. Source: SPEC 8, "for at least half of
// the blocked time".
func MostOf[T int | int32 | int64 | float64](part, whole T) bool { return 2*part >= whole }
