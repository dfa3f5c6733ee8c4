package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// examiner finds out whether the runs can be compared, before any row is.
type examiner struct{ *Comparison }

// examine looks at each side, and at both together. What is wrong with both is said once.
func (c *examiner) examine() {
	var said []string
	of := map[string][]string{}
	for _, s := range c.sides() {
		for _, w := range slices.Concat(s.run.Warnings, c.examineSide(s)) {
			if of[w] == nil {
				said = append(said, w)
			}
			of[w] = append(of[w], s.run.Name)
		}
	}
	for _, w := range said {
		c.warn("%s: %s", strings.Join(slices.Compact(of[w]), ", "), w)
	}
	if c.target != nil {
		c.examinePair()
	}
}

// refuse says why the runs cannot be compared.
func (c *examiner) refuse(format string, args ...any) {
	c.Comparable = false
	c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
}

// perRank is the largest number of chosen steps of a rank, of the run that has the
// fewest.
func (s *side) perRank() int {
	n := make([]int, s.samples.runs)
	for _, run := range s.samples.runOf {
		n[run]++
	}
	return slices.Min(n)
}

// examineSide refuses a run that has nothing to compare, and returns what it lacks.
func (c *examiner) examineSide(s *side) (lacks []string) {
	name := s.run.Name
	switch n := s.perRank(); {
	case len(s.run.ranks) == 0:
		c.refuse("%s has no steps", name)
	case n == 0 && c.opt.Match == MatchBatch:
		c.refuse("%s has no steps with the numbers of requests that the other side has", name)
	case n == 0:
		c.refuse("%s has no %s", name, c.chosen())
	case n < minSteps:
		c.refuse("%s has %s per rank: a comparison needs at least %d; %d or more are recommended", name, c.counted(n), minSteps, fewTails)
	}
	c.examineSizes(s)
	c.examineMarkers(s)
	if gpus := c.gpus(s); gpus == 0 && len(s.run.ranks) > 0 {
		c.refuse("%s has no GPU activity", name)
	}
	if !s.run.Ranges {
		lacks = append(lacks, "no NVTX ranges: profile with -t cuda,nvtx to see operations")
	}
	if replays := s.figures[graphLaunches].mean; replays > 0 {
		lacks = append(lacks, "graph replays recorded as a whole: their kernels are in no figure of kernels")
	}
	return lacks
}

// gpus is the number of GPUs of all ranks.
func (c *examiner) gpus(s *side) int {
	n := 0
	for _, p := range s.run.ranks {
		n += p.gpus
	}
	return n
}

// examinePair compares what must be equal for a difference to mean something. What differs is
// refused, that is, both sides are shown and no change is called one; where nothing is known
// on either side there is a warning. Sides without steps are examined elsewhere.
func (c *examiner) examinePair() {
	a, b := c.base, c.target
	if a.samples.n == 0 || b.samples.n == 0 {
		return
	}
	if x, y := len(a.run.ranks), len(b.run.ranks); x != y {
		c.refuse("baseline and target have steps on %d and %d ranks: each step does a different share of the work", x, y)
	}
	if x, y := c.gpus(a), c.gpus(b); x != y && len(a.run.ranks) == len(b.run.ranks) {
		c.refuse("the baseline runs on %d GPUs and the target on %d", x, y)
	}
	if a.run.workload != b.run.workload {
		one := cmp.Or(event.WorkloadText(a.run.workload), event.WorkloadText(b.run.workload))
		c.refuse("the two runs do different work: one shows %s, the other does not", one)
	}
	switch x, y := a.run.hasCounts(), b.run.hasCounts(); {
	case x != y:
		without := a
		if x {
			without = b
		}
		c.refuse("%s has no forward-step markers with numbers of requests: whether its steps are of the same kind is unknown", without.run.Name)
	case !x && a.run.workload != "" && a.run.workload == b.run.workload: // which has no phases
	case !x:
		c.warn("neither side has forward-step markers with numbers of requests: all steps were compared, whatever their phase")
	default:
		c.examineWorkload()
	}
	if x, y := a.run.Method, b.run.Method; x != y {
		c.refuse("steps were isolated by %s in the baseline and by %s in the target: isolate both with the same --by", x, y)
	}
	if a.wholeGraphs() != b.wholeGraphs() && (a.nodes() || b.nodes()) {
		c.refuse("one side was recorded with --cuda-graph-trace=node and the other with whole graphs: recording kernel by kernel slows replays down, so their times cannot be compared")
	}
	c.examineLengths()
	c.examineSetup()
	c.examineModel()
	if a.run.Ranges != b.run.Ranges {
		c.refuse("only one side has NVTX ranges: every operation would be new or gone")
	}
	if a.run.calls != b.run.calls {
		c.refuse("only one side has CUDA API calls: the causes of idle time cannot be compared")
	}
}

// examineLengths says what too few steps, or unlike numbers of them, cannot tell.
func (c *examiner) examineLengths() {
	for _, s := range c.sides() {
		if n := s.perRank(); n < fewTails {
			c.warn("%s has %s per rank: too few for P99, the maximum and events in 1 of 20 steps; below %d steps, one run per side shows nothing", s.run.Name, c.counted(n), fewSteps)
		}
	}
	a, b := c.base.samples, c.target.samples
	if n, m := a.slots, b.slots; a.runs == 1 && b.runs == 1 && max(n, m) > unlikeSteps*min(n, m) {
		c.warn("one side has over %d times as many steps as the other: the shorter run may underestimate the noise", unlikeSteps)
	}
}

// wholeGraphs and nodes report whether graph replays were recorded as one row each, or
// kernel by kernel.
func (s *side) wholeGraphs() bool { return s.figures[graphLaunches].mean > 0 }
func (s *side) nodes() bool       { return s.figures[graphKernels].mean > 0 }

// examineWorkload refuses sides whose steps have other numbers of requests. With
// matched batches they are equal already.
func (c *examiner) examineWorkload() {
	if c.opt.Match == MatchBatch {
		return
	}
	x, y := c.base.samples.c.batches(), c.target.samples.c.batches()
	apart := 0.0
	for b, n := range x {
		apart += math.Abs(float64(n)/float64(c.base.samples.c.n) - float64(y[b])/float64(c.target.samples.c.n))
	}
	for b, m := range y {
		if x[b] == 0 {
			apart += float64(m) / float64(c.target.samples.c.n)
		}
	}
	if apart /= 2; apart <= few {
		return
	}
	const advice = "Profile both with the same load, or compare the steps with equal numbers of requests (--match batch)"
	if c.opt.Phase == Steady {
		c.refuse("the steady steps are not of the same workload: %s in the baseline, %s in the target. %s", countsText(x), countsText(y), advice)
		return
	}
	c.refuse("%.0f %% of the %s have other numbers of requests than on the other side. %s", 100*apart, c.chosen(), advice)
}

// countsText says what numbers of requests there are.
func countsText(of map[batch]int) string {
	low, high := int32(math.MaxInt32), int32(0)
	for b := range of {
		low, high = min(low, b.gen), max(high, b.gen)
	}
	if low >= high {
		return fmt.Sprintf("%d generation requests", high)
	}
	return fmt.Sprintf("%d to %d generation requests", low, high)
}

// examineSizes refuses a side in which many of the steps have another size than most.
func (c *examiner) examineSizes(s *side) {
	size, torn := s.sizes()
	if n := s.samples.n; size > 1 && torn > few*float64(n) {
		c.refuse("steps of %s were not detected reliably: %.0f of %s do not have the %d all-reduce kernels of the others; with markers, use --by nvtx",
			s.run.Name, torn, c.counted(n), size)
	}
}

// sizes returns the most frequent size of the run's steps, and how many of those
// that were chosen have another one.
func (s *side) sizes() (size int64, torn float64) {
	for _, r := range s.samples.c.ranks {
		size = max(size, r.rank.size)
		steps := r.rank.steps.Reader()
		for _, k := range r.steps {
			if one := steps.At(int(k)).size; one != 0 && int64(one) != r.rank.size {
				torn++
			}
		}
	}
	return size, torn
}

// examineSetup refuses sides whose steps were found in other ways, or are of other
// sizes.
func (c *examiner) examineSetup() {
	a, b := c.base, c.target
	x, _ := a.sizes()
	y, _ := b.sizes()
	if x != y && x > 0 && y > 0 {
		c.refuse("baseline and target have %d and %d all-reduce kernels per step: the model or its parallelism differs, or steps were found differently; --by nvtx finds them by markers", x, y)
	}
	if a.run.marker != b.run.marker {
		c.refuse("steps were found by the markers %q in the baseline and %q in the target: isolate both with the same --marker", a.run.marker, b.run.marker)
	}
}

// examineModel says where the sides run another model, or another build of it: kernels of
// other names, or another number of them. What they have in common is compared all the same.
func (c *examiner) examineModel() {
	a, b := c.base, c.target
	if a.wholeGraphs() || b.wholeGraphs() {
		return // whose kernels are not known
	}
	x, y := kernelsOf(c.Steady.Baseline), kernelsOf(c.Steady.Target)
	own := (a.unshared(b) + b.unshared(a)) / 2
	switch {
	case own >= otherModel:
		c.OtherModel = fmt.Sprintf("another model or build: %s of the GPU time is in kernels that only one side has", report.Percent(own))
	case min(x, y) > 0 && max(x, y) >= (1+otherModel)*min(x, y) && a.nodes() == b.nodes():
		c.OtherModel = fmt.Sprintf("another model or build: %s kernels per step against %s", report.Digits(x), report.Digits(y))
	}
}

// unshared is the share of a side's kernel time that is in kernels which the other lacks.
func (s *side) unshared(o *side) float64 {
	own, all := 0.0, 0.0
	for name, one := range s.rows[kernels] {
		all += one.mean
		if o.rows[kernels][name] == nil {
			own += one.mean
		}
	}
	if all == 0 {
		return 0
	}
	return own / all
}

// examineMarkers refuses a side whose steps are not the iterations that forward-step markers
// show, as isolate has it.
func (c *examiner) examineMarkers(s *side) {
	for _, r := range s.samples.c.ranks {
		if !r.rank.unlike {
			continue
		}
		are, remedy := "are not those that its forward-step markers show", "use --by nvtx"
		if s.run.Method == "nvtx" {
			are, remedy = "hold an iteration without a marker", "use another --by than nvtx"
		}
		c.refuse("steps of %s were not detected reliably: more than a tenth of the steps of rank %d %s; %s", s.run.Name, r.rank.id, are, remedy)
		return
	}
}
