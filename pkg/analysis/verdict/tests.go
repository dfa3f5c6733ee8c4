package verdict

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// Tests returns the verdict of each scope as a check for continuous integration. A YES is a
// failure. If the trace cannot tell, there is a single check, which could not be made. With a
// history there is one more check: whether the run is worse than those before.
func (r *Report) Tests() []report.Test {
	tests := r.scopeTests()
	if r.History != nil {
		tests = append(tests, r.History.Test())
	}
	return tests
}

// scopeTests returns the checks of the verdict itself.
func (r *Report) scopeTests() []report.Test {
	if r.Verdict == Inconclusive {
		return []report.Test{{Name: "the host does not hold the GPUs back", Trouble: strings.Join(r.Reasons, "; ")}}
	}
	var tests []report.Test
	for i := range r.Scopes {
		s := &r.Scopes[i]
		t := report.Test{Name: "the host does not hold the GPUs back in the " + r.about(s)}
		if s.Verdict == Yes {
			t.Failure = report.Capital(s.evidence()) + "."
			if r.LowOnLoad() {
				t.Failure = lowLoadAnswer + ", not host overhead. " + t.Failure
			}
		}
		tests = append(tests, t)
	}
	return tests
}
