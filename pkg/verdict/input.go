package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/table"
)

// Input is what was measured of a run.
type Input struct {
	values map[string]values // by scope
	run    run
}

// run is what the metadata of the table says, as package metric writes it.
type run struct {
	Method      string `json:"method"`
	Window      string `json:"window"`
	Lanes       int    `json:"lanes"`
	GPUActivity bool   `json:"gpu_activity"`
	Ranks       []struct {
		Rank          int32  `json:"rank"`
		Total         int64  `json:"total"`
		CommonSize    int64  `json:"common_size"`
		Segments      int64  `json:"segments"`
		Benchmark     *int64 `json:"benchmark"`
		GraphLaunches int64  `json:"graph_launches"`
		Replays       int64  `json:"replays"`
	} `json:"ranks"`
	Phases []phaseRun `json:"phases"`
	Steady *struct {
		Steps   int64    `json:"steps"`
		Wall    float64  `json:"wall_ns"`
		GapP50  *float64 `json:"gap_p50_ns"`
		Kernels *float64 `json:"kernels"`
	} `json:"steady"`
	HiddenGraphs int64    `json:"hidden_graphs"`
	Kernels      int64    `json:"kernels"`
	Launches     int64    `json:"launches"`
	Warnings     []string `json:"warnings"`
}

// phaseRun describes the steps of a phase.
type phaseRun struct {
	Phase      string `json:"phase"`
	Iterations int64  `json:"iterations"`
	Replayed   int64  `json:"replayed"`
}

// The table of metrics that is understood.
const (
	schema  = "metrics"
	version = 1
)

var fields = []table.Field{
	{Name: "scope", Type: table.Text},
	{Name: "metric", Type: table.Text},
	{Name: "numerator_ns", Type: table.Int},
	{Name: "applicable", Type: table.Bool},
	{Name: "value", Type: table.Float},
}

// FromTable reads a table of metrics.
func FromTable(t *table.Table) (*Input, error) {
	if t.Schema != schema || t.Version != version {
		return nil, fmt.Errorf("want a table of %s, version %d, not of %s, version %d", schema, version, t.Schema, t.Version)
	}
	if err := t.Check(fields...); err != nil {
		return nil, err
	}
	in := &Input{values: map[string]values{}}
	if err := json.Unmarshal([]byte(t.Meta["run"]), &in.run); err != nil {
		return nil, fmt.Errorf("table of metrics: metadata run: %w", err)
	}
	for i := range t.Len() {
		m := slices.Index(Names[:], t.Text(i, "metric"))
		if m < 0 {
			continue // a metric of a later version
		}
		scope := t.Text(i, "scope")
		v := in.values[scope]
		if x, ok := t.Float(i, "value"); ok {
			v.value[m] = &x
		}
		if m == gpuIdle {
			v.idle, _ = t.Int(i, "numerator_ns")
		}
		in.values[scope] = v
	}
	if _, ok := in.values[Aggregate]; !ok {
		return nil, errors.New("table of metrics: no row of scope " + Aggregate)
	}
	return in, nil
}

// phase returns what is known of a phase, nil where it has no steps.
func (r *run) phase(name string) *phaseRun {
	for i := range r.Phases {
		if r.Phases[i].Phase == name {
			return &r.Phases[i]
		}
	}
	return nil
}

// steps describes the steps of the ranks.
func (r *run) steps() Steps {
	s := Steps{Method: r.Method, PerRank: []Rank{}}
	if s.Method == "" {
		s.Method = "none"
		return s
	}
	for _, rank := range r.Ranks {
		n := rank.Total
		if rank.Benchmark != nil {
			n = *rank.Benchmark
		}
		s.PerRank = append(s.PerRank, Rank{rank.Rank, rank.Total, rank.CommonSize, rank.Segments, n})
	}
	return s
}

// inconclusive says why the trace cannot answer, a sentence each.
func (r *run) inconclusive() (reasons []string) {
	if !r.GPUActivity {
		reasons = append(reasons, "there is no GPU activity in the window")
	}
	for _, rank := range r.Ranks {
		missing := rank.GraphLaunches - rank.Replays
		if missing > 2 && 100*missing > rank.Replays {
			reasons = append(reasons, fmt.Sprintf(
				"rank %d launched %d CUDA graphs in its window, but only %d replays were recorded: "+
					"GPU work is missing from the trace, idle GPUs may not be idle", rank.Rank, rank.GraphLaunches, rank.Replays))
		}
	}
	return reasons
}

// warn says what the trace or its steps lack.
func (r *run) warn(say func(format string, args ...any)) {
	if r.Method != "" {
		for _, rank := range r.Ranks {
			switch {
			case rank.Total == 0:
				say("rank %d has no steps and is not in the figures of steps", rank.Rank)
			case rank.Benchmark == nil:
				say("rank %d has no benchmark segment: all %d steps are taken, warm-up included", rank.Rank, rank.Total)
			}
		}
		for _, p := range r.Phases {
			if p.Iterations < fewSteps {
				say("there are only %d %s steps: their figures say little", p.Iterations, p.Phase)
			}
		}
	}
	if r.HiddenGraphs > 0 {
		say("%d graph replays have one row each: they count as busy, but the kernels inside, collectives included, "+
			"are not seen (profile with --cuda-graph-trace=node to see them)", r.HiddenGraphs)
	}
	if r.Kernels > 0 && r.Launches == 0 && r.HiddenGraphs == 0 {
		say("there are kernels, but no calls that launch them: launch_overhead_ratio is 0 for want of API calls in the trace")
	}
	for _, rank := range r.Ranks {
		if extra := rank.Replays - rank.GraphLaunches; extra > 2 && 100*extra > rank.GraphLaunches {
			say("rank %d has %d graph replays, but only %d calls that launched them: calls are missing from the trace",
				rank.Rank, rank.Replays, rank.GraphLaunches)
		}
	}
}
