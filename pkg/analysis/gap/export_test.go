package gap

import "testing"

// SetMaxStates changes the number of states that are kept, for a test.
func SetMaxStates(t *testing.T, n int) {
	old := maxStates
	maxStates = n
	t.Cleanup(func() { maxStates = old })
}

// TargetOf is what a finding is about.
var TargetOf = targetOf
