package gap

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// CoverageReport says how much of the GPU work came from CUDA graphs.
type CoverageReport struct {
	Coverage *float64 `json:"coverage"` // share of Kernels that are Replayed, null without kernels
	Kernels  int64    `json:"kernels"`  // that start in the window
	Replayed int64    `json:"replayed"` // of them those that a graph replay ran
	// GraphLaunches are calls that launch a graph, Recorded the replays that were
	// recorded, and Whole those of them without their kernels.
	GraphLaunches int64 `json:"launches"`
	Recorded      int64 `json:"recorded"`
	Whole         int64 `json:"whole"`
	// Launch calls per rank-step, null without steps.
	KernelLaunchesPerStep *float64 `json:"kernel_launches_per_step"`
	GraphLaunchesPerStep  *float64 `json:"graph_launches_per_step"`
	// Partial are the ranks whose recording is partial, Recapture the command line that
	// records what is missing, "" where nothing is.
	Partial   []PartialRank `json:"partial"`
	Recapture string        `json:"recapture,omitempty"`
	Eager     []EagerKernel `json:"eager"` // the most frequent first
}

// PartialRank is a rank of which replays are missing in the recording.
type PartialRank struct {
	Rank          int32 `json:"rank"`     // number of the rank
	GraphLaunches int64 `json:"launches"` // calls that launch a graph
	Recorded      int64 `json:"recorded"` // replays that were recorded
}

// EagerKernel is a kernel that was launched by itself.
type EagerKernel struct {
	Name  string `json:"name"`  // short name of the kernel
	Class string `json:"class"` // one of event.Classes, "" for none
	Count int64  `json:"count"` // in the window
	// Range is the innermost range around most of its launches, Path the ranges around
	// that, the outermost first, Source the function that a range stands for; "" each
	// where there is none.
	Range   string   `json:"range"`
	Path    string   `json:"path"`
	Source  string   `json:"source,omitempty"`
	Us      float64  `json:"us"`       // sum of their durations
	PerStep *float64 `json:"per_step"` // Count per rank-step, null without steps
	// Generation is how many of them ran in generation steps; Capturable is set
	// where there are any and the class belongs into a graph.
	Generation int64 `json:"generation"`
	Capturable bool  `json:"capturable"`
}

// Names gives the names of numbers; -1 has none.
type Names interface {
	Kernel(name int32) string
	Range(path int32) int32 // number of the innermost range of a path
	RangeText(path int32) string
	PathText(path int32) string
	Source(path int32) string
}

// Summary adds up what the ranks of a run launched.
type Summary struct {
	counts  Counts
	steps   int64
	partial []PartialRank
	kernels map[int32]*eagerSum // by name
}

// eagerSum is kernels of one name.
type eagerSum struct {
	count, ns, generation int64
	capturable            bool
	classes               map[event.Class]int64 // how many
	paths                 map[int32]int64
}

// AddRank adds what started in the window of a rank, which has a number of steps. Trace is
// what is known of its whole trace, nil for nothing.
func (s *Summary) AddRank(rank int32, c Counts, trace *event.RankFacts, steps int64) {
	s.counts.Add(&c)
	s.steps += steps
	launched, recorded := int64(0), int64(0)
	if trace != nil {
		launched, recorded = trace.GraphLaunches, trace.Graphs+trace.Replays
	}
	if step.LostReplays(c.GraphLaunches, c.Recorded, launched, recorded) {
		s.partial = append(s.partial, PartialRank{rank, c.GraphLaunches, c.Recorded})
	}
}

// AddKernels adds eager kernels of the steps of a phase.
func (s *Summary) AddKernels(k *Kernels, phase event.Phase) {
	k.Each(func(at EagerSite, e Eager) {
		if s.kernels == nil {
			s.kernels = map[int32]*eagerSum{}
		}
		sum := s.kernels[at.Name]
		if sum == nil {
			sum = &eagerSum{classes: map[event.Class]int64{}, paths: map[int32]int64{}}
			s.kernels[at.Name] = sum
		}
		sum.count += e.Count
		sum.ns += e.Ns
		sum.classes[e.Class] += e.Count
		sum.paths[at.Path] += e.Count
		if phase == event.Generation {
			sum.generation += e.Count
			sum.capturable = sum.capturable || Capturable(e.Class)
		}
	})
}

// CoverageReport reports on what was added, of reports that source recorded (event.Header.Source).
func (s *Summary) Report(names Names, source string) CoverageReport {
	n := &s.counts
	rep := CoverageReport{
		Kernels: n.Kernels, Replayed: n.Replayed, GraphLaunches: n.GraphLaunches, Recorded: n.Recorded, Whole: n.Whole,
		KernelLaunchesPerStep: s.perStep(n.KernelLaunches), GraphLaunchesPerStep: s.perStep(n.GraphLaunches),
		Partial: []PartialRank{}, Eager: []EagerKernel{},
	}
	rep.Partial = append(rep.Partial, s.partial...)
	if n.Kernels > 0 {
		rep.Coverage = new(float64(n.Replayed) / float64(n.Kernels))
	}
	rep.Recapture = recapture(&rep, source)
	for name, sum := range s.kernels {
		path := mostRange(sum.paths, names)
		class := ""
		if k := Most(sum.classes); k >= 0 {
			class = event.Classes[k]
		}
		rep.Eager = append(rep.Eager, EagerKernel{
			Name: names.Kernel(name), Class: class, Count: sum.count, Us: float64(sum.ns) / 1e3, PerStep: s.perStep(sum.count),
			Range: names.RangeText(path), Path: names.PathText(path), Source: names.Source(path),
			Generation: sum.generation, Capturable: sum.capturable,
		})
	}
	slices.SortFunc(rep.Eager, func(a, b EagerKernel) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return rep
}

// perStep divides by the number of steps, nil for none.
func (s *Summary) perStep(n int64) *float64 {
	if s.steps == 0 {
		return nil
	}
	return new(float64(n) / float64(s.steps))
}

// recapture returns the command line, or the argument of PyTorch's profiler, that records what is missing, "" where nothing is.
func recapture(rep *CoverageReport, source string) string {
	switch {
	case len(rep.Partial) > 0 && source == "torch":
		return report.TorchFewer
	case rep.Whole > 0, len(rep.Partial) > 0 && rep.Recorded == 0:
		return report.CaptureCommand(report.CaptureOptions{GIL: true})
	case len(rep.Partial) > 0:
		// Records of single kernels were lost: whole graphs are a thousandth of them.
		return report.CaptureCommand(report.CaptureOptions{GIL: true, WholeGraphs: true})
	}
	return ""
}

// Most returns the key with the largest count, of equal ones the smallest, -1 for no
// keys.
func Most[K ~int32](counts map[K]int64) K {
	best := K(-1)
	for i, k := range slices.Sorted(maps.Keys(counts)) {
		if i == 0 || counts[k] > counts[best] {
			best = k
		}
	}
	return best
}

// mostRange returns the most frequent path to the most frequent innermost range.
func mostRange(paths map[int32]int64, names Names) int32 {
	ranges := map[int32]int64{}
	for path, n := range paths {
		ranges[names.Range(path)] += n
	}
	most := Most(ranges)
	to := map[int32]int64{}
	for path, n := range paths {
		if names.Range(path) == most {
			to[path] = n
		}
	}
	return Most(to)
}
