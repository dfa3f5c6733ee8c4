package compare

import (
	"fmt"
	"strings"
)

// RunCount is the number of runs on each side of a comparison.
type RunCount struct {
	Baseline int `json:"baseline"` // at least 1
	Target   int `json:"target"`   // 0 if there is no target
}

// Join combines runs of one version, each a separate start, so that variation from start
// to start is included in the evidence. It returns a single run unchanged. The runs must
// not be used afterwards. Runs with different ranks, methods or records cannot be
// combined: the error says which.
func Join(runs []*Run) (*Run, error) {
	first := runs[0]
	if len(runs) == 1 {
		return first, nil
	}
	all := &Run{Method: first.Method, marker: first.marker, why: first.why, missing: first.missing, workload: first.workload, repeats: runs}
	var titles []string
	for k, r := range runs {
		if err := first.repeatable(r); err != nil {
			return nil, err
		}
		titles = append(titles, r.Name)
		all.Ranges, all.calls = all.Ranges || r.Ranges, all.calls || r.calls
		all.why, all.missing = all.why && r.why, unite(all.missing, r.missing)
		for _, p := range r.ranks {
			p.run = k
		}
		all.ranks = append(all.ranks, r.ranks...)
	}
	all.Name = strings.Join(titles, " + ")
	return all, nil
}

// repeatable returns an error if other cannot be a repetition of r.
func (r *Run) repeatable(other *Run) error {
	switch {
	case r.Method != other.Method:
		return fmt.Errorf("runs of one side must have their steps found by the same method: by %s in %s, by %s in %s", r.Method, r.Name, other.Method, other.Name)
	case r.marker != other.marker:
		return fmt.Errorf("runs of one side must have their steps found with the same marker: --marker %q in %s, %q in %s", r.marker, r.Name, other.marker, other.Name)
	case len(r.ranks) != len(other.ranks):
		return fmt.Errorf("runs of one side must have equal ranks: %d with steps in %s, %d in %s", len(r.ranks), r.Name, len(other.ranks), other.Name)
	case r.Ranges != other.Ranges:
		return fmt.Errorf("runs of one side must be recorded the same way: only one of %s and %s has NVTX ranges", r.Name, other.Name)
	case r.calls != other.calls:
		return fmt.Errorf("runs of one side must be recorded the same way: only one of %s and %s has CUDA API calls", r.Name, other.Name)
	}
	return nil
}
