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

// The sampling rate differs by up to a factor of forty between situations. Samples therefore
// never tell how long something took. The time of a stratum is exact; samples only divide it.

// stratum identifies idle time for which everything that is known exactly is the same.
type stratum struct {
	rank  int32
	phase event.Phase
	key   idle.Key // divided by why, not by who holds the interpreter lock
}

// evidence is the idle time in the window by stratum, with the stacks found in each.
type evidence struct {
	*texts
	header *event.Header
	strata map[stratum]*found
}

// found is the idle time of a stratum, and the stacks in which its threads were found.
type found struct {
	ns      int64
	exact   map[int32]int64  // ns in recorded stacks of calls, by stack
	samples []*idle.Evidence // CPU samples outside of such calls, in order of time
	python  map[int32]int64  // samples of Python functions, by stack
	bare    bool             // there are samples without a stack
	drawn   stat.Counts      // how many CPU samples parts of gaps have, in the whole trace
}

// exactNs returns the time in stacks of calls, in ns.
func (f *found) exactNs() (ns int64) {
	for _, n := range f.exact {
		ns += n
	}
	return ns
}

// evidence collects the evidence of all ranks. Strata add up to the idle time in the window.
// Stacks found where there is no idle time are dropped.
func (c *Watch) evidence(views []*view) *evidence {
	all := map[stratum]*found{}
	for _, v := range views {
		for _, t := range v.total {
			s := stratum{v.id, t.phase, c.sites.WithoutHolder(t.key)}
			if all[s] == nil {
				all[s] = &found{exact: map[int32]int64{}, python: map[int32]int64{}}
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

// add adds the time in a call, or a sample.
func (f *found) add(e *idle.Evidence) {
	switch {
	case e.Ns > 0:
		f.exact[e.Stack] += e.Ns
	case e.Python:
		f.python[e.Stack]++
	case e.Stack < 0: // a sample without a stack
		f.bare = true
	default:
		e.GPUs = 1
		f.samples = append(f.samples, e)
	}
}

// join sorts samples by time. Copies of a sample, one for each GPU that the thread keeps
// idle, become one sample that counts its GPUs.
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

// noSample is the frame for time on a CPU that no sample falls into, though the recording has
// samples.
const noSample = "[no sample]"

// stacks returns the idle time in the window as stacks, which add up to it in ns. Time that
// is not divided by why is a stack of its own. Time on a CPU without a sample gets the frame
// noSample if samples were recorded.
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

// divide appends the time of a stratum, divided over the stacks in which its threads were
// found. Stacks of calls have exact times; samples divide only the rest. Exact times longer
// than the stratum contradict it and are ignored. asked reports whether samples were to be
// expected.
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

// counts returns the numbers of samples, by stack, that divide the time of a stratum: those
// of Python functions if there are any, else those with callers, else those without.
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

// stackText returns a stack as in the header: functions joined by ";", "" for -1.
func (e *evidence) stackText(stack int32) string {
	if stack < 0 {
		return ""
	}
	return e.header.Stacks[stack]
}

// functions returns the functions of a stack, the outermost first, nil for -1.
func (e *evidence) functions(stack int32) []string {
	if stack < 0 {
		return nil
	}
	return strings.Split(e.stackText(stack), ";")
}

// shared divides ns among the stacks in order, in proportion to their counts. The parts add
// up to ns: rounding gives the rest to the largest remainders, the first of equal ones.
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
