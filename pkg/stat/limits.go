package stat

const (
	// Level is the probability with which an interval contains the true value.
	Level = 0.95

	// MinSamples: a mean of fewer samples has no variance. Of three, two cosines are
	// left, and an interval says nothing.
	MinSamples = 4

	// Cosines is how many of the lowest cosine coefficients make up the long-run
	// variance. More of them make it more precise if steps are independent, and too
	// small if they are correlated. Source: Lazarus, Lewis, Stock and Watson (2018)
	// recommend 0.4 n^(2/3), which is 6 for 60 steps; measured on this project's noise
	// in compare/ACCURACY.md.
	Cosines = 6

	// mostMemory is the largest correlation of neighbouring samples that is removed
	// before the cosines. Source: Andrews and Monahan (1992).
	mostMemory = 0.97

	// unlike: a sequence more than this many times as long as another shows what the
	// shorter one may have missed, up to MostUnlike times (SPEC 7).
	unlike     = 1.25
	MostUnlike = 10

	// MaxBins is the largest number of samples that a sequence is reduced to, so that
	// the time for an estimate does not grow with the run.
	MaxBins = 1024

	// power is the probability of finding a change that is called detectable.
	power = 0.8

	// roundingError: deviations below this share of a mean are rounding errors.
	roundingError = 1e-12
)

// MostOf reports whether part is at least half of whole. Source: SPEC 8, "for at least
// half of the blocked time".
func MostOf[T int | int32 | int64 | float64](part, whole T) bool { return 2*part >= whole }
