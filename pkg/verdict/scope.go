package verdict

// Scopes that have a verdict.
const (
	Aggregate  = "aggregate"
	Context    = "context"
	Generation = "generation"
)

// The metrics, by their place in lists. The first six vote.
const (
	gpuIdle = iota
	launch
	prepExposed
	prepImpact
	prepAttribution
	gpuUtilization
	nccl
	graphLaunch
	comm
	numMetrics

	numVotes = nccl
)

// Names lists the metrics: the six that vote, nccl_ratio, which has a threshold
// for a caveat, and two for information.
var Names = [numMetrics]string{
	"gpu_idle_ratio", "launch_overhead_ratio", "host_prep_exposed_ratio", "host_prep_perf_impact",
	"host_prep_idle_attribution", "gpu_utilization", "nccl_ratio", "graph_launch_ratio", "comm_ratio",
}

// values are the metrics of a scope.
type values struct {
	value [numMetrics]*float64 // nil: not applicable
	idle  int64                // ns, of all lanes
}

// Scope is the verdict of a scope.
type Scope struct {
	Name    string
	Verdict string
	// Crossed is how many metrics are, out of Applicable ones.
	Crossed, Applicable int
	// HostPrep tells whether input preparation is confirmed as a cause, NCCL
	// whether NCCL kernels take so much of the busy time that it needs a caveat.
	HostPrep, NCCL bool

	values
	crossed [numMetrics]bool
	limits  *Limits
}

// judge finds the verdict of a scope.
func judge(name string, v values, limits *Limits) Scope {
	s := Scope{Name: name, Verdict: No, values: v, limits: limits}
	for m := range numVotes + 1 {
		s.crossed[m] = v.value[m] != nil && limits.crossed(m, *v.value[m])
	}
	for m := range numVotes {
		if v.value[m] != nil {
			s.Applicable++
		}
		if s.crossed[m] {
			s.Crossed++
		}
	}
	if s.Crossed >= votesForYes {
		s.Verdict = Yes
	}
	s.HostPrep = s.crossed[prepImpact] && s.crossed[prepAttribution]
	s.NCCL = s.crossed[nccl]
	return s
}

func (s *Scope) metrics() Metrics {
	v := &s.value
	return Metrics{v[gpuIdle], v[launch], v[prepExposed], v[prepImpact], v[prepAttribution], v[gpuUtilization], v[nccl]}
}

func (s *Scope) votes() Votes {
	c := &s.crossed
	return Votes{c[gpuIdle], c[launch], c[prepExposed], c[prepImpact], c[prepAttribution], c[gpuUtilization]}
}
