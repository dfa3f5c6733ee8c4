package gap

import "testing"

// SetMaxRuns changes the number of runs that are kept, for a test.
func SetMaxRuns(t *testing.T, n int) {
	old := maxRuns
	maxRuns = n
	t.Cleanup(func() { maxRuns = old })
}

// TwoPasses tells whether kernels are of two forward passes.
var TwoPasses = twoPasses
