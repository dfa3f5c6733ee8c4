package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// examiner checks whether the runs can be compared, before rows are.
type examiner struct{ *Comparison }

// examine checks each side, and both together. A warning about both is given once.
func (c *examiner) examine() {
	var said []string
	of := map[string][]string{}
	add := func(run string, warnings []string) {
		for _, w := range warnings {
			if of[w] == nil {
				said = append(said, w)
			}
			of[w] = append(of[w], run)
		}
	}
	for _, s := range c.sides() {
		for _, one := range s.run.repeats {
			add(one.Name, one.Warnings)
		}
		add(s.run.Name, c.examineSide(s))
	}
	for _, w := range said {
		c.warn("%s: %s", strings.Join(slices.Compact(of[w]), ", "), w)
	}
	if c.target != nil {
		c.examinePair()
	}
}

// refuse records, if apart, a reason why the runs cannot be compared.
func (c *examiner) refuse(apart bool, format string, args ...any) {
	if apart {
		c.Comparable = false
		c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
	}
}

// perRank returns the largest number of chosen steps of a rank, in the run that has the
// fewest.
func (s *side) perRank() int {
	n := make([]int, s.samples.runs)
	for _, run := range s.samples.runOf {
		n[run]++
	}
	return slices.Min(n)
}

// examineSide refuses a run without anything to compare, and returns what it lacks.
func (c *examiner) examineSide(s *side) (lacks []string) {
	name, n, ranks := s.run.Name, s.perRank(), len(s.run.ranks)
	matched := c.opt.Match == MatchBatch
	c.refuse(ranks == 0, "%s has no steps", name)
	c.refuse(ranks > 0 && n == 0 && matched, "%s has no steps with the numbers of requests that the other side has", name)
	c.refuse(ranks > 0 && n == 0 && !matched, "%s has no %s: choose others with --phase", name, c.chosen())
	c.refuse(n > 0 && n < minSteps, "%s has %s per rank: a comparison needs at least %d; %d or more are recommended", name, c.counted(n), minSteps, fewTails)
	size, torn := s.sizes()
	c.refuse(size > 1 && torn > few*float64(s.samples.n), "steps of %s were not detected reliably: %.0f of %s do not have the %d all-reduce kernels of the others; with markers, use --by nvtx",
		name, torn, c.counted(s.samples.n), size)
	c.examineMarkers(s)
	c.refuse(ranks > 0 && s.gpus() == 0, "%s has no GPU activity", name)
	if !s.run.Ranges {
		lacks = append(lacks, "no NVTX ranges: profile with -t cuda,nvtx to see operations")
	}
	if s.run.why && len(s.run.missing) > 0 {
		lacks = append(lacks, "no record of "+missingText(s.run.missing)+": why launching threads stalled is known only in part")
	}
	if replays := s.figures[graphLaunches].Mean; replays > 0 {
		lacks = append(lacks, "graph replays recorded as a whole: their kernels are missing from all kernel figures")
	}
	return lacks
}

// examinePair checks what must be equal for a difference to mean something. A mismatch
// is refused: both sides are shown, but no change is called one. If neither side has the
// information, there is a warning. Sides without steps are refused elsewhere.
func (c *examiner) examinePair() {
	a, b := c.base, c.target
	if a.samples.n == 0 || b.samples.n == 0 {
		return
	}
	x, y := a.run, b.run
	ranks, others := len(x.ranks)/len(x.repeats), len(y.ranks)/len(y.repeats)
	c.refuse(ranks != others, "baseline and target have steps on %d and %d ranks: each step does a different share of the work", ranks, others)
	c.refuse(ranks == others && a.gpus()*len(y.repeats) != b.gpus()*len(x.repeats), "the baseline runs on %d GPUs and the target on %d", a.gpus()/len(x.repeats), b.gpus()/len(y.repeats))
	c.refuse(x.workload != y.workload, "the two runs do different work: one shows %s, the other does not", cmp.Or(event.WorkloadText(x.workload), event.WorkloadText(y.workload)))
	c.examineCounts()
	c.refuse(x.Method != y.Method, "steps were isolated by %s in the baseline and by %s in the target: isolate both with the same --by", x.Method, y.Method)
	c.refuse(a.wholeGraphs() != b.wholeGraphs() && (a.nodes() || b.nodes()),
		"one side was recorded with --cuda-graph-trace=node and the other with whole graphs: recording kernel by kernel slows replays down, so their times cannot be compared")
	c.examineLengths()
	size, _ := a.sizes()
	other, _ := b.sizes()
	c.refuse(size != other && size > 0 && other > 0, "baseline and target have %d and %d all-reduce kernels per step: the model or its parallelism differs, or steps were found differently; --by nvtx finds them by markers", size, other)
	c.refuse(x.marker != y.marker, "steps were found by the markers %q in the baseline and %q in the target: isolate both with the same --marker", x.marker, y.marker)
	c.examineModel()
	c.examineShares()
	c.refuse(x.Ranges != y.Ranges, "only one side has NVTX ranges: every operation would be new or gone")
	c.refuse(x.calls != y.calls, "only one side has CUDA API calls: the causes of idle time cannot be compared")
}

// examineCounts refuses sides if only one has numbers of requests, or if the numbers
// differ.
func (c *examiner) examineCounts() {
	a, b := c.base.run, c.target.run
	switch x, y := a.hasCounts(), b.hasCounts(); {
	case x != y:
		without := a
		if x {
			without = b
		}
		c.refuse(true, "%s has no forward-step markers with numbers of requests: whether its steps are of the same kind is unknown", without.Name)
	case x:
		c.examineWorkload()
	case a.workload == "" || a.workload != b.workload: // a workload without phases has no numbers
		c.warn("neither side has forward-step markers with numbers of requests: all steps were compared, whatever their phase")
	}
}

// examineLengths warns of what too few steps, or very different numbers of them, cannot
// show.
func (c *examiner) examineLengths() {
	for _, s := range c.sides() {
		if n := s.perRank(); n < fewTails {
			c.warn("%s has %s per rank: too few for P99, the maximum and events in 1 of 20 steps; with fewer than %d, one run per side shows nothing", s.run.Name, c.counted(n), fewSteps)
		}
	}
	a, b := c.base.samples, c.target.samples
	if n, m := a.slots, b.slots; a.runs == 1 && b.runs == 1 && max(n, m) > stat.MostUnlike*min(n, m) {
		c.warn("one side has over %d times as many steps as the other: the shorter run may underestimate the noise", stat.MostUnlike)
	}
}

// examineShares warns if a rank has a different share of the steps than on the other
// side, for example because its recording ends early. Differences between ranks then
// look like changes.
func (c *examiner) examineShares() {
	a, b, most, about := c.base.samples, c.target.samples, 1+few, ""
	for k := 0; k < min(len(a.at), len(b.at)) && a.runs == 1 && b.runs == 1; k++ {
		x, y := float64(a.first[k+1]-a.first[k])/float64(a.n), float64(b.first[k+1]-b.first[k])/float64(b.n)
		if times := max(x, y) / min(x, y); times > most {
			most = times
			about = fmt.Sprintf("rank %d has %s of the steps in the baseline and %s in the target", a.c.ranks[k].rank.id, report.Percent(x), report.Percent(y))
		}
	}
	if about != "" {
		c.warn("%s: differences between ranks look like changes; --rank compares them one by one", about)
	}
}

// wholeGraphs and nodes report whether graph replays were recorded as one row each, or
// kernel by kernel.
func (s *side) wholeGraphs() bool { return s.figures[graphLaunches].Mean > 0 }
func (s *side) nodes() bool       { return s.figures[graphKernels].Mean > 0 }

// examineWorkload refuses sides whose steps have different numbers of requests. With
// matched batches they are equal.
func (c *examiner) examineWorkload() {
	x, y := c.base.samples.c.batches(), c.target.samples.c.batches()
	apart := 1.0 // less what both have
	for b, n := range x {
		apart -= min(float64(n)/float64(c.base.samples.c.n), float64(y[b])/float64(c.target.samples.c.n))
	}
	c.refuse(c.opt.Match != MatchBatch && apart > few,
		"%.0f %% of the %s differ in their numbers of requests: most often %s in the baseline, %s in the target. "+
			"Profile both with the same load, or compare the steps with equal numbers of requests (--match batch)",
		100*apart, c.chosen(), countsText(x), countsText(y))
}

// countsText describes the numbers of requests that most steps have.
func countsText(of map[batch]int) string {
	most := slices.MaxFunc(slices.Collect(maps.Keys(of)), func(a, b batch) int {
		return cmp.Or(cmp.Compare(of[a], of[b]), cmp.Compare(a.gen, b.gen), cmp.Compare(a.ctx, b.ctx))
	})
	if most.ctx > 0 {
		return fmt.Sprintf("%d context and %d generation requests", most.ctx, most.gen)
	}
	return fmt.Sprintf("%d generation requests", most.gen)
}

// sizes returns the most frequent size of the run's steps, and how many of the chosen
// steps have another one.
func (s *side) sizes() (size int64, torn float64) {
	for _, r := range s.samples.c.ranks {
		size = max(size, r.rank.size)
		for _, k := range r.steps {
			if one := r.rank.steps[k].size; one != 0 && int64(one) != r.rank.size {
				torn++
			}
		}
	}
	return size, torn
}

// examineModel notes if the sides run different models, or different builds of one:
// kernels of different names, or a different number of them. They are compared all the
// same.
func (c *examiner) examineModel() {
	a, b := c.base, c.target
	if a.wholeGraphs() || b.wholeGraphs() {
		return // its kernels are unknown
	}
	kernels := func(s *side) float64 { return s.figures[eagerKernels].Mean + s.figures[graphKernels].Mean }
	x, y := kernels(a), kernels(b)
	own := (a.unshared(b) + b.unshared(a)) / 2
	switch {
	case own >= otherModel:
		c.OtherModel = fmt.Sprintf("another model or build: %s of the GPU time is in kernels that only one side has", report.Percent(own))
	case min(x, y) > 0 && max(x, y) >= (1+otherModel)*min(x, y) && a.nodes() == b.nodes():
		c.OtherModel = fmt.Sprintf("another model or build: %s kernels per step against %s", report.Digits(x), report.Digits(y))
	}
}

// unshared returns the share of a side's kernel time in kernels that the other side
// lacks.
func (s *side) unshared(o *side) float64 {
	own, all := 0.0, 0.0
	for name, one := range s.rows[kernels] {
		all += one.parts[whole].Mean
		if o.rows[kernels][name] == nil {
			own += one.parts[whole].Mean
		}
	}
	if all == 0 {
		return 0
	}
	return own / all
}

// examineMarkers refuses a side whose steps are not the iterations that forward-step
// markers show, according to isolate.
func (c *examiner) examineMarkers(s *side) {
	for _, r := range s.samples.c.ranks {
		if !r.rank.unlike {
			continue
		}
		are, remedy := "are not those that its forward-step markers show", "use --by nvtx"
		if s.run.Method == "nvtx" {
			are, remedy = "hold an iteration without a marker", "use another --by than nvtx"
		}
		c.refuse(true, "steps of %s were not detected reliably: more than a tenth of the steps of rank %d %s; %s", s.run.Name, r.rank.id, are, remedy)
		return
	}
}
