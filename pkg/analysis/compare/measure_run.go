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

// Run is the profile of one run: per-step samples of all that can be compared. Close it
// after use.
type Run struct {
	// Name is the name of the run.
	Name string
	// Method is the method by which its steps were isolated.
	Method string
	// Ranges reports whether NVTX ranges were recorded at all.
	Ranges bool
	// Warnings are what is wrong with its files, a sentence each.
	Warnings []string

	calls   bool           // CUDA API calls were recorded
	marker  string         // the expression for its markers, "" for the presets
	why     bool           // idle time is also divided by why
	missing []idle.Missing // records that why needs and the run lacks

	workload string     // the header's: event.Training, event.Diffusion or ""
	ranks    []*profile // those with steps, by run and id
	names    [numSections]*idle.Names
	classes  []string // of kernels, by id of their name; "" if unknown
	store    *spill.Store
	repeats  []*Run // the runs of one version that it combines; itself if it is a single run
}

// newRun returns a run without ranks. It keeps up to memory bytes of samples in memory,
// 0 for the default.
func newRun(memory int64) *Run {
	r := &Run{names: newNames(), store: spill.NewStore(cmp.Or(memory, spill.DefaultMemory))}
	r.repeats = []*Run{r}
	return r
}

// profile is the final data of a rank.
type profile struct {
	run      int   // index among repeated runs
	id       int32 // its number in the stream
	gpus     int   // devices with activity
	size     int64 // the most frequent size of its steps, 0 if unknown
	steps    []step
	steady   []int32 // indices of steps
	sections [numSections]section
	from, to int  // steps of the benchmark segment
	counts   bool // numbers of requests are known there
	unlike   bool // steps are not those that forward-step markers show
}

// newProfile returns the empty profile of a rank.
func (r *Run) newProfile(id int32) *profile {
	p := &profile{id: id}
	for k := range p.sections {
		if p.sections[k] = (section{store: r.store, columns: numRowColumns}); k >= kernels && k <= calls {
			p.sections[k].columns = 2
		}
	}
	return p
}

// benchmark sets the steps of the benchmark segment.
func (p *profile) benchmark(from, to int) {
	p.from, p.to = from, to
	p.counts = slices.ContainsFunc(p.steps[from:to], func(s step) bool { return s.ctx != unknown })
}

// settle sorts the ranks and drops those without steps, with a warning.
func (r *Run) settle() {
	for _, p := range r.ranks {
		if len(p.steps) == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("rank %d has no steps and is not in the figures", p.id))
		}
	}
	r.ranks = slices.DeleteFunc(r.ranks, func(p *profile) bool { return len(p.steps) == 0 })
	slices.SortFunc(r.ranks, func(a, b *profile) int { return int(a.id - b.id) })
}

// Close frees the memory and the temporary file of a run. The run must not be used
// afterwards.
func (r *Run) Close() error {
	var errs []error
	for _, one := range r.repeats {
		errs = append(errs, one.store.Close())
	}
	return errors.Join(errs...)
}

// kept returns an error if the store of any repeat has failed.
func (r *Run) kept() error {
	for _, one := range r.repeats {
		if err := idle.Kept(one.store); err != nil {
			return err
		}
	}
	return nil
}

// hasCounts reports whether the numbers of requests are known for some rank.
func (r *Run) hasCounts() bool {
	return slices.ContainsFunc(r.ranks, func(p *profile) bool { return p.counts })
}

// batch is the numbers of requests of a step.
type batch struct{ ctx, gen int32 }

func (s *step) batch() batch { return batch{s.ctx, s.gen} }

// choice is the chosen steps of a run.
type choice struct {
	run   *Run
	ranks []chosen
	n     int // rank-steps
	// matched says that both sides have the same batches: differences between batches
	// are then not noise.
	matched bool
}

// chosen is the chosen steps of a rank, in order.
type chosen struct {
	rank  *profile
	steps []int32
}

// of returns the steps of the benchmark segment that fit. Steps whose period is not
// whole are returned only if there are no others.
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

// Phases by which steps are chosen.
const (
	Steady     = "steady"     // those of step.RankSteps.Steady
	Context    = "context"    // with context requests
	Generation = "generation" // with generation requests only
	All        = "all"        // every step of the benchmark segments
)

// fits selects the steps of a phase, except for Steady, which each rank knows.
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

// keep keeps some[b] of the of[b] steps of each batch b, evenly spread.
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

// batches returns the number of chosen steps of each batch.
func (c *choice) batches() map[batch]int {
	count := map[batch]int{}
	for _, r := range c.ranks {
		for _, i := range r.steps {
			count[r.rank.steps[i].batch()]++
		}
	}
	return count
}
