// Graph coverage is defined in the package comment. A recording is partial only if replays
// are missing both in the window and in the whole trace: where the host runs ahead, the
// replays of the last launches begin after the window.

package gap

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Counts counts what started in some span of time.
type Counts struct {
	Kernels        int64 `json:"kernels"`  // without whole-graph rows
	Replayed       int64 `json:"replayed"` // those of Kernels that a graph replay ran
	KernelLaunches int64 `json:"-"`        // calls that launch a kernel
	GraphLaunches  int64 `json:"launches"` // calls that launch a graph
	Recorded       int64 `json:"recorded"` // graph replays that were recorded
	Whole          int64 `json:"whole"`    // those of Recorded without their kernels
}

// Add adds what started in another span.
func (c *Counts) Add(d *Counts) {
	c.Kernels += d.Kernels
	c.Replayed += d.Replayed
	c.KernelLaunches += d.KernelLaunches
	c.GraphLaunches += d.GraphLaunches
	c.Recorded += d.Recorded
	c.Whole += d.Whole
}

// CoverageReport says how much of the GPU work came from CUDA graphs.
type CoverageReport struct {
	Coverage *float64 `json:"coverage"` // share of Kernels that are Replayed, null without kernels
	Counts            // of what starts in the window
	// Launch calls per rank-step, null without steps.
	KernelLaunchesPerStep *float64 `json:"kernel_launches_per_step"`
	GraphLaunchesPerStep  *float64 `json:"graph_launches_per_step"` // null without steps
	// Partial lists the ranks whose recording is partial. Recapture is the command line, or the
	// profiler argument, that records what is missing; "" if nothing is, or none is known.
	Partial   []PartialRank `json:"partial"`
	Recapture string        `json:"recapture,omitempty"`
	Eager     []EagerKernel `json:"eager"` // the most frequent first
}

// PartialRank is a rank with replays missing from the recording.
type PartialRank struct {
	Rank          int32 `json:"rank"`     // number of the rank
	GraphLaunches int64 `json:"launches"` // calls that launch a graph
	Recorded      int64 `json:"recorded"` // replays that were recorded
}

// EagerKernel is a kernel that was launched one by one, not replayed from a graph.
type EagerKernel struct {
	Name  string `json:"name"`  // short name of the kernel
	Class string `json:"class"` // one of event.Classes, "" for none
	Count int64  `json:"count"` // in the window
	// Range is the most frequent innermost range around its launches. Path is the most frequent
	// path of ranges that ends in it, the outermost first. Source is the function that a range
	// stands for. Each is "" if there is none.
	Range   string   `json:"range"`
	Path    string   `json:"path"`
	Source  string   `json:"source,omitempty"`
	Us      float64  `json:"us"`       // sum of their durations
	PerStep *float64 `json:"per_step"` // Count per rank-step, null without steps
	// Generation is how many of them ran in generation steps. Capturable is set if there are
	// any and kernels of the class should be captured.
	Generation int64 `json:"generation"`
	Capturable bool  `json:"capturable"`
}

// eager tallies the kernels of one name that no graph replay ran.
type eager struct {
	count, ns, generation int64
	paths                 map[int32]int64 // count by path
}

// graphReport sums up graph coverage.
func (c *Watch) graphReport(views []*view) CoverageReport {
	rep := CoverageReport{Partial: []PartialRank{}, Eager: []EagerKernel{}}
	steps, kernels := int64(0), map[int32]*eager{}
	for _, v := range views {
		started, launched, recorded := v.started(), int64(0), int64(0)
		if f := c.header.RankFacts(v.id); f != nil {
			launched, recorded = f.GraphLaunches, f.Graphs+f.Replays
		}
		rep.Add(&started)
		if steps += v.steps; step.LostReplays(started.GraphLaunches, started.Recorded, launched, recorded) {
			rep.Partial = append(rep.Partial, PartialRank{v.id, started.GraphLaunches, started.Recorded})
		}
		for b := range v.eachBin() {
			for at, t := range b.eager {
				one := kernels[at.name]
				if one == nil {
					one = &eager{paths: map[int32]int64{}}
					kernels[at.name] = one
				}
				one.count, one.ns = one.count+t.count, one.ns+t.ns
				one.paths[at.path] += t.count
				if b.phase == event.Generation {
					one.generation += t.count
				}
			}
		}
	}
	rep.KernelLaunchesPerStep, rep.GraphLaunchesPerStep = perStep(float64(rep.KernelLaunches), steps), perStep(float64(rep.GraphLaunches), steps)
	if rep.Kernels > 0 {
		rep.Coverage = new(ratio(rep.Replayed, rep.Kernels))
	}
	rep.Recapture = recapture(&rep, c.header.Source())
	for name, one := range kernels {
		rep.Eager = append(rep.Eager, c.eagerKernel(name, one, steps))
	}
	slices.SortFunc(rep.Eager, func(a, b EagerKernel) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return rep
}

// eagerKernel returns the report's row for the kernels of a name.
func (t *texts) eagerKernel(name int32, one *eager, steps int64) EagerKernel {
	ranges, to := map[int32]int64{}, map[int32]int64{}
	for path, n := range one.paths {
		ranges[t.sites.Range(path)] += n
	}
	within := most(ranges)
	for path, n := range one.paths {
		if t.sites.Range(path) == within {
			to[path] = n
		}
	}
	path, class := most(to), t.kernels.of(name).class
	k := EagerKernel{
		Name: t.kernels.Text(name), Count: one.count, Us: us(one.ns), PerStep: perStep(float64(one.count), steps), Generation: one.generation,
		Range: t.sites.RangeText(path), Path: t.sites.PathText(path), Source: t.Source(path), Capturable: one.generation > 0 && replay.Capturable(class),
	}
	if class >= 0 {
		k.Class = event.Classes[class]
	}
	return k
}

// recapture returns the command line, or the argument of PyTorch's profiler, that records
// what is missing. It returns "" if nothing is, or if no command would record it.
func recapture(rep *CoverageReport, source string) string {
	switch {
	case len(rep.Partial) > 0 && source == "torch":
		return report.TorchFewer
	case source == "rocpd":
		return ""
	case rep.Whole > 0, len(rep.Partial) > 0 && rep.Recorded == 0:
		return report.CaptureCommand(report.CaptureOptions{GIL: true})
	case len(rep.Partial) > 0:
		// Records of single kernels were lost. Whole graphs need a thousandth as many.
		return report.CaptureCommand(report.CaptureOptions{GIL: true, WholeGraphs: true})
	}
	return ""
}

// most returns the key with the largest count, the smallest such key, or -1 without keys.
func most[K ~int32](counts map[K]int64) K {
	best := K(-1)
	for i, k := range slices.Sorted(maps.Keys(counts)) {
		if i == 0 || counts[k] > counts[best] {
			best = k
		}
	}
	return best
}
