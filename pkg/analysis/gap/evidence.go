package gap

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Samples come up to forty times as often in one situation as in another. So they never
// say how long something took: that is exact, by stratum, and they only divide it.

// stratum is idle time with everything in common that is known exactly.
type stratum struct {
	rank  int32
	phase event.Phase
	key   idle.Key // divided by why, not by who holds the interpreter lock
}

// evidence is the idle time in the window by stratum, and what threads were found in.
type evidence struct {
	*texts
	header *event.Header
	strata map[stratum]*found
}

// found is the idle time of a stratum, and in which stacks its thread was found.
type found struct {
	ns      int64
	exact   map[int32]int64  // ns in stacks of calls
	samples []*idle.Evidence // of the CPU, while it was in no such stack; in the order of time
	python  map[int32]int64  // samples of Python functions
	bare    bool             // there are samples without a stack
	drawn   stat.Counts      // of which parts of gaps the samples of the CPU are, in the whole trace
}

// exactNs is the time in stacks of calls.
func (f *found) exactNs() (ns int64) {
	for _, n := range f.exact {
		ns += n
	}
	return ns
}

// evidence finds it. Strata add up to the idle time in the window; what was found where there is
// none is dropped.
func (c *Watch) evidence(views []*view) *evidence {
	all := map[stratum]*found{}
	for _, v := range views {
		for _, t := range v.total {
			s := stratum{v.id, t.phase, c.sites.WithoutHolder(t.key)}
			if all[s] == nil {
				all[s] = &found{}
			}
			all[s].ns += t.ns
		}
		v.idle.EachEvidence(v.end, func(e *idle.Evidence) {
			of := v.bins[v.slices[e.Slice].bin]
			if f := all[stratum{v.id, of.phase, e.Key}]; f != nil && v.has(&of.scope) {
				f.add(e)
				f.drawn = v.idle.Drawn(e.Key)
			}
		})
	}
	for _, f := range all {
		f.join()
	}
	return &evidence{&c.texts, c.header, all}
}

// add adds evidence.
func (f *found) add(e *idle.Evidence) {
	switch {
	case e.Ns > 0:
		if f.exact == nil {
			f.exact = map[int32]int64{}
		}
		f.exact[e.Stack] += e.Ns
	case e.Python:
		if f.python == nil {
			f.python = map[int32]int64{}
		}
		f.python[e.Stack]++
	case e.Stack < 0: // nobody knows what it shows
		f.bare = true
	default:
		e.GPUs = 1
		f.samples = append(f.samples, e)
	}
}

// join puts samples in the order of time, of several GPUs that one thread keeps idle each
// only once.
func (f *found) join() {
	slices.SortStableFunc(f.samples, func(a, b *idle.Evidence) int { return cmp.Compare(a.At, b.At) })
	joined := f.samples[:0]
	for _, s := range f.samples {
		if n := len(joined); n > 0 && joined[n-1].At == s.At && joined[n-1].Stack == s.Stack {
			joined[n-1].GPUs++
			continue
		}
		joined = append(joined, s)
	}
	f.samples = joined
}

// noSample is the frame of time on a CPU in a recording with samples, of which none lies
// there.
const noSample = "[no sample]"

// stacks returns the idle time in the window as stacks: they add up to it, in ns.
// Time that is not divided by why is a stack of its own. Where threads were on a CPU and
// samples were taken, that none lies there is said, too.
func (e *evidence) stacks(views []*view) []figure.Stack {
	devices := map[int32]*int32{}
	sampled := map[int32]bool{}
	for _, v := range views {
		if len(v.gpus) == 1 {
			devices[v.id] = &v.gpus[0].Device
		}
		sampled[v.id] = e.header.Records(event.Sample, v.id)
	}
	stacks := []figure.Stack{}
	for of, found := range e.strata {
		if found.ns == 0 {
			continue
		}
		s := e.sites.Stack(of.key)
		s.Rank, s.Device, s.Ns = of.rank, devices[of.rank], found.ns
		if of.phase != noPhase {
			s.Phase = of.phase.String()
		}
		if _, why := e.sites.Undivided(of.key); why == idle.None {
			stacks = append(stacks, s)
		} else {
			stacks = e.divide(stacks, s, found, why.OnCPU() && sampled[of.rank])
		}
	}
	return stacks
}

// divide appends the time of a stratum by the stacks in which its thread was found.
// Stacks of calls have exact times and go first; only what they leave is divided by samples.
// Exact times of more than the stratum would be a contradiction, and are not believed.
func (e *evidence) divide(stacks []figure.Stack, s figure.Stack, f *found, asked bool) []figure.Stack {
	rest := s.Ns
	if exact := f.exactNs(); exact <= rest {
		rest -= exact
		for _, stack := range e.inOrder(f.exact) {
			part := s
			part.Evidence, part.Called, part.Ns = figure.Exact, e.functions(stack), f.exact[stack]
			stacks = append(stacks, part)
		}
	}
	if rest <= 0 {
		return stacks
	}
	counts := e.counts(f)
	order := e.inOrder(counts)
	for k, ns := range shared(rest, order, counts) {
		if ns > 0 {
			part := s
			part.Evidence, part.Called, part.Ns, part.Samples = figure.Sampled, e.functions(order[k]), ns, counts[order[k]]
			stacks = append(stacks, part)
		}
	}
	if len(order) == 0 {
		if s.Evidence, s.Ns = figure.None, rest; asked {
			s.Called = []string{noSample}
		}
		stacks = append(stacks, s)
	}
	return stacks
}

// counts returns the samples by stack among which time is divided: of Python functions
// where there are any, else those with callers, else those without.
func (e *evidence) counts(f *found) map[int32]int64 {
	if len(f.python) > 0 {
		return f.python
	}
	deep, all := map[int32]int64{}, map[int32]int64{}
	for _, s := range f.samples {
		if all[s.Stack] += s.GPUs; strings.Contains(e.header.Stacks[s.Stack], ";") {
			deep[s.Stack] += s.GPUs
		}
	}
	if len(deep) > 0 {
		return deep
	}
	return all
}

// inOrder returns stacks in alphabetical order.
func (e *evidence) inOrder(of map[int32]int64) []int32 {
	return slices.SortedFunc(maps.Keys(of), func(a, b int32) int {
		return cmp.Or(strings.Compare(e.stackText(a), e.stackText(b)), cmp.Compare(a, b))
	})
}

// stackText is a stack as the header has it: functions joined by ";", "" for -1.
func (e *evidence) stackText(stack int32) string {
	if stack < 0 {
		return ""
	}
	return e.header.Stacks[stack]
}

// functions returns the functions of a stack, the outermost first.
func (e *evidence) functions(stack int32) []string {
	if stack < 0 {
		return nil
	}
	return strings.Split(e.header.Stacks[stack], ";")
}

// shared divides time among stacks by their counts, to the ns: what is left over goes to
// the largest remainders, of equal ones to the first.
func shared(ns int64, order []int32, counts map[int32]int64) []int64 {
	var total, given int64
	for _, k := range order {
		total += counts[k]
	}
	parts, remainders, places := make([]int64, len(order)), make([]int64, len(order)), make([]int, len(order))
	for i, k := range order {
		whole, count := ns/total, counts[k]
		parts[i] = whole*count + ns%total*count/total
		remainders[i], places[i] = ns%total*count%total, i
		given += parts[i]
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range places {
		if given < ns {
			parts[i]++
			given++
		}
	}
	return parts
}
