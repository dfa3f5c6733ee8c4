package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Run is the profile of one run: per-step samples of all that can be compared.
type Run struct {
	// Name is what the run is called.
	Name string
	// Method is how its steps were isolated.
	Method string
	// Ranges reports whether NVTX ranges were recorded at all.
	Ranges bool
	// Warnings says what is wrong with its files, a sentence each.
	Warnings []string

	calls   bool           // CUDA API calls were recorded
	marker  string         // the expression that its markers were found by, "" for the presets
	why     bool           // idle time is divided by why, too
	missing []idle.Missing // what there is no record of for that

	workload string     // the header's: event.Training, event.Diffusion or ""
	ranks    []*profile // those with steps, by run and number
	names    [numSections]*idle.Names
	classes  []string // of kernels, by number of their name; "": not known
	store    *spill.Store
	repeats  []*Run // of one version that this is put together of: itself where it is one
}

// newRun returns a run without ranks. So many bytes are kept in memory, the rest in a file.
func newRun(memory int64) *Run {
	r := &Run{names: newNames(), store: spill.NewStore(cmp.Or(memory, spill.DefaultMemory))}
	r.repeats = []*Run{r}
	return r
}

// profile is what is left of a rank.
type profile struct {
	run      int   // of several that are repeats of one another
	id       int32 // its number in the stream
	gpus     int   // devices with activity
	device   int32 // the first of them
	size     int64 // the most frequent size of its steps, 0: not known
	steps    []step
	steady   []int32 // indices of steps
	sections [numSections]section
	from, to int  // the steps of the benchmark segment
	counts   bool // numbers of requests are known in the benchmark segment
	unlike   bool // steps are not those that markers show
}

// newProfile returns what is known of a rank of the run before its rows.
func (r *Run) newProfile(id int32) *profile {
	p := &profile{id: id}
	for k := range p.sections {
		if p.sections[k] = (section{store: r.store, columns: numRowColumns}); k >= kernels && k <= calls {
			p.sections[k].columns = 2
		}
	}
	return p
}

// benchmark is told which steps are the benchmark segment.
func (p *profile) benchmark(from, to int) {
	p.from, p.to = from, to
	p.counts = slices.ContainsFunc(p.steps[from:to], func(s step) bool { return s.ctx != unknown })
}

// settle puts the ranks in order and leaves out those without steps.
func (r *Run) settle() {
	for _, p := range r.ranks {
		if len(p.steps) == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("rank %d has no steps and is not in the figures", p.id))
		}
	}
	r.ranks = slices.DeleteFunc(r.ranks, func(p *profile) bool { return len(p.steps) == 0 })
	slices.SortFunc(r.ranks, func(a, b *profile) int { return int(a.id - b.id) })
}

// Close gives the memory and the temporary file of a run back, which is of no use after
// that.
func (r *Run) Close() error {
	var errs []error
	for _, one := range r.repeats {
		errs = append(errs, one.store.Close())
	}
	return errors.Join(errs...)
}

// kept returns an error where the store of any of its repeats has failed.
func (r *Run) kept() error {
	for _, one := range r.repeats {
		if err := idle.Kept(one.store); err != nil {
			return err
		}
	}
	return nil
}

// hasCounts reports whether the numbers of requests of steps are known.
func (r *Run) hasCounts() bool {
	return slices.ContainsFunc(r.ranks, func(p *profile) bool { return p.counts })
}

// batch is the numbers of requests of a step.
type batch struct{ ctx, gen int32 }

func (s *step) batch() batch { return batch{s.ctx, s.gen} }

// choice is the steps of a run that are looked at.
type choice struct {
	run   *Run
	ranks []chosen
	n     int // rank-steps
	// matched tells that both sides have the same batches: what differs from one to another is
	// no noise.
	matched bool
}

// chosen is the chosen steps of a rank, in their order.
type chosen struct {
	rank  *profile
	steps []int32
}

// of returns the steps of the benchmark segment that fit; those whose period is
// not whole only where there are no others.
func (p *profile) of(fits func(s *step) bool) []int32 {
	var whole, cut []int32
	for i := p.from; i < p.to; i++ {
		switch s := &p.steps[i]; {
		case !fits(s):
		case s.cut:
			cut = append(cut, int32(i))
		default:
			whole = append(whole, int32(i))
		}
	}
	if len(whole) == 0 {
		return cut
	}
	return whole
}

// Phases that steps can be chosen by.
const (
	Steady     = "steady"     // those of step.RankSteps.Steady
	Context    = "context"    // with context requests
	Generation = "generation" // with generation requests alone
	All        = "all"        // every step of the benchmark segments
)

// fits say what steps a phase has, but for Steady, which a rank knows.
var fits = map[string]func(s *step) bool{
	Context:    func(s *step) bool { return s.phase == event.Context },
	Generation: func(s *step) bool { return s.phase == event.Generation },
	All:        func(*step) bool { return true },
}

// phase returns the steps of a phase in the benchmark segments.
func (r *Run) phase(name string) choice {
	c := choice{run: r}
	for _, p := range r.ranks {
		one := chosen{rank: p, steps: p.steady}
		if name != Steady {
			one.steps = p.of(fits[name])
		}
		c.ranks = append(c.ranks, one)
		c.n += len(one.steps)
	}
	return c
}

// keep leaves so many of the steps of each batch, of which there are that many.
func (c *choice) keep(of, some map[batch]int) {
	c.n, c.matched = 0, true
	for k := range c.ranks {
		r, seen := &c.ranks[k], map[batch]int{}
		r.steps = slices.DeleteFunc(slices.Clone(r.steps), func(i int32) bool {
			b := r.rank.steps[i].batch()
			seen[b]++
			return seen[b]*some[b]/of[b] == (seen[b]-1)*some[b]/of[b]
		})
		c.n += len(r.steps)
	}
}

// batches returns how many whole steps there are of each batch.
func (c *choice) batches() map[batch]int {
	count := map[batch]int{}
	for _, r := range c.ranks {
		for _, i := range r.steps {
			count[r.rank.steps[i].batch()]++
		}
	}
	return count
}
