package gap

import "testing"

// SetMaxStates changes the number of states that are kept, for a test.
func SetMaxStates(t *testing.T, n int) {
	old := maxStates
	maxStates = n
	t.Cleanup(func() { maxStates = old })
}

// TwoPasses reports whether kernels are of two forward passes.
var TwoPasses = twoPasses

// TargetOf is what a finding is about.
var TargetOf = targetOf
