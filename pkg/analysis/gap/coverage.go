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

// graphReport sums up graph coverage.
func (c *Watch) graphReport(views []*view) CoverageReport {
	rep := CoverageReport{Partial: []PartialRank{}, Eager: []EagerKernel{}}
	// By name of the kernel: the totals, those in generation steps, and the numbers by path.
	steps, eager, generation, paths := int64(0), map[int32]tally{}, map[int32]int64{}, map[int32]map[int32]int64{}
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
				if paths[at.name] == nil {
					paths[at.name] = map[int32]int64{}
				}
				paths[at.name][at.path] += t.count
				all := eager[at.name]
				all.add(*t)
				if eager[at.name] = all; b.phase == event.Generation {
					generation[at.name] += t.count
				}
			}
		}
	}
	rep.KernelLaunchesPerStep, rep.GraphLaunchesPerStep = perStep(float64(rep.KernelLaunches), steps), perStep(float64(rep.GraphLaunches), steps)
	if rep.Kernels > 0 {
		rep.Coverage = new(ratio(rep.Replayed, rep.Kernels))
	}
	rep.Recapture = recapture(&rep, c.header.Source())
	for name, t := range eager {
		path, class := c.usual(paths[name]), c.kernels.of(name).class
		k := EagerKernel{
			Name: c.kernels.Text(name), Count: t.count, Us: us(t.ns), PerStep: perStep(float64(t.count), steps), Generation: generation[name],
			Range: c.sites.RangeText(path), Path: c.sites.PathText(path), Source: c.Source(path), Capturable: generation[name] > 0 && replay.Capturable(class),
		}
		if class >= 0 {
			k.Class = event.Classes[class]
		}
		rep.Eager = append(rep.Eager, k)
	}
	slices.SortFunc(rep.Eager, func(a, b EagerKernel) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return rep
}

// usual returns the most frequent path of those that end in the most frequent innermost range.
func (t *texts) usual(paths map[int32]int64) int32 {
	ranges, within := map[int32]int64{}, maps.Clone(paths)
	for path, n := range paths {
		ranges[t.sites.Range(path)] += n
	}
	name := most(ranges)
	maps.DeleteFunc(within, func(path int32, _ int64) bool { return t.sites.Range(path) != name })
	return most(within)
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

// most returns the key with the largest count, the smallest such key.
func most[K cmp.Ordered](counts map[K]int64) (best K) {
	for i, k := range slices.Sorted(maps.Keys(counts)) {
		if i == 0 || counts[k] > counts[best] {
			best = k
		}
	}
	return best
}
