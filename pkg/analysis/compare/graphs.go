package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report"
)

// adviseGraphs looks for graphs that are no longer replayed, in all steps or in
// some, and tells whether it found any.
func (c *adviser) adviseGraphs() bool {
	if c.target != nil && c.lostGraphs() {
		return true
	}
	s := c.latest()
	f := s.fallbacks()
	if f.share <= fewFallbacks || c.target != nil && f.share <= c.base.fallbacks().share+fewFallbacks {
		return false
	}
	c.mitigate("%d of %s (%.0f %%) of %s run without the CUDA graph that the others replay: they launch %s kernels one by one and take %s, the others %s. Capture the shapes that these steps have, or find what keeps them from the graph.",
		f.steps, c.counted(f.of), 100*f.share, s.run.Name, report.Digits(f.eager), report.Micros(f.wall*us), report.Micros(f.otherWall*us))
	return true
}

// lostGraphs looks for graphs that the baseline replays and the target does not.
func (c *adviser) lostGraphs() bool {
	a, b := c.Steady.Baseline, c.Steady.Target
	if a.Graph == nil || b.Graph == nil || *a.Graph+*a.Replays == 0 ||
		*b.Graph+*b.Replays > graphsLost*(*a.Graph+*a.Replays) || *b.Eager <= *a.Eager {
		return false
	}
	what, before, after := "replayed kernels", *a.Graph, *b.Graph
	if *a.Replays > 0 {
		what, before, after = "graph replays", *a.Replays, *b.Replays
	}
	c.mitigate("CUDA graphs are lost: %s per step %s before and %s now, kernels launched one by one %s and %s, launch calls %s and %s. Find why the graph is not replayed any more: a shape or a batch that was not captured, or an operation that cannot be.",
		what, report.Digits(before), report.Digits(after), report.Digits(*a.Eager), report.Digits(*b.Eager), report.Digits(c.base.launches()), report.Digits(c.target.launches()))
	return true
}

// launches is how many API calls that launch a kernel there are per step.
func (s *side) launches() float64 {
	n := 0.0
	for name, one := range s.rows[calls] {
		if isLaunch(name) {
			n += one.count
		}
	}
	return n
}

// isLaunch tells whether a call launches a kernel.
func isLaunch(name string) bool {
	return strings.HasPrefix(name, "cudaLaunchKernel") || strings.HasPrefix(name, "cuLaunchKernel") ||
		strings.HasPrefix(name, "cudaLaunchCooperativeKernel") || strings.HasPrefix(name, "cuLaunchCooperativeKernel")
}

// fallback is what is known of the steps of a run that replay no graph where others
// do. Times are ns per step.
type fallback struct {
	steps, of       int
	share           float64
	eager           float64 // kernels launched one by one in such a step
	wall, otherWall float64
}

// fallbacks finds the steps without a graph replay, in which kernels are launched
// one by one instead.
func (s *side) fallbacks() (f fallback) {
	var eager [2][]float64 // without a graph, with one
	var walls [2]float64
	for _, st := range s.samples.steps {
		k := 0
		if st.graph+st.replays > 0 {
			k = 1
		}
		eager[k] = append(eager[k], float64(st.eager))
		walls[k] += float64(st.period)
	}
	if f.of = s.samples.n; len(eager[0]) < 2 || len(eager[1]) == 0 {
		return f
	}
	if f.eager = median(eager[0]); f.eager < 2*median(eager[1])+1 {
		return f
	}
	f.steps, f.share = len(eager[0]), float64(len(eager[0]))/float64(f.of)
	f.wall, f.otherWall = walls[0]/float64(len(eager[0])), walls[1]/float64(len(eager[1]))
	return f
}

// median returns the upper median of x, which it sorts.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// adviseBursts looks for a few steps with many more kernels than the others: code
// is compiled, loaded or tuned in them.
func (c *adviser) adviseBursts() {
	s := c.latest()
	b := s.bursts()
	if len(b) == 0 || c.target != nil && len(b) <= len(c.base.bursts()) {
		return
	}
	evidence := "as it does while code is compiled, loaded or tuned"
	if names := s.compiles(b); len(names) > 0 {
		evidence = "with " + strings.Join(names, ", ")
	}
	c.mitigate("%s launches up to %d kernels in %s of %s and %s in the others, %s (JIT): warm up with all shapes before profiling, and keep the caches of compiled code.",
		s.run.Name, s.most(b), few(len(b)), c.counted(s.samples.n), report.Digits(s.usualKernels()), evidence)
}

// few is a number in a sentence.
func few(n int) string {
	if n == 1 {
		return "one"
	}
	return fmt.Sprint(n)
}

// usualKernels is the median number of kernels launched one by one in a step.
func (s *side) usualKernels() float64 {
	if s.samples.n == 0 {
		return 0
	}
	return median(s.samples.each(eagerOf))
}

// bursts returns the positions of the steps that burst with kernels.
func (s *side) bursts() (at []int) {
	if s.samples.n < minSteps || s.fallbacks().steps > 0 {
		return nil
	}
	usual := s.usualKernels()
	for p, st := range s.samples.steps {
		if e := float64(st.eager); e > burstTimes*usual && e > usual+burstMore {
			at = append(at, p)
		}
	}
	if float64(len(at)) > burstShare*float64(s.samples.n) {
		return nil
	}
	return at
}

// most is the largest number of kernels launched one by one at some positions.
func (s *side) most(at []int) int32 {
	n := int32(0)
	for p, st := range s.samples.steps {
		if _, ok := slices.BinarySearch(at, p); ok {
			n = max(n, st.eager)
		}
	}
	return n
}

// compiles names the calls and ranges at some positions that load or compile code.
func (s *side) compiles(at []int) (found []string) {
	for _, section := range []int{calls, operations} {
		for id, name := range s.run.names[section].list {
			if loadsCode(name) && len(found) < 3 && !slices.Contains(found, name) && s.occursAt(section, id, at) {
				found = append(found, name)
			}
		}
	}
	return found
}

// loadsCode tells whether a call or range loads, compiles or tunes code.
func loadsCode(name string) bool {
	lower := strings.ToLower(name)
	return cudaname.EffectOf(name)&cudaname.LoadsCode != 0 || strings.HasPrefix(name, "nvrtc") ||
		strings.Contains(lower, "compil") || strings.Contains(lower, "autotun") || strings.Contains(lower, "jit")
}

// occursAt tells whether a name of a section occurs at any of some positions.
func (s *side) occursAt(section, id int, at []int) (found bool) {
	s.each(section, id, func(p int32, _ entry) { found = found || slices.Contains(at, int(p)) })
	return found
}
