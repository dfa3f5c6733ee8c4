package straggler

import (
	"fmt"
	"slices"
	"testing"
)

// explained returns the report of a straggler, rank 1 of three, that is late by 100 us.
func explained(late, other Times) *Report {
	rep := &Report{LateUs: 100, Causes: []string{}}
	rep.Explain([]int{1}, []Times{other, late, other}, func(name string) string { return name + "()" })
	return rep
}

func TestExplain(t *testing.T) {
	one := func(name string, us float64) map[string]float64 { return map[string]float64{name: us} }
	tests := []struct {
		what   string
		late   Times
		other  Times
		side   string
		causes []string
	}{
		{"more work", Times{Operations: one("metadata", 180)}, Times{Operations: one("metadata", 90)}, "host", []string{"metadata"}},
		{"no more than the others", Times{Operations: one("metadata", 180)}, Times{Operations: one("metadata", 180)}, "", []string{}},
		{"too little", Times{Operations: one("metadata", 94)}, Times{Operations: one("metadata", 90)}, "", []string{}},
		{"it receives", Times{Operations: one("broadcast_requests", 180)}, Times{}, "", []string{}},
		{"slow kernels", Times{Kernels: one("gemm", 180), Operations: one("wait", 90)}, Times{Kernels: one("gemm", 100)}, "gpu", []string{"kernels:gemm"}},
		{
			"slow kernels, and an idle GPU", Times{Kernels: one("gemm", 180), Operations: one("wait", 90), Idle: one("host:wait", 30)},
			Times{Kernels: one("gemm", 100)}, "gpu", []string{"kernels:gemm", "wait"},
		},
	}
	for _, test := range tests {
		rep := explained(test.late, test.other)
		if rep.Side != test.side || !slices.Equal(rep.Causes, test.causes) {
			t.Errorf("%s: side %q, causes %q, want %q, %q", test.what, rep.Side, rep.Causes, test.side, test.causes)
		}
	}
}

func ExampleReport_Explain() {
	rep := explained(Times{Operations: map[string]float64{"_coordinator_metadata": 480}}, Times{})
	fmt.Println(rep.Side, rep.Causes)
	// Output: host [_coordinator_metadata]
}
